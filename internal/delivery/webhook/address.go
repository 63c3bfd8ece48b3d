package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Policy says where the sender may connect to. It is asked about the address of every connection, after DNS, so it does
// not matter what a name resolved to a moment ago.
type Policy struct {
	// AllowLoopback permits http and any port on loopback addresses: for development on one machine.
	AllowLoopback bool
	// Allow lists networks of the operator's own that may be called although they are private.
	Allow []netip.Prefix
	// Ports that may be called; 443 and 8443 where empty.
	Ports []uint16
}

var defaultPorts = []uint16{443, 8443}

// refused are the networks that are nobody's on the public Internet, or lead back inside: IANA's special-purpose
// registries (RFC 6890 and its updates), multicast, and the IPv6 forms that carry an IPv4 address. Of IPv6 only 2000::/3
// is public at all, which leaves out unspecified, loopback, mapped, compatible, NAT64, discard, unique and link local.
var refused = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

var publicIPv6 = netip.MustParsePrefix("2000::/3")

func prefixes(in ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(in))
	for i, s := range in {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Public reports whether the address is one of the public Internet.
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsValid() || a.Is6() && !publicIPv6.Contains(a) {
		return false
	}
	return !contains(refused, a)
}

// permits reports whether the sender may connect to the address.
func (p Policy) permits(at netip.AddrPort) bool {
	a := at.Addr().Unmap()
	if p.AllowLoopback && a.IsLoopback() && a.Zone() == "" {
		return true
	}
	ports := p.Ports
	if len(ports) == 0 {
		ports = defaultPorts
	}
	return slices.Contains(ports, at.Port()) && (Public(a) || contains(p.Allow, a))
}

// control refuses a connection just before it is made: Go calls it with the address that the socket will connect to.
func (p Policy) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !p.permits(at) {
		return errRefused
	}
	return nil
}

// CheckURL reports, in a sentence, why an endpoint's address cannot be one; empty where it can. It is a help for whoever
// types it and no defence: names are judged when they are connected to.
func (p Policy) CheckURL(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return "url must be an absolute URL."
	case u.User != nil:
		return "url must not carry a user name or password."
	case u.Fragment != "":
		return "url must not have a fragment."
	case u.Scheme != "https" && (u.Scheme != "http" || !p.AllowLoopback || !loopbackName(u.Hostname())):
		return "url must be https."
	}
	return p.checkHost(u)
}

func (p Policy) checkHost(u *url.URL) string {
	port := uint64(443)
	if s := u.Port(); s != "" {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil || n == 0 {
			return "url has no valid port."
		}
		port = n
	}
	host := u.Hostname()
	if loopbackName(host) {
		if p.AllowLoopback {
			return ""
		}
		return "url must not be an address of this machine."
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if !p.permits(netip.AddrPortFrom(a, uint16(port))) {
			return "url must be a public address on an allowed port."
		}
		return ""
	}
	if numeric(host) {
		return "url must not write an IP address in another than the usual form."
	}
	ports := p.Ports
	if len(ports) == 0 {
		ports = defaultPorts
	}
	if !slices.Contains(ports, uint16(port)) {
		return "url must use an allowed port."
	}
	return ""
}

func loopbackName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// numeric reports whether a host would be read as an IPv4 address by resolvers that know decimal, octal and hex forms: its
// last label is a number (WHATWG URL, "ends in a number").
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
