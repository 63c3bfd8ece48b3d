package tenancy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/webname"
)

// rpOrigins are the rules for origins that browsers may use passkeys from.
type rpOrigins struct {
	rpID       string
	others     []string // further RP IDs of the environment
	allowLocal bool     // localhost and names below it, over http too
}

// check checks that browsers may use passkeys of the RP ID from an origin in its canonical form: its host is the RP ID or below it,
// and it is https unless the host is local. WebAuthn permits plain http for localhost only.
func (r rpOrigins) check(origin string) error {
	if isApp(origin) {
		return nil
	}
	host := webname.HostOf(origin)
	all := append([]string{r.rpID}, r.others...)
	if !slices.ContainsFunc(all, func(id string) bool { return host == id || strings.HasSuffix(host, "."+id) }) {
		return fmt.Errorf("the origin %q is not at the RP ID %s or below it", origin, strings.Join(all, ", "))
	}
	local := webname.IsLocal(host)
	if local && !r.allowLocal {
		return fmt.Errorf("the origin %q is local; a live environment must not have a local origin", origin)
	}
	if !local && !strings.HasPrefix(origin, "https:") {
		return fmt.Errorf("the origin %q is not https", origin)
	}
	return nil
}

// passkeyOrigin returns the canonical form of an origin that passkeys are used from: a web site's or an app's.
func passkeyOrigin(text string) (string, error) {
	if isApp(text) {
		return text, checkApp(text)
	}
	return webname.Origin(text)
}

// pageOrigin returns the canonical form of an origin that hosted pages redirect to or are embedded by: https with or without a port,
// and http on this machine. The form is safe in a Content-Security-Policy header, which it is written into.
func pageOrigin(text string) (string, error) {
	origin, err := webname.Origin(text)
	if err != nil {
		return "", err
	}
	host := webname.HostOf(origin)
	if !strings.HasPrefix(origin, "https:") && !webname.IsLocal(host) && host != "127.0.0.1" {
		return "", fmt.Errorf("the origin %q is not https", origin)
	}
	return origin, nil
}

// parseAll returns the canonical forms of a list at a place of the body; nil stays nil.
func parseAll(given []string, parse func(string) (string, error), place ...any) ([]string, error) {
	if given == nil {
		return nil, nil
	}
	out := make([]string, len(given))
	for i, text := range given {
		parsed, err := parse(text)
		if err != nil {
			return nil, problem.Invalid(append(append([]any{"body"}, place...), i), err.Error(), "value_error")
		}
		out[i] = parsed
	}
	return out, nil
}
