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
		before, known := address(strings.Trim(strings.TrimSpace(hop), `"`))
		if !known {
			return client
		}
		client = before
	}
	return client
}

// address parses an address of X-Forwarded-For, behind which some proxies write the port.
func address(text string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap(), true
	}
	if inside, bracketed := strings.CutPrefix(text, "["); bracketed {
		text = strings.TrimSuffix(inside, "]")
	}
	plain, err := netip.ParseAddr(text)
	return plain.Unmap(), err == nil
}

// Network returns what one client has of the Internet: an IPv4 address, or the 64 bits that an IPv6 network is given at least.
func Network(c *fiber.Ctx) string {
	client := Client(c)
	if network, err := client.Prefix(64); err == nil && client.Is6() {
		return network.String()
	}
	return client.String()
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
