package request_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/transport/request"
)

// Proxies write an address with its port, in brackets or in quotes. What is no address ends with the last proxy that is known.
func TestClientReadsEveryFormOfAForwardedAddress(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{TrustedProxies: []string{"0.0.0.0/32", "10.0.0.0/8", "fd00::/8"}})
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString(request.Client(c).String() + " " + request.Network(c)) })
	for forwarded, want := range map[string]string{
		"203.0.113.7":                          "203.0.113.7 203.0.113.7",
		"203.0.113.7:41234":                    "203.0.113.7 203.0.113.7",
		"[2001:db8:1:2::9]:41234":              "2001:db8:1:2::9 2001:db8:1:2::/64",
		"[2001:db8:1:2::9]":                    "2001:db8:1:2::9 2001:db8:1:2::/64",
		"2001:db8:1:2::9":                      "2001:db8:1:2::9 2001:db8:1:2::/64",
		`"[2001:db8:1:2::9]:80"`:               "2001:db8:1:2::9 2001:db8:1:2::/64",
		"[::ffff:203.0.113.7]:80":              "203.0.113.7 203.0.113.7",
		"198.51.100.1, 203.0.113.7:1":          "203.0.113.7 203.0.113.7",
		"203.0.113.7:1, 10.1.2.3:2, [fd00::1]": "203.0.113.7 203.0.113.7",
		"203.0.113.7, unknown":                 "0.0.0.0 0.0.0.0",
		"203.0.113.7:99999":                    "0.0.0.0 0.0.0.0",
		"203.0.113.7:":                         "0.0.0.0 0.0.0.0",
		"2001:db8::1%eth0":                     "2001:db8::1%eth0 2001:db8::/64",
		"":                                     "0.0.0.0 0.0.0.0",
	} {
		t.Run(forwarded, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("X-Forwarded-For", forwarded)
			answer, err := app.Test(r)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Equal(t, want, string(body))
		})
	}
}

// Whatever stands in X-Forwarded-For, the client is an address, and what was appended by the trusted proxy is believed before what came with the request.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"", ",", "203.0.113.7", `"[2001:db8::1]:1"`, "[::1", "fe80::1%eth0", "[fe80::1%25eth0]:1", "1.2.3", "0x7f.1", "127.0.0.1:65536", "٣.1.1.1", "unknown", "10.1.1.1"} {
		f.Add(seed)
	}
	app := fiber.New(fiber.Config{TrustedProxies: []string{"0.0.0.0/32"}})
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString(request.Client(c).String()) })
	f.Fuzz(func(t *testing.T, forwarded string) {
		if strings.ContainsFunc(forwarded, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return // no header
		}
		req := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		req.Header.Set("X-Forwarded-For", forwarded+", 198.51.100.9")
		res, err := app.Test(req)
		if err != nil {
			return
		}
		body, err := io.ReadAll(res.Body)
		require.NoError(t, errors.Join(err, res.Body.Close()))
		require.Equal(t, "198.51.100.9", string(body), "%q", forwarded)
	})
}
