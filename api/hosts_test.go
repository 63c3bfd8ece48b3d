package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

func TestHostIsForwardedByConfiguredProxiesOnly(t *testing.T) {
	t.Parallel()
	seen := func(proxies ...netip.Prefix) string {
		app, err := New(t.Context(), Config{TrustedProxies: proxies}, Deps{
			Deps: quiet(),
			Pages: func(app *fiber.App) {
				app.Get("/seen", func(c *fiber.Ctx) error { return c.SendString(request.Host(c)) })
			},
		})
		require.NoError(t, err)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://bank.example:8080/seen", nil)
		for _, name := range []string{"X-Forwarded-Host", "X-Host", "X-Forwarded-Server", "X-Original-Host"} {
			req.Header.Set(name, "other.example")
		}
		req.Header.Set("Forwarded", "host=other.example")
		res, err := app.Test(req, -1)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		body := make([]byte, 100)
		n, _ := res.Body.Read(body)
		return string(body[:n])
	}
	require.Equal(t, "bank.example", seen())
	require.Equal(t, "bank.example", seen(netip.MustParsePrefix("192.0.2.0/24")))
	require.Equal(t, "other.example", seen(netip.MustParsePrefix("0.0.0.0/8"))) // the address of app.Test
}

func TestClientIsForwardedByConfiguredProxiesOnly(t *testing.T) {
	t.Parallel()
	connection, proxies := netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8") // the first is that of app.Test
	for name, is := range map[string]struct {
		trusted   []netip.Prefix
		forwarded []string
		want      string
	}{
		"no proxy is configured":       {nil, []string{"198.51.100.7"}, "0.0.0.0"},
		"the connection is no proxy's": {[]netip.Prefix{proxies}, []string{"198.51.100.7"}, "0.0.0.0"},
		"one proxy":                    {[]netip.Prefix{connection}, []string{"198.51.100.7"}, "198.51.100.7"},
		"the client's own claim":       {[]netip.Prefix{connection}, []string{"192.0.2.1, 198.51.100.7"}, "198.51.100.7"},
		"the client's own header":      {[]netip.Prefix{connection}, []string{"192.0.2.1", "198.51.100.7"}, "198.51.100.7"},
		"a claim to be a proxy":        {[]netip.Prefix{connection, proxies}, []string{"10.0.0.9, 198.51.100.7"}, "198.51.100.7"},
		"two proxies":                  {[]netip.Prefix{connection, proxies}, []string{"192.0.2.1, 198.51.100.7,10.0.0.2"}, "198.51.100.7"},
		"only proxies":                 {[]netip.Prefix{connection, proxies}, []string{"10.0.0.1,10.0.0.2"}, "10.0.0.1"},
		"no header":                    {[]netip.Prefix{connection}, nil, "0.0.0.0"},
		"no address":                   {[]netip.Prefix{connection}, []string{"198.51.100.7, unknown"}, "0.0.0.0"},
		"an IPv4 address in IPv6":      {[]netip.Prefix{connection, proxies}, []string{"198.51.100.7, ::ffff:10.0.0.1"}, "198.51.100.7"},
		"an IPv6 address":              {[]netip.Prefix{connection}, []string{"2001:db8::1"}, "2001:db8::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, err := New(t.Context(), Config{TrustedProxies: is.trusted}, Deps{
				Deps: quiet(),
				Pages: func(app *fiber.App) {
					app.Get("/seen", func(c *fiber.Ctx) error { return c.SendString(request.Client(c).String()) })
				},
			})
			require.NoError(t, err)
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://bank.example/seen", nil)
			req.Header["X-Forwarded-For"] = is.forwarded
			res, err := app.Test(req, -1)
			require.NoError(t, err)
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, is.want, string(body))
		})
	}
}

func TestDevelopmentServesItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST": true, "localhost.": true, "app.localhost:1": true, "127.0.0.1:8080": true, "[::1]:8080": true,
		"192.0.2.7": true, "dev.example": true, "Dev.Example:8080": true, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"notlocalhost": false, "": false,
	} {
		require.Equal(t, want, request.IsLocal(host, "https://dev.example"), host)
	}
	app, err := New(t.Context(), Config{Config: middleware.Config{LocalOnly: true, BaseURL: "http://localhost:8080"}}, Deps{Deps: quiet()})
	require.NoError(t, err)
	for host, want := range map[string]int{"localhost:8080": http.StatusOK, "evil.example": http.StatusForbidden} {
		res, err := app.Test(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/api/v1/openapi.json", nil), -1)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, host)
	}
}
