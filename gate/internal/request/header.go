package request

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/sdk/go/exact"
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// single are headers of which servers choose one if there are several.
var single = []string{"Authorization", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Idempotency-Key", StateHeader,
	SecretHeader, "Transfer-Encoding"}

// overrides are headers by which frameworks replace the method; rewrites replace the path.
var (
	overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}
	rewrites  = []string{"X-Original-Url", "X-Rewrite-Url"}
)

func checkHeader(raw Raw) error {
	h := raw.Header
	for name, values := range h {
		if err := refuse(!nameForm.MatchString(name), RuleNames, "The names of headers must have only letters, digits and hyphens."); err != nil {
			return err
		}
		if err := refuse(len(values) > 1 && slices.Contains(single, http.CanonicalHeaderKey(name)), RuleSingle, "The header "+name+" must be there once."); err != nil {
			return err
		}
		known := strings.EqualFold(name, StateHeader) || raw.Secret && strings.EqualFold(name, SecretHeader)
		if err := refuse(!raw.Removes && Own(name) && !known, RuleOwn, "The proxy must remove the headers Countersign-* of clients."); err != nil {
			return err
		}
	}
	if err := refuse(anyOf(h, overrides), RuleOverride, "The method must not be replaced by a header."); err != nil {
		return err
	}
	if err := refuse(anyOf(h, rewrites), RuleURLOverride, "The path must not be replaced by a header."); err != nil {
		return err
	}
	if err := refuse(!raw.Rewritten && len(h.Values("Trailer")) > 0, RuleTrailers, "The request must not have trailers."); err != nil {
		return err
	}
	return checkConnection(h, raw.Method)
}

func anyOf(h http.Header, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(h.Values(name)) > 0 })
}

// checkConnection refuses an upgrade to anything but a WebSocket: a connection that continues as HTTP/2 would carry requests that the gate
// does not see. It also refuses a client that names headers for proxies to drop.
func checkConnection(h http.Header, method string) error {
	for _, value := range h.Values("Connection") {
		for option := range strings.SplitSeq(value, ",") {
			known := slices.Contains([]string{"close", "keep-alive", "upgrade", "te", ""}, strings.ToLower(strings.TrimSpace(option)))
			if err := refuse(!known, RuleConnection, "The Connection header must not name other headers."); err != nil {
				return err
			}
		}
	}
	upgrades := h.Values("Upgrade")
	if len(upgrades) == 0 && len(h.Values("Http2-Settings")) == 0 {
		return nil
	}
	socket := len(upgrades) == 1 && strings.EqualFold(upgrades[0], "websocket") && method == http.MethodGet && len(h.Values("Http2-Settings")) == 0
	return refuse(!socket, RuleUpgrade, "A connection can be upgraded to a WebSocket only.")
}

// Own reports whether a header is one of Countersign's, in a spelling that some server reads as such.
func Own(name string) bool {
	return strings.HasPrefix(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "countersign-")
}

// RemoveOwn removes the headers Countersign-* of a client.
func RemoveOwn(h http.Header) {
	if !Enforced(RuleOwn) {
		return
	}
	for name := range h {
		if Own(name) {
			delete(h, name)
		}
	}
}

// Value returns a header that a mapping reads: "" and false if it is missing, and a refusal if it is there more than once.
func (r *Request) Value(name string) (string, bool, error) {
	values := r.Header.Values(name)
	if err := refuse(len(values) > 1, RuleSingle, "The header "+name+" must be there once."); err != nil {
		return "", false, err
	}
	if len(values) == 0 {
		return "", false, nil
	}
	return values[0], true, nil
}

// checkQuery refuses what no route may receive.
func checkQuery(raw string) error {
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return refuse(true, RuleQuery, "The query has a character that must be percent-encoded.")
		}
	}
	for pair := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil && spelled(decoded) == spelled("_method") {
			return refuse(true, RuleOverride, "The method must not be replaced by a parameter.")
		}
	}
	return nil
}

// Parameter returns a parameter of the query that a mapping reads: "" and false if it is missing, and a refusal if it is there more than
// once, or in a spelling that other servers read as the same name.
func (r *Request) Parameter(name string) (value string, given bool, err error) {
	if err := refuse(strings.Contains(r.RawQuery, ";"), RuleQuery, "The query must separate its parameters by &, not by a semicolon."); err != nil {
		return "", false, err
	}
	for pair := range strings.SplitSeq(r.RawQuery, "&") {
		key, text, _ := strings.Cut(pair, "=")
		decoded, err := url.QueryUnescape(key)
		if err != nil {
			return "", false, &Refusal{RuleQuery, "The query has an incomplete percent-encoding."}
		}
		if spelled(decoded) != spelled(name) {
			continue
		}
		if err := refuse(given || decoded != name, RuleQuery, "The parameter "+name+" must be there once, in this spelling."); err != nil {
			return "", false, err
		}
		if given || decoded != name {
			continue
		}
		if value, err = url.QueryUnescape(text); err != nil {
			return "", false, &Refusal{RuleQuery, "The query has an incomplete percent-encoding."}
		}
		given = true
	}
	return value, given, nil
}

// spelled returns a form that is equal for all names that frameworks read as one: amount, Amount, amount[], amount.x and "amount ".
func spelled(name string) string {
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, "\x00")
	return exact.Fold(strings.Trim(strings.NewReplacer(".", "_", " ", "_", "+", "_").Replace(strings.TrimSpace(name)), " "))
}
