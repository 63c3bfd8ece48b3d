package request_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/request"
)

// A target that is taken has one spelling, which is taken again as itself and which net/url reads as the same path.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"/", "/a/../b", "/a//b", "/%2e%2e/b", "/a%2fb", "/A", "/a;b=1", "/a?x=1&x=2", "/a?x=%zz", "//evil.example/a", "/\\a", "/a%00", "/\u0661", "/a%c0%af", "/a#b", "/%E2%80%AE", "/a/.", "/.%2e/",
	} {
		f.Add("app.example", "GET", seed)
	}
	f.Add("app.example:80", "get", "/")
	f.Add("app.example.:x", "POST", "/")
	f.Add("[::1]:80", "POST", "/")
	f.Fuzz(func(t *testing.T, host, method, target string) {
		r, err := request.Parse(request.Raw{Host: host, Method: method, Target: target, Scheme: "https", Header: http.Header{}, Rewritten: true})
		if err != nil {
			return
		}
		again, err := request.Parse(request.Raw{Host: r.Host, Method: r.Method, Target: r.Target(), Scheme: "https", Header: http.Header{}})
		require.NoError(t, err, "%q", r.Target())
		require.Equal(t, r.Path, again.Path)
		require.Equal(t, r.Host, again.Host)
		read, err := url.ParseRequestURI(r.Target())
		require.NoError(t, err, "%q", r.Target())
		require.Empty(t, read.Host)
		require.Equal(t, r.Path.Canonical, read.EscapedPath())
	})
}
