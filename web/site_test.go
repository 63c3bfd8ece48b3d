package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web"
)

// site returns an application with one section that renders, is framed, fails and accepts posts.
func site(t *testing.T, baseURL string) *fiber.App {
	t.Helper()
	section := web.Section{
		Prefix: "/demo",
		Templates: fstest.MapFS{
			"_part.html": {Data: []byte(`{{define "part"}}<p data-all="{{json .}}">{{visible .}}</p>{{end}}`)},
			"hello.html": {Data: []byte(`{{define "main"}}{{template "part" .Data}}{{end}}`)},
		},
		Routes: func(r *web.Router) {
			r.Get("/demo/hello/:name", "page_hello", func(c *fiber.Ctx) error {
				return r.Render(c, 200, web.Page{Template: "hello.html", Title: "Hello", Data: c.Params("name")})
			})
			r.Get("/demo/long/:compressed", "page_long", func(c *fiber.Ctx) error {
				return r.Render(c, 200, web.Page{Template: "hello.html", Data: strings.Repeat("word ", 1000), Compressed: c.Params("compressed") == "yes"})
			})
			r.Get("/demo/framed", "page_framed", func(c *fiber.Ctx) error {
				return r.Render(c, 200, web.Page{Template: "hello.html", Data: "x", FrameAncestors: []string{"https://a.example", "https://b.example"}})
			})
			r.Get("/demo/unavailable", "page_unavailable", func(*fiber.Ctx) error {
				return problem.NewUnavailable("Postgres is unavailable.", nil)
			})
			r.Post("/demo/do", "page_do", func(c *fiber.Ctx) error {
				body, err := web.Bind[struct {
					Word string `json:"word"`
				}](c, 64)
				if err != nil {
					return err
				}
				r.SetCookie(c, "session", body.Word, time.Minute)
				return r.JSON(c, 201, map[string]string{"word": body.Word})
			})
		},
	}
	s, err := web.New(web.Config{BaseURL: baseURL, Log: slog.New(slog.DiscardHandler)}, section)
	require.NoError(t, err)
	app := fiber.New(fiber.Config{DisableStartupMessage: true, UnescapePath: true})
	s.Mount(app)
	app.Use(func(c *fiber.Ctx) error { return c.SendString("the API") })
	return app
}

func ask(t *testing.T, app *fiber.App, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := app.Test(req, -1)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

func TestPagesAreHardened(t *testing.T) {
	t.Parallel()
	app := site(t, "https://countersign.example")
	for _, path := range []string{"/demo/hello/you", "/demo/unknown", "/assets/unknown", "/demo/unavailable"} {
		resp, body := ask(t, app, "GET", path, "", "Accept", "text/html")
		policy := resp.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:")
		require.Contains(t, policy, "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "DENY", resp.Header.Get("X-Frame-Options"))
		require.Equal(t, "no-referrer", resp.Header.Get("Referrer-Policy"))
		require.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Opener-Policy"))
		require.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Resource-Policy"))
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		require.Contains(t, resp.Header.Get("Permissions-Policy"), "publickey-credentials-get=(self)")
		require.Contains(t, resp.Header.Get("Strict-Transport-Security"), "max-age=")
		require.NotRegexp(t, `<script>|<style|style=|\son[a-z]+=|https?://`, body, "%s must have no inline code and no other hosts", path)
	}
	resp, _ := ask(t, site(t, "http://localhost:8080"), "GET", "/demo/hello/you", "")
	require.Empty(t, resp.Header.Get("Strict-Transport-Security"), "not if the service is http")
}

func TestFrameAncestorsAllowListedOrigins(t *testing.T) {
	t.Parallel()
	resp, _ := ask(t, site(t, "https://countersign.example"), "GET", "/demo/framed", "")
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "frame-ancestors https://a.example https://b.example;")
	require.Empty(t, resp.Header.Get("X-Frame-Options"))
}

func TestRenderEscapesExternalText(t *testing.T) {
	t.Parallel()
	resp, body := ask(t, site(t, ""), "GET", "/demo/hello/%3Cimg%20onerror=x%3E%22%E2%80%AE", "", "Accept", "text/html")
	require.Equal(t, 200, resp.StatusCode)
	require.NotContains(t, body, "<img")
	require.Contains(t, body, "U+202E")
	require.Contains(t, body, "Hello – Countersign")
}

func TestErrorsArePagesOrProblemsByAccept(t *testing.T) {
	t.Parallel()
	app := site(t, "")
	resp, body := ask(t, app, "GET", "/demo/unavailable", "", "Accept", "text/html,*/*")
	require.Equal(t, 503, resp.StatusCode)
	require.Contains(t, body, "Temporarily unavailable")
	require.Contains(t, body, "Postgres is unavailable.")
	_, body = ask(t, app, "GET", "/demo/nothing", "", "Accept", "text/html")
	require.Contains(t, body, "Page not found")
	_, body = ask(t, app, "GET", "/demonstration", "", "Accept", "text/html")
	require.Equal(t, "the API", body, "a prefix ends at its slash")
	resp, _ = ask(t, app, "GET", "/demo/unavailable", "", "Accept", "application/json")
	require.NotContains(t, resp.Header.Get("Content-Type"), "html")
}

func TestPostRequiresTheSameOrigin(t *testing.T) {
	t.Parallel()
	app := site(t, "https://countersign.example")
	const path, body = "https://countersign.example/demo/do", `{"word":"yes"}`
	for name, tc := range map[string]struct {
		header []string
		status int
	}{
		"same origin":                 {[]string{"Sec-Fetch-Site", "same-origin"}, 201},
		"same origin, older browser":  {[]string{"Origin", "https://countersign.example"}, 201},
		"another site":                {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		"another site, older browser": {[]string{"Origin", "https://evil.example"}, 403},
		"a sibling host":              {[]string{"Sec-Fetch-Site", "same-site", "Origin", "https://a.countersign.example"}, 403},
		"typed or bookmarked":         {[]string{"Sec-Fetch-Site", "none"}, 403},
		"a sandboxed frame":           {[]string{"Origin", "null"}, 403},
		"no browser":                  {nil, 403},
		"origin without a scheme":     {[]string{"Origin", "countersign.example"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := append([]string{"Content-Type", "application/json", "Accept", "text/html"}, tc.header...)
			resp, text := ask(t, app, "POST", path, body, header...)
			require.Equal(t, tc.status, resp.StatusCode, text)
			if tc.status == 201 {
				require.Regexp(t, `^__Host-session=yes; max-age=60; path=/; HttpOnly; secure; SameSite=Strict$`, resp.Header.Get("Set-Cookie"))
			}
		})
	}
	same := []string{"Sec-Fetch-Site", "same-origin", "Accept", "text/html"}
	resp, _ := ask(t, app, "POST", path, body, append(same, "Content-Type", "text/plain")...)
	require.Equal(t, 400, resp.StatusCode)
	resp, _ = ask(t, app, "POST", path, `{"word":"`+strings.Repeat("x", 100)+`"}`, append(same, "Content-Type", "application/json")...)
	require.Equal(t, 413, resp.StatusCode)
}

func TestAssetsAreImmutableAndCompressed(t *testing.T) {
	t.Parallel()
	app := site(t, "")
	_, page := ask(t, app, "GET", "/demo/hello/you", "")
	url := regexp.MustCompile(`/assets/base\.[A-Za-z0-9_-]{12}\.css`).FindString(page)
	require.NotEmpty(t, url)
	resp, css := ask(t, app, "GET", url, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/css; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Equal(t, "public, max-age=31536000, immutable", resp.Header.Get("Cache-Control"))
	require.Contains(t, css, "prefers-color-scheme")
	packed, _ := ask(t, app, "GET", url, "", "Accept-Encoding", "gzip, br")
	require.Equal(t, "gzip", packed.Header.Get("Content-Encoding"))
	resp, _ = ask(t, app, "GET", strings.Replace(url, "base.", "base.x", 1), "")
	require.Equal(t, 404, resp.StatusCode)
}

// The committed bundle must be the output of go generate for the current sources.
func TestBundleIsUpToDate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the bundler")
	}
	fresh := filepath.Join(t.TempDir(), "dist")
	source, err := filepath.Abs("assets/src")
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "run", "-C", "../tools/check", "./bundle", source, fresh).CombinedOutput()
	require.NoError(t, err, "%s", out)
	want, err := os.ReadDir(fresh)
	require.NoError(t, err)
	have, err := os.ReadDir("assets/dist")
	require.NoError(t, err)
	require.Len(t, have, len(want), "run go generate ./web and commit the result")
	for _, f := range want {
		a, err := os.ReadFile(filepath.Join(fresh, f.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join("assets/dist", f.Name()))
		require.NoError(t, err)
		require.Equal(t, string(a), string(b), "%s is stale: run go generate ./web and commit the result", f.Name())
	}
}

// A page is compressed only if it says so: a page with a secret is not.
func TestPagesAreCompressedIfTheyHaveNoSecret(t *testing.T) {
	t.Parallel()
	app := site(t, "https://countersign.example")
	for name, c := range map[string]struct{ path, accepts, encoding string }{
		"compressed":      {"/demo/long/yes", "gzip, br", "gzip"},
		"with a secret":   {"/demo/long/no", "gzip, br", ""},
		"not accepted":    {"/demo/long/yes", "br", ""},
		"too short to be": {"/demo/hello/short", "gzip", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("Accept-Encoding", c.accepts)
			got, err := app.Test(r)
			require.NoError(t, err)
			defer got.Body.Close()
			require.Equal(t, c.encoding, got.Header.Get("Content-Encoding"))
			if c.path == "/demo/long/yes" {
				require.Contains(t, got.Header.Get("Vary"), "Accept-Encoding")
			}
		})
	}
}
