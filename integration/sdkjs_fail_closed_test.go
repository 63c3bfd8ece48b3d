package integration_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tampering lists changes to an authorize response that an intermediary may make.
var tampering = map[string]func(res *http.Response, body string) string{
	"whole": func(_ *http.Response, body string) string { return body },
	"portal": func(res *http.Response, _ string) string {
		res.Header.Set("Content-Type", "text/html")
		return "<html>Sign in</html>"
	},
	"empty object": func(*http.Response, string) string { return "{}" },
	"sure":         func(*http.Response, string) string { return `{"decision":"sure"}` },
	"cut":          func(_ *http.Response, body string) string { return body[:len(body)/2] },
	"nothing":      func(res *http.Response, _ string) string { res.StatusCode = http.StatusNoContent; return "" },
	"redirect": func(res *http.Response, body string) string {
		res.StatusCode = http.StatusFound
		res.Header.Set("Location", "/api/v1/meta")
		return body
	},
	"no proof": func(_ *http.Response, body string) string { return strings.Replace(body, `"proof":"`, `"prooof":"`, 1) },
	"another person's": func(_ *http.Response, body string) string {
		return strings.Replace(body, `"subject":"`, `"subject":"x`, 1)
	},
}

// tamperingProxy is a proxy that changes the service's authorize responses.
func tamperingProxy(t *testing.T, change func(res *http.Response, body string) string) string {
	t.Helper()
	service, err := url.Parse(shared.baseURL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(service)
	proxy.ModifyResponse = func(res *http.Response) error {
		if res.Request.URL.Path != "/api/v1/authorize" {
			return nil
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		body := change(res, string(text))
		res.Body, res.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		res.Header.Set("Content-Length", fmt.Sprint(len(body)))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

const decideProgram = `
import { Countersign, decide, ProtocolError } from '@countersign/sdk/server'
const countersign = new Countersign({ baseURL: process.env.COUNTERSIGN_URL, apiKey: process.env.COUNTERSIGN_KEY, retries: 0 })
const d = await decide(countersign, {
  subject: process.env.SUBJECT, action: process.env.ACTION, resource: { type: 'resource', id: 'r' }, audience: 'payments',
}, { riskClass: 'high', timeoutMS: 30000, attemptTimeoutMS: 30000 })
console.log(d.source, d.decision, d.source === 'service' || d.error instanceof ProtocolError)
`

// A response that violates the contract leads to the caller's failure mode.
func TestJavaScriptDecideFailsClosed(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	for name, change := range tampering {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, out := node(t, decideProgram, "COUNTERSIGN_URL="+tamperingProxy(t, change), "COUNTERSIGN_KEY="+w.Server.key, "SUBJECT="+subject, "ACTION="+action)
			require.NoError(t, cmd.Run(), "%s", out)
			want := "fallback deny true"
			if name == "whole" {
				want = "service allow true"
			}
			require.Contains(t, out.String(), want)
		})
	}
}
