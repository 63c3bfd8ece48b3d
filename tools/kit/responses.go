package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// What a client makes of a response.
const (
	decision    = "decision"       // the response is the decision
	protocol    = "protocol_error" // not of this service: never a decision
	unavailable = "unavailable"    // there is no decision: the policy of the caller decides
	limited     = "rate_limited"   // refuse
	refused     = "refused"        // an error with the code of the service
)

// responseCase is a response to the request recorded at index Of, which authorize sent.
type responseCase struct {
	Name        string            `json:"name"`
	Guard       string            `json:"guard"`
	Of          int               `json:"of"`
	Status      int               `json:"status"`
	Headers     map[string]string `json:"headers"`
	Body        string            `json:"body"`
	Outcome     string            `json:"outcome"`
	Code        string            `json:"code,omitempty"`
	RetryAfter  *int              `json:"retry_after,omitempty"`    // seconds
	DeclaredLen int               `json:"content_length,omitempty"` // longer than the body: the connection is cut
}

type recorded struct {
	Request object `json:"request"`
	Answer  string `json:"answer"`
}

func recordings() (out []recorded, err error) {
	text, err := os.ReadFile("../../sdk/go/testdata/decisions.json")
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

var jsonType = map[string]string{"Content-Type": "application/json", "X-Request-Id": "req_1"}

func responses() (any, error) {
	set, err := recordings()
	if err != nil {
		return nil, err
	}
	out := []responseCase{}
	for i, r := range set {
		out = append(out, responseCase{Name: fmt.Sprintf("decision %d as the service sent it", i), Guard: "none", Of: i, Status: 200, Headers: jsonType, Body: r.Answer, Outcome: decision})
	}
	allow := set[0].Answer
	out = append(out, damaged(allow)...)
	return object{"version": version, "recorded": set, "cases": append(out, refusals()...)}, nil
}

// replaced fails loudly if the recording no longer has what a case changes.
func replaced(text, old, with string) string {
	if !strings.Contains(text, old) {
		panic("the recorded decision has no " + old)
	}
	return strings.Replace(text, old, with, 1)
}

// damaged returns responses that look like the allow recorded first and are none.
func damaged(allow string) []responseCase {
	member := func(name string) string { // "name":value of a string or null
		from := strings.Index(allow, `"`+name+`":`)
		rest := allow[from:]
		end := strings.IndexAny(rest[len(name)+3:], ",}")
		return rest[:len(name)+3+end]
	}
	unproven := func(decision string) string {
		text := replaced(replaced(allow, member("proof"), `"proof":null`), member("proof_id"), `"proof_id":null`)
		return replaced(text, `"decision":"allow"`, `"decision":"`+decision+`"`)
	}
	out := []responseCase{}
	for _, c := range []struct{ name, guard, body string }{
		{"an empty body", "json", ""},
		{"{}", "required", "{}"},
		{"null", "type", "null"},
		{"a list with the decision", "type", "[" + allow + "]"},
		{"cut in the middle", "json", allow[:len(allow)/2]},
		{"followed by a second object", "json", allow + "{}"},
		{"decision twice", "duplicates", replaced(allow, `"decision":"allow"`, `"decision":"deny","decision":"allow"`)},
		{"an unknown decision", "enum", replaced(allow, `"decision":"allow"`, `"decision":"approve"`)},
		{"decision in upper case", "enum", replaced(allow, `"decision":"allow"`, `"decision":"ALLOW"`)},
		{"decision is true", "enum", replaced(allow, `"decision":"allow"`, `"decision":true`)},
		{"decision is null", "enum", replaced(allow, `"decision":"allow"`, `"decision":null`)},
		{"no decision", "required", replaced(allow, `"decision":"allow",`, ``)},
		{"an unknown decision without a proof", "enum", unproven("approve")},
		{"an unknown mode", "enum", replaced(allow, `"mode":"enforce"`, `"mode":"simulate"`)},
		{"no trace id", "required", replaced(allow, member("trace_id")+",", ``)},
		{"reason codes that are null", "type", replaced(allow, `"reason_codes":[`+within(allow, `"reason_codes":[`, "]")+"]", `"reason_codes":null`)},
		{"a version that is a text", "type", replaced(allow, `"policy_version":1`, `"policy_version":"1"`)},
		{"a version with a fraction", "type", replaced(allow, `"policy_version":1`, `"policy_version":1.5`)},
		{"a negative latency", "range", replaced(allow, `"latency_ms":`, `"latency_ms":-`)},
		{"an allow without its proof", "consistency", replaced(allow, member("proof"), `"proof":null`)},
		{"an allow without the id of its proof", "consistency", replaced(allow, member("proof_id"), `"proof_id":null`)},
		{"a proof that is no JWS", "consistency", replaced(allow, member("proof"), `"proof":"trust me"`)},
		{"a denial with a proof", "consistency", replaced(allow, `"decision":"allow"`, `"decision":"deny"`)},
		{"an allow in mode shadow with a proof", "consistency", replaced(allow, `"mode":"enforce"`, `"mode":"shadow"`)},
		{"a challenge without its challenge", "consistency", replaced(replaced(allow, `"decision":"allow"`, `"decision":"challenge"`), member("proof"), `"proof":null`)},
		{"of another action", "echo", replaced(allow, member("action"), `"action":"payments.other"`)},
		{"of another subject", "echo", replaced(allow, member("subject"), `"subject":"mallory"`)},
		{"an empty id", "consistency", replaced(allow, member("id"), `"id":""`)},
	} {
		out = append(out, responseCase{Name: c.name, Guard: c.guard, Status: 200, Headers: jsonType, Body: c.body, Outcome: protocol})
	}
	later := replaced(allow, `"decision":`, `"later_field":{"a":[1]},"decision":`)
	return append(out,
		responseCase{Name: "a field of a later version", Guard: "none", Status: 200, Headers: jsonType, Body: later, Outcome: decision},
		responseCase{Name: "a portal's page", Guard: "content_type", Status: 200, Headers: map[string]string{"Content-Type": "text/html"}, Body: "<html>Sign in</html>", Outcome: protocol},
		responseCase{Name: "the decision as text", Guard: "content_type", Status: 200, Headers: map[string]string{"Content-Type": "text/plain"}, Body: allow, Outcome: protocol},
		responseCase{Name: "another success", Guard: "status", Status: 201, Headers: jsonType, Body: allow, Outcome: protocol},
		responseCase{Name: "no content", Guard: "status", Status: 204, Headers: map[string]string{}, Outcome: protocol},
		responseCase{Name: "a redirect", Guard: "redirect", Status: 302, Headers: map[string]string{"Location": "http://127.0.0.1:9/elsewhere"}, Outcome: protocol},
		responseCase{Name: "a redirect that keeps the method", Guard: "redirect", Status: 307, Headers: map[string]string{"Location": "http://127.0.0.1:9/elsewhere"}, Outcome: protocol},
		responseCase{Name: "a connection that is cut", Guard: "length", Status: 200, Headers: jsonType, Body: allow[:400], DeclaredLen: len(allow), Outcome: unavailable},
		responseCase{Name: "a connection that is cut after the decision", Guard: "length", Status: 200, Headers: jsonType, Body: allow, DeclaredLen: len(allow) + 1, Outcome: unavailable})
}

// within returns what is between two texts.
func within(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

func refusals() []responseCase {
	problem := func(code string, status int) string {
		return fmt.Sprintf(`{"type":"https://countersign.dev/problems/%s","title":"T","status":%d,"detail":"D.","code":%q,"request_id":"req_1"}`, code, status, code)
	}
	of := func(c responseCase, headers ...string) responseCase {
		c.Headers = map[string]string{"Content-Type": "application/problem+json", "X-Request-Id": "req_1"}
		for i := 0; i+1 < len(headers); i += 2 {
			c.Headers[headers[i]] = headers[i+1]
		}
		return c
	}
	faults := `{"detail":[{"loc":["body","context",0],"msg":"amount is missing","type":"missing"}]}`
	return []responseCase{
		of(responseCase{Name: "an unknown subject", Guard: "none", Status: 404, Body: problem("not_found", 404), Outcome: refused, Code: "not_found"}),
		of(responseCase{Name: "a fault of the request", Guard: "none", Status: 422, Body: faults, Outcome: refused, Code: "validation_error"}, "Content-Type", "application/json"),
		of(responseCase{Name: "a key that has ended", Guard: "none", Status: 401, Body: problem("invalid_credential", 401), Outcome: refused, Code: "invalid_credential"}),
		of(responseCase{Name: "a firewall's page", Guard: "problem", Status: 403, Body: "<html>blocked</html>", Outcome: refused}, "Content-Type", "text/html"),
		of(responseCase{Name: "JSON of someone else", Guard: "problem", Status: 400, Body: `{"error":"bad"}`, Outcome: refused}, "Content-Type", "application/json"),
		of(responseCase{Name: "a refusal whose status differs", Guard: "problem", Status: 409, Body: problem("no_active_policy", 422), Outcome: refused}),
		of(responseCase{Name: "a quota", Guard: "rate_limit", Status: 429, Body: problem("rate_limited", 429), Outcome: limited, Code: "rate_limited", RetryAfter: new(7)}, "Retry-After", "7"),
		of(responseCase{Name: "a quota until a date", Guard: "rate_limit", Status: 429, Body: problem("rate_limited", 429), Outcome: limited, Code: "rate_limited"}, "Retry-After", "Wed, 21 Oct 2099 07:28:00 GMT"),
		of(responseCase{Name: "a quota with a wait that is no time", Guard: "retry_after", Status: 429, Body: problem("rate_limited", 429), Outcome: limited, Code: "rate_limited", RetryAfter: new(0)}, "Retry-After", "soon"),
		of(responseCase{Name: "a proxy's limit", Guard: "rate_limit", Status: 429, Body: "<html>slow down</html>", Outcome: limited}, "Content-Type", "text/html"),
		of(responseCase{Name: "the service says it is unavailable", Guard: "none", Status: 503, Body: problem("unavailable", 503), Outcome: unavailable}),
		of(responseCase{Name: "a proxy without a service", Guard: "none", Status: 502, Body: "<html>bad gateway</html>", Outcome: unavailable}, "Content-Type", "text/html"),
		of(responseCase{Name: "a fault of the service", Guard: "none", Status: 500, Body: problem("internal_error", 500), Outcome: unavailable}),
	}
}
