package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/internal/platform/webname"
)

// Policy restricts the addresses that a Sender connects to. It is checked against the address of every connection after DNS
// resolution, which defeats DNS rebinding: an earlier result of the resolver does not matter. The zero value permits public
// addresses on the default ports.
type Policy struct {
	// AllowLoopback permits http and any port on loopback addresses. For development on one machine.
	AllowLoopback bool
	// Allow lists private networks of the operator that may be called all the same.
	Allow []netip.Prefix
	// Ports that may be called; empty is 443 and 8443.
	Ports []uint16
}

var defaultPorts = []uint16{443, 8443}

// refused lists the networks that are not public or lead back inside: IANA's special-purpose registries (RFC 6890 and its
// updates), multicast, and the IPv6 ranges that embed an IPv4 address. Of IPv6, only 2000::/3 is public; that excludes the
// unspecified, loopback, mapped, compatible, NAT64, discard, unique local and link-local ranges.
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

// Public reports whether the address belongs to the public Internet. An address with a zone never does.
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
	return slices.Contains(p.ports(), at.Port()) && (Public(a) || contains(p.Allow, a))
}

// ports returns the ports that may be called.
func (p Policy) ports() []uint16 {
	if len(p.Ports) == 0 {
		return defaultPorts
	}
	return p.Ports
}

// portNames returns the ports that may be called, such as "443 or 8443".
func (p Policy) portNames() string {
	var names []string
	for _, port := range p.ports() {
		names = append(names, strconv.Itoa(int(port)))
	}
	return strings.Join(names, " or ")
}

// control is the dialer's Control function. Go calls it before each connection with the resolved address; an error prevents
// the connection.
func (p Policy) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !p.permits(at) {
		return errRefused
	}
	return nil
}

// CheckURL returns a sentence that says why the URL cannot be an endpoint; empty if it can. It gives early feedback and is
// not the defence: host names are not resolved here, control checks what they resolve to.
func (p Policy) CheckURL(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return "url must be an absolute URL."
	case !ascii(raw) || !ascii(u.Hostname()):
		return "url must consist of ASCII characters: write an internationalised host in its xn-- form, and encode the rest with percent signs."
	case u.User != nil:
		return "url must not carry a user name or password."
	case u.Fragment != "":
		return "url must not have a fragment."
	case u.Scheme != "https" && (u.Scheme != "http" || !p.AllowLoopback || !loopbackName(u.Hostname())):
		return "url must be https."
	}
	return p.checkHost(u)
}

// ascii reports whether a text consists of printable ASCII characters. Others are read as ASCII ones when the host is looked up, and look like them
// to the second approver of an endpoint.
func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// checkHost checks host and port of an endpoint's URL.
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
		return "url must not be a loopback address."
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if !p.permits(netip.AddrPortFrom(a, uint16(port))) {
			return "url must be a public address on port " + p.portNames() + "."
		}
		return ""
	}
	if numeric(host) {
		return "url must write an IP address in its usual form."
	}
	if _, err := webname.Host(host); err != nil {
		return "url must have a host name such as hooks.example.com."
	}
	if !slices.Contains(p.ports(), uint16(port)) {
		return "url must use port " + p.portNames() + "."
	}
	return ""
}

// loopbackName reports whether the host is a loopback address or a name that always resolves to one (RFC 6761).
func loopbackName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// numeric reports whether some resolvers would read the host as an IPv4 address in decimal, octal or hexadecimal form,
// such as 0x7f.1: its last label is a number (WHATWG URL, "ends in a number").
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
