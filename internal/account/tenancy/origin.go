package tenancy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// rpOrigins are the rules for origins that browsers may use passkeys from.
type rpOrigins struct {
	rpID       string
	others     []string // further RP IDs of the environment
	allowLocal bool     // localhost and names below it, over http too
}

// check checks that browsers may use passkeys of the RP ID from the origin: its host is the RP ID or below it, and it is https
// unless the host is local. WebAuthn permits plain http for localhost only.
func (r rpOrigins) check(origin string) error {
	if isApp(origin) {
		return checkApp(origin)
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("the origin %q is not a scheme and a host, such as https://%s", origin, r.rpID)
	}
	host := u.Hostname()
	all := append([]string{r.rpID}, r.others...)
	if !slices.ContainsFunc(all, func(id string) bool { return host == id || strings.HasSuffix(host, "."+id) }) {
		return fmt.Errorf("the origin %q is not at the RP ID %s or below it", origin, strings.Join(all, ", "))
	}
	local := localName(host)
	if local && !r.allowLocal {
		return fmt.Errorf("the origin %q is local; a live environment must not have a local origin", origin)
	}
	if u.Scheme == "http" && !local {
		return fmt.Errorf("the origin %q is not https", origin)
	}
	return nil
}

// checkPageOrigin checks an origin that hosted pages redirect to or are embedded by. It permits https with or without a port,
// and http on this machine. Since the origin is written into a Content-Security-Policy header, it may contain nothing that has
// a meaning there, such as a wildcard.
func checkPageOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ContainsAny(origin, " *;,'\"") {
		return fmt.Errorf("the origin %q is not a scheme and a host, such as https://bank.example", origin)
	}
	local := localName(u.Hostname()) || u.Hostname() == "127.0.0.1"
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("the origin %q is not https", origin)
	}
	return nil
}

// checkPageOrigins returns a validation problem for the first origin of the field that checkPageOrigin refuses.
func checkPageOrigins(field string, origins []string) error {
	for i, origin := range origins {
		if err := checkPageOrigin(origin); err != nil {
			return problem.Invalid([]any{"body", field, i}, err.Error(), "value_error")
		}
	}
	return nil
}

// localName reports whether the host name always resolves to this machine (RFC 6761).
func localName(host string) bool { return host == "localhost" || strings.HasSuffix(host, ".localhost") }
