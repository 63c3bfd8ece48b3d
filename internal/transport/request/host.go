package request

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Host returns the host name that the client asked for, without the port: that of X-Forwarded-Host if the request comes from a
// configured proxy, else that of Host. Links are never made of it but of the configured base URL.
func Host(c *fiber.Ctx) string { return hostName(c.Hostname()) } //nolint:forbidigo // the application trusts configured proxies only

// IsLocal reports whether a Host header names this machine: localhost, a name under it, an address, or the host of the base URL. A name
// that a stranger has made resolve to this machine (DNS rebinding) is none of these, and a browser sends the name of the page.
func IsLocal(host, baseURL string) bool {
	name := strings.ToLower(strings.TrimSuffix(hostName(host), "."))
	own, err := url.Parse(baseURL)
	_, address := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || address == nil || err == nil && name != "" && name == strings.ToLower(own.Hostname())
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
