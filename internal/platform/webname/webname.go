// Package webname parses host names, WebAuthn RP IDs and web origins to the one form in which browsers write them, so that they can be
// stored and compared as text: lower case, internationalised names in their xn-- form, no default port.
//
// It may not be bypassed: a setting that names a host or an origin has been parsed here, or is refused.
package webname

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// lookup converts names as browsers do before they resolve one (UTS 46, not transitional), and checks lengths.
var lookup = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckJoiners(true), idna.CheckHyphens(false), idna.VerifyDNSLength(true))

var (
	name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	// endsInNumber is a last label that browsers read as part of an IPv4 address (WHATWG URL, "ends in a number").
	endsInNumber = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)
)

// Host parses a DNS host name, such as bank.example. Localhost is one; an IP address and a name with a dot at its end are not.
func Host(text string) (string, error) {
	host, err := lookup.ToASCII(text)
	if err != nil || !utf8.ValidString(text) || !name.MatchString(host) || endsInNumber.MatchString(host) {
		return "", fmt.Errorf("%q is not a host name such as bank.example", text)
	}
	return host, nil
}

// RPID parses a WebAuthn RP ID: localhost, a name below it, or a domain below a public suffix. Browsers accept no RP ID that is a
// public suffix itself, such as com or co.uk, because it would cover the sites of others.
func RPID(text string) (string, error) {
	host, err := Host(text)
	if err != nil {
		return "", err
	}
	if err := protocol.ValidateRPID(host); err != nil {
		return "", fmt.Errorf("%q is not a host name such as bank.example: %w", text, err)
	}
	if suffix, _ := publicsuffix.PublicSuffix(host); suffix == host && host != "localhost" {
		return "", fmt.Errorf("%q is a public suffix, below which names are registered freely; use a host name such as bank.example", text)
	}
	return host, nil
}

// Origin parses a web origin: http or https, a host name or an IP address, and a port unless it is the scheme's default.
func Origin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Path != "" || strings.ContainsAny(text, `?#\`) {
		return "", notOrigin(text)
	}
	origin, err := OriginOf(u)
	if err != nil {
		return "", notOrigin(text)
	}
	return origin, nil
}

func notOrigin(text string) error {
	return fmt.Errorf("the origin %q is not a scheme and a host, such as https://bank.example", text)
}

var errNoOrigin = errors.New("the URL has no web origin")

// OriginOf returns the origin of an absolute URL without a user.
func OriginOf(u *url.URL) (string, error) {
	defaults := map[string]string{"https": "443", "http": "80"}
	if defaults[u.Scheme] == "" || u.User != nil || u.Opaque != "" {
		return "", errNoOrigin
	}
	host, err := address(u)
	if err != nil {
		return "", err
	}
	port := u.Port()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", errNoOrigin
		}
		port = strconv.FormatUint(n, 10)
	}
	if port != "" && port != defaults[u.Scheme] {
		host += ":" + port
	}
	return u.Scheme + "://" + host, nil
}

// address returns the host of a URL, an IPv6 address in brackets.
func address(u *url.URL) (string, error) {
	ip, err := netip.ParseAddr(u.Hostname())
	switch {
	case err != nil:
		return Host(u.Hostname())
	case ip.Zone() != "" || ip.Is4In6():
		return "", errNoOrigin
	case ip.Is6():
		return "[" + ip.String() + "]", nil
	default:
		return ip.String(), nil
	}
}

// HostOf returns the host of an origin that Origin returned, without its port.
func HostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// IsLocal reports whether the host name always resolves to the machine that asks (RFC 6761).
func IsLocal(host string) bool { return host == "localhost" || strings.HasSuffix(host, ".localhost") }
