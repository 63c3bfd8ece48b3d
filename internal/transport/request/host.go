package request

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Host returns the host name that the client asked for, without the port: that of X-Forwarded-Host if the request comes from a
// configured proxy, else that of Host. Links are never made of it but of the configured base URL.
func Host(c *fiber.Ctx) string { return hostName(c.Hostname()) } //nolint:forbidigo // the application trusts configured proxies only

// Client returns the address of the client: that of the connection, or if it comes from a configured proxy, the last address of
// X-Forwarded-For that is no proxy's. The client can write any address before it, and every one if the connection is not a proxy's.
func Client(c *fiber.Ctx) netip.Addr {
	client, _ := netip.AddrFromSlice(c.Context().RemoteIP())
	client = client.Unmap()
	var lists []string
	for _, list := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		lists = append(lists, string(list))
	}
	hops := strings.Split(strings.Join(lists, ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !fromProxy(c, client) {
			return client
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return client
		}
		client = before.Unmap()
	}
	return client
}

func fromProxy(c *fiber.Ctx, address netip.Addr) bool {
	return slices.ContainsFunc(c.App().Config().TrustedProxies, func(network string) bool {
		trusted, err := netip.ParsePrefix(network)
		return err == nil && trusted.Contains(address)
	})
}

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
