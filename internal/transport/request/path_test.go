package request_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/countersign-dev/countersign/internal/transport/request"
)

// FuzzCheckTarget routes each accepted path: decoded, it has as many segments as encoded, and each segment decodes by itself.
func FuzzCheckTarget(f *testing.F) {
	for _, seed := range []string{
		"/a/b", "/a%2Fb", "/a%2fpasskeys%2Fpsk_1", "/a%5Cb", "/%252F", "/..", "/%2e%2E", "//a", "/a+b", "/a%", "/a%zz", "/a;b", "/%00", "/%ff", "/a?b=%00", "/a/",
	} {
		f.Add(seed)
	}
	app := fiber.New(fiber.Config{UnescapePath: true, StrictRouting: true, CaseSensitive: true})
	f.Fuzz(func(t *testing.T, target string) {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI(target)
		raw := string(ctx.Request.URI().PathOriginal())
		c := app.AcquireCtx(&ctx)
		defer app.ReleaseCtx(c)
		if request.CheckTarget(c) != nil {
			return
		}
		want := strings.Split(raw, "/")
		for i, segment := range want {
			var err error
			want[i], err = url.PathUnescape(segment)
			require.NoError(t, err)
		}
		require.Equal(t, strings.Join(want, "/"), c.Path())
		require.Len(t, strings.Split(c.Path(), "/"), len(want))
	})
}

// FuzzReadForm never panics, and gives text that the database can store.
func FuzzReadForm(f *testing.F) {
	f.Add("application/x-www-form-urlencoded", []byte("a=b&a=c&d=%00"))
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"g\"\r\n\r\n\x00\r\n--x--\r\n"))
	f.Add("multipart/form-data", []byte("--\r\n"))
	app := fiber.New()
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetContentType(contentType)
		ctx.Request.SetBody(body)
		c := app.AcquireCtx(&ctx)
		defer app.ReleaseCtx(c)
		if request.ReadForm(c) == nil {
			require.NotContains(t, request.FormOf(c).Value("a"), "\x00")
			require.LessOrEqual(t, len(request.FormOf(c).File("f")), len(body))
		}
	})
}
