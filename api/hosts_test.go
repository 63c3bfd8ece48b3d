package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/transport/request"
)

func TestHostIsForwardedByConfiguredProxiesOnly(t *testing.T) {
	t.Parallel()
	seen := func(proxies ...netip.Prefix) string {
		app, err := New(t.Context(), Config{TrustedProxies: proxies}, Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
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

func TestDevelopmentServesItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST": true, "localhost.": true, "app.localhost:1": true, "127.0.0.1:8080": true, "[::1]:8080": true,
		"192.0.2.7": true, "dev.example": true, "Dev.Example:8080": true, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"notlocalhost": false, "": false,
	} {
		require.Equal(t, want, request.IsLocal(host, "https://dev.example"), host)
	}
	app, err := New(t.Context(), Config{LocalOnly: true, BaseURL: "http://localhost:8080"}, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	require.NoError(t, err)
	for host, want := range map[string]int{"localhost:8080": http.StatusOK, "evil.example": http.StatusForbidden} {
		res, err := app.Test(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/api/v1/openapi.json", nil), -1)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, host)
	}
}
