package gate_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/countersign-dev/countersign/integration/gatetest"
	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// oracle judges requests that reached the application, without the code of the gate: it reads each as the most lenient servers do. If any of
// them reads an operation of a guarded route, the request must have its own consumed proof of exactly what it asks for.
type oracle struct {
	w       world
	actions map[string]string // action by route
	mu      sync.Mutex
	used    map[string]bool // ids of proofs
	// What reached the application, by way in.
	proofs, open map[string]int
}

// count counts a request that reached the application.
func (o *oracle) count(way string, proof bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if proof {
		o.proofs[way]++
	} else {
		o.open[way]++
	}
}

// guarded are the routes that need a proof.
var guarded = []struct {
	route, method string
	path          *regexp.Regexp
}{
	{"transfer", "POST", regexp.MustCompile(`^/transfers/([^/]+)$`)},
	{"report", "GET", regexp.MustCompile(`^/(reports)$`)},
	{"admin", "GET", regexp.MustCompile(`^/admin(?:/(.*))?$`)},
	{"payment", "POST", regexp.MustCompile(`^/(payments)$`)},
}

// randomRoutes are the routes of the gate, for guarded and for everything else. Only some ways in can read a body.
func randomRoutes(actions map[string]string, body bool) string {
	var b strings.Builder
	route := func(name, method, path, id, context string) {
		fmt.Fprintf(&b, `- {name: %s, hosts: [%s], methods: [%s], path: "%s", upstream: UPSTREAM, action: %s, audience: payments, resource: {type: payment, id: "%s"}, context: {%s}}`+"\n",
			name, host, method, path, actions[name], id, context)
	}
	route("transfer", "POST", "/transfers/{id}", "request.params.id", `amount: "has(request.query.amount) ? request.query.amount : 'none'", agent: "'x-agent' in request.headers ? request.headers['x-agent'] : 'none'"`)
	route("report", "GET", "/reports", "'reports'", "")
	route("admin", "GET", "/admin/{rest...}", "'admin'", "")
	if body {
		route("payment", "POST", "/payments", "'payments'", "amount: request.body.amount")
	} else {
		route("payment", "POST", "/payments", "'payments'", "")
	}
	fmt.Fprintf(&b, `- {name: public, hosts: [%s], path: "/{rest...}", upstream: UPSTREAM, open: true}`+"\n", host)
	return b.String()
}

// violation returns what is wrong with a request that reached the application, or "".
func (o *oracle) violation(t testing.TB, r gatetest.Reached, body bool) string {
	own := 0
	for name := range r.Header {
		if strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "countersign-") {
			own++
		}
	}
	if len(r.Trailer) > 0 {
		return "it has trailers"
	}
	exact, id, _ := match(r.Method, decodeOnce(pathOf(r.Target)))
	for _, method := range methods(r) {
		for path := range paths(r) {
			if route, _, ok := match(method, path); ok && route != exact {
				return fmt.Sprintf("a lenient server reads it as %s %q of the route %s", method, path, route)
			}
		}
	}
	proofs := r.Header.Values("Countersign-Proof")
	if exact == "" {
		if own > 0 {
			return "a request without a decision has a header of Countersign"
		}
		return ""
	}
	if own != 1 || len(proofs) != 1 {
		return "a request of the route " + exact + " has no proof, or other headers of Countersign"
	}
	if spelled := (&url.URL{Path: decodeOnce(pathOf(r.Target))}).EscapedPath(); spelled != pathOf(r.Target) && !strings.ContainsAny(spelled, "[]") {
		return "the path is not in its canonical spelling"
	}
	return o.proven(t, r, proofs[0], exact, id, body)
}

// spent returns the claims of a proof, and what is wrong if it is not consumed, or was there before.
func (o *oracle) spent(t testing.TB, compact string) (claims proof.Claims, why string) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(compact+"..", ".")[1])
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return claims, "the proof is none"
	}
	o.mu.Lock()
	twice := o.used[claims.ID]
	o.used[claims.ID] = true
	o.mu.Unlock()
	status, err := o.w.VerifyProof(t.Context(), countersign.ProofVerifyRequest{Proof: compact})
	switch {
	case twice:
		return claims, "the proof has been there before"
	case err != nil || status.Status != "consumed":
		return claims, fmt.Sprintf("the proof is not consumed: %v %v", status, err)
	}
	return claims, ""
}

// proven checks that the proof is of this request, consumed, and of no other one.
func (o *oracle) proven(t testing.TB, r gatetest.Reached, compact, route, id string, body bool) string {
	claims, why := o.spent(t, compact)
	if why != "" {
		return why
	}
	if claims.Action.Key != o.actions[route] {
		return "the proof is of a different action"
	}
	if route == "admin" {
		id = "admin"
	}
	context := map[string]any{}
	switch route {
	case "transfer":
		context["amount"], context["agent"] = one(parameters(r, "amount")), one(r.Header.Values("X-Agent"))
	case "payment":
		if body {
			context["amount"] = amountOf(r.Body)
		}
	}
	resource, _ := proof.ResourceDigest("payment", id)
	digest, err := proof.ContextDigest(context)
	if err != nil || claims.Resource.Digest != resource || claims.Context != digest {
		return fmt.Sprintf("the proof is for other values than %q %v", id, context)
	}
	return ""
}

// one is the only value that servers can read; of several, a value that no proof is for.
func one(values []string) string {
	switch len(values) {
	case 0:
		return "none"
	case 1:
		return values[0]
	}
	return "ambiguous"
}

// parameters are all values that some server reads for a name.
func parameters(r gatetest.Reached, name string) []string {
	_, query, _ := strings.Cut(r.Target, "?")
	var out []string
	for _, pair := range strings.FieldsFunc(query, func(c rune) bool { return c == '&' || c == ';' }) {
		key, value, _ := strings.Cut(pair, "=")
		key, _ = url.QueryUnescape(key)
		key, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(key)), "[")
		if key == name {
			value, _ = url.QueryUnescape(value)
			out = append(out, value)
		}
	}
	return out
}

// amountOf is the amount that all decoders read; "ambiguous" if they differ.
func amountOf(body string) any {
	var names []string
	var value any
	d := json.NewDecoder(strings.NewReader(body))
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 && strings.EqualFold(v, "amount") {
				names = append(names, v)
				_ = d.Decode(&value)
			}
		}
	}
	if len(names) != 1 {
		return "ambiguous"
	}
	return value
}

// match returns the guarded route of an operation and its id.
func match(method, path string) (route, id string, ok bool) {
	for _, g := range guarded {
		if m := g.path.FindStringSubmatch(path); m != nil && (method == g.method || method == http.MethodHead && g.method == http.MethodGet) {
			return g.route, m[1], true
		}
	}
	return "", "", false
}

// methods are those that some server reads.
func methods(r gatetest.Reached) []string {
	all := []string{strings.ToUpper(r.Method)}
	for name, values := range r.Header {
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if slices.Contains([]string{"x-http-method-override", "x-http-method", "x-method-override"}, name) {
			all = append(all, strings.ToUpper(values[0]))
		}
	}
	for _, value := range parameters(r, "_method") {
		all = append(all, strings.ToUpper(value))
	}
	return all
}

func pathOf(target string) string {
	if _, rest, absolute := strings.Cut(target, "://"); absolute && !strings.HasPrefix(target, "/") {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			target = rest[i:]
		}
	}
	path, _, _ := strings.Cut(target, "?")
	return path
}

func decodeOnce(text string) string {
	if decoded, err := url.PathUnescape(text); err == nil {
		return decoded
	}
	return text
}

var (
	slashes  = regexp.MustCompile(`/{2,}`)
	sessions = regexp.MustCompile(`;[^/]*`)
	endings  = regexp.MustCompile(`[. ]+(/|$)`)
	suffix   = regexp.MustCompile(`^(.*/[^/.]+)\.[^/]*$`)
	overlong = strings.NewReplacer("\xc0\xaf", "/", "\xc0\xae", ".", "\xc1\x9c", `\`)
)

// readings list the ways in which lenient servers read a path.
var readings = []func(string) string{
	decodeOnce, strings.ToLower, norm.NFKC.String, overlong.Replace,
	func(p string) string { return strings.ReplaceAll(p, `\`, "/") },
	func(p string) string { return slashes.ReplaceAllString(p, "/") },
	func(p string) string { return sessions.ReplaceAllString(p, "") },
	func(p string) string { return strings.TrimRight(p, "/") },
	func(p string) string { return endings.ReplaceAllString(p, "$1") },
	func(p string) string { return suffix.ReplaceAllString(p, "$1") },
	func(p string) string { p, _, _ = strings.Cut(p, "\x00"); return p },
	func(p string) string { p, _, _ = strings.Cut(p, "?"); return p },
	func(p string) string { p, _, _ = strings.Cut(p, "#"); return p },
	func(p string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, p)
	},
	func(p string) string {
		var out []string
		for _, segment := range strings.Split(p, "/") {
			switch {
			case segment == ".":
			case segment == ".." && len(out) > 1:
				out = out[:len(out)-1]
			case segment != "..":
				out = append(out, segment)
			}
		}
		return strings.Join(out, "/")
	},
}

// paths are all paths that some servers read, by any combination of readings.
func paths(r gatetest.Reached) map[string]bool {
	all := map[string]bool{pathOf(r.Target): true}
	for name, values := range r.Header {
		if slices.Contains([]string{"x-original-url", "x-rewrite-url"}, strings.ReplaceAll(strings.ToLower(name), "_", "-")) {
			all[pathOf(values[0])] = true
		}
	}
	for range 6 {
		for path := range all {
			for _, read := range readings {
				if len(all) < 500 {
					all[read(path)] = true
				}
			}
		}
	}
	return all
}
