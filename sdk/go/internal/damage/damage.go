// Package damage generates damaged responses of the service for tests: truncated, with changed types, for a different
// request, or from a captive portal instead of the service. Clients must reject them.
package damage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
)

// Recorded is a decision recorded from a running service.
type Recorded struct {
	Request json.RawMessage
	Answer  string
}

// Answer is a response that a client receives.
type Answer struct {
	Kind        string // of damage
	Of          int    // index of the recorded decision, and so of the request that it belongs to
	Status      int
	ContentType string
	Body        []byte
	Cut         bool // the connection ends before the body does
	// Readable marks a response that a client may accept as any decision but an allow: a flipped bit may be in a text
	// for people. A client must reject all others.
	Readable bool
}

// Whole returns the recorded response without damage.
func Whole(r Recorded) Answer {
	return Answer{Kind: "none", Status: http.StatusOK, ContentType: "application/json", Body: []byte(r.Answer)}
}

// RoundTrip implements http.RoundTripper: it returns the response to every request.
func (a Answer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	var body io.Reader = bytes.NewReader(a.Body)
	if a.Cut {
		body = io.MultiReader(body, brokenOff{})
	}
	header := http.Header{"X-Request-Id": {"req_1"}, "Location": {"http://127.0.0.1:9/elsewhere"}}
	if a.ContentType != "" {
		header.Set("Content-Type", a.ContentType)
	}
	return &http.Response{StatusCode: a.Status, Header: header, Body: io.NopCloser(body), Request: req}, nil
}

type brokenOff struct{}

// Read returns the error of a reset connection.
func (brokenOff) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// One damages a decision of a set, whose first is an allow, as rng says.
func One(rng *rand.Rand, set []Recorded) Answer {
	kind := kinds[rng.IntN(len(kinds))]
	of := rng.IntN(len(set))
	if kind.readable {
		of = 1 + rng.IntN(len(set)-1) // the allow would stay one
	}
	a := Whole(set[of])
	a.Kind, a.Of, a.Readable = kind.name, of, kind.readable
	kind.harm(rng, &a)
	return a
}

type kind struct {
	name     string
	readable bool
	harm     func(rng *rand.Rand, a *Answer)
}

var kinds = []kind{
	{"cut", false, func(rng *rand.Rand, a *Answer) { a.Body = a.Body[:rng.IntN(len(a.Body))] }},
	{"broken off", false, func(rng *rand.Rand, a *Answer) {
		a.Body, a.Cut = a.Body[:rng.IntN(len(a.Body)+1)], true
	}},
	{"status", false, func(rng *rand.Rand, a *Answer) {
		a.Status = one(rng, 201, 202, 203, 204, 205, 206, 226, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503, 504, 599)
	}},
	{"page", false, func(rng *rand.Rand, a *Answer) {
		a.Body = []byte(one(rng, "<!doctype html><title>Sign in to the network</title>", "<html>allow</html>", "allow", ""))
		a.ContentType = one(rng, "text/html; charset=utf-8", "application/json", "")
	}},
	{"content type", false, func(rng *rand.Rand, a *Answer) {
		a.ContentType = one(rng, "", "text/html", "text/plain", "application/octet-stream", "application/jsonp", "text/event-stream", "application/problem+json", ";")
	}},
	{"garbage", false, func(rng *rand.Rand, a *Answer) {
		a.Body = append(noise(rng, 1+rng.IntN(300)), 0)
	}},
	{"gzip garbage", false, func(rng *rand.Rand, a *Answer) {
		a.Body = append([]byte("\x1f\x8b\x08"), noise(rng, 60)...)
	}},
	{"not UTF-8", false, func(_ *rand.Rand, a *Answer) {
		a.Body = bytes.Replace(a.Body, []byte(`"trace_id":"`), []byte("\"trace_id\":\"\xff"), 1)
	}},
	{"another body", false, func(rng *rand.Rand, a *Answer) {
		s := string(a.Body)
		a.Body = []byte(one(rng, `{}`, `[]`, `null`, `true`, `"allow"`, `{"decision":"sure"}`, `{"decision":"allow"}`, `[`+s+`]`, `{"data":`+s+`}`, s+s, s+`x`, `"`+s, `{"":`+s+`}`))
	}},
	{"missing field", false, func(rng *rand.Rand, a *Answer) {
		change(a, func(v map[string]any) { f := pick(rng, a.Body); delete(f.parent(v), f.last()) })
	}},
	{"other type", false, func(rng *rand.Rand, a *Answer) {
		change(a, func(v map[string]any) { f := pick(rng, a.Body); f.parent(v)[f.last()] = f.wrong(rng) })
	}},
	{"unknown value", false, func(rng *rand.Rand, a *Answer) {
		change(a, func(v map[string]any) {
			f := one(rng, "decision", "mode", "assurance.coverage")
			field{path: f}.parent(v)[field{path: f}.last()] = one(rng, "sure", "ALLOW", "Allow", " allow", "allow ", "", "enforced", "allow\x00", "yes")
		})
	}},
	{"another decision", false, func(_ *rand.Rand, a *Answer) {
		change(a, func(v map[string]any) {
			v["decision"] = map[string]string{"allow": "challenge", "challenge": "allow", "hold": "allow", "deny": "allow"}[v["decision"].(string)]
		})
	}},
	{"proof", false, func(rng *rand.Rand, a *Answer) {
		change(a, func(v map[string]any) {
			name := one(rng, "proof", "proof_id")
			if v["decision"] != "allow" {
				v[name] = "a.b.c" // a proof of what was not allowed
				return
			}
			v[name] = one[any](rng, nil, "")
			if rng.IntN(2) == 0 {
				v["proof"] = one(rng, "x", "a.b", "a.b.c.d", "a.b.c=", "a b.c.d", strings.Repeat("a", 9000)+".b.c")
			}
		})
	}},
	{"challenge", false, func(_ *rand.Rand, a *Answer) {
		change(a, func(v map[string]any) {
			if v["decision"] == "challenge" {
				v["challenge"] = nil
				return
			}
			v["challenge"] = map[string]any{"id": "chl_1", "methods": []string{"passkey"}, "expires_at": "2026-11-22T10:59:20.479Z"}
		})
	}},
	{"field twice", false, func(rng *rand.Rand, a *Answer) {
		more := one(rng, `"decision":"allow"`, `"deci\u0073ion":"allow"`, `"decision" : "deny"`, `"mode":"shadow"`, `"proof":"a.b.c"`, `"action":"x"`)
		if rng.IntN(2) == 0 {
			a.Body = []byte("{" + more + "," + string(a.Body[1:]))
		} else {
			a.Body = []byte(string(a.Body[:len(a.Body)-1]) + "," + more + "}")
		}
	}},
	{"field spelled otherwise", true, func(rng *rand.Rand, a *Answer) {
		a.Body = []byte(string(a.Body[:len(a.Body)-1]) + "," + one(rng, `"Decision":"allow"`, `"DECISION":"allow"`, `"deci\u017fion":"allow"`, `"Mode":"shadow"`) + "}")
	}},
	{"flipped bits", true, func(rng *rand.Rand, a *Answer) {
		for range 1 + rng.IntN(8) {
			a.Body[rng.IntN(len(a.Body))] ^= 1 << rng.IntN(8)
		}
	}},
	{"another question's", false, func(rng *rand.Rand, a *Answer) {
		change(a, func(v map[string]any) {
			if rng.IntN(2) == 0 {
				v["action"] = "payments.other"
			} else {
				v["assurance"].(map[string]any)["subject"] = "user-other"
			}
		})
	}},
	{"number", false, func(rng *rand.Rand, a *Answer) {
		a.Body = bytes.Replace(a.Body, []byte(`"policy_version":1`), []byte(`"policy_version":`+one(rng, "1.5", "1e999", "1e400", "99999999999999999999", "-", "01", "NaN", "0x1")), 1)
	}},
	{"huge", false, func(rng *rand.Rand, a *Answer) {
		if rng.IntN(100) == 0 { // each takes time
			a.Body = append(a.Body, bytes.Repeat([]byte(" "), 17<<20)...)
			return
		}
		a.Body = append(bytes.Repeat([]byte("["), 1000), a.Body...)
	}},
}

// field is a required part of a decision and the types that it may have.
type field struct{ path, types string }

var fields = []field{
	{"id", "string"}, {"decision", "string"}, {"mode", "string"}, {"action", "string"}, {"action_hash", "string"}, {"environment", "string"},
	{"policy_version", "number"}, {"reason_codes", "array"}, {"human_readable", "object"}, {"human_readable.status", "string"},
	{"human_readable.detail", "string"}, {"assurance", "object"}, {"assurance.id", "string"}, {"assurance.subject", "string"},
	{"assurance.assessed_at", "string"}, {"assurance.model_version", "string"}, {"assurance.claims", "array"}, {"assurance.coverage", "string"},
	{"assurance.insufficient_evidence", "boolean"}, {"trace_id", "string"}, {"decided_at", "string"}, {"latency_ms", "number"},
}

var fieldsOfProof = []field{{"proof", "string"}, {"proof_id", "string"}}

var fieldsOfChallenge = []field{{"challenge", "object"}, {"challenge.id", "string"}, {"challenge.methods", "array"}, {"challenge.expires_at", "string"}}

func pick(rng *rand.Rand, body []byte) field {
	all := fields
	switch {
	case bytes.Contains(body, []byte(`"decision":"allow"`)):
		all = append(all[:len(all):len(all)], fieldsOfProof...)
	case bytes.Contains(body, []byte(`"decision":"challenge"`)):
		all = append(all[:len(all):len(all)], fieldsOfChallenge...)
	}
	return all[rng.IntN(len(all))]
}

func (f field) last() string { return f.path[strings.LastIndexByte(f.path, '.')+1:] }

func (f field) parent(v map[string]any) map[string]any {
	if parent, _, nested := strings.Cut(f.path, "."); nested {
		return v[parent].(map[string]any)
	}
	return v
}

// wrong is a value of another type.
func (f field) wrong(rng *rand.Rand) any {
	values := map[string]any{"null": nil, "string": "allow", "number": 7, "boolean": true, "array": []any{"allow"}, "object": map[string]any{"decision": "allow"}}
	delete(values, f.types)
	names := []string{}
	for _, name := range []string{"null", "string", "number", "boolean", "array", "object"} {
		if _, there := values[name]; there {
			names = append(names, name)
		}
	}
	return values[one(rng, names...)]
}

func change(a *Answer, by func(v map[string]any)) {
	var v map[string]any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		panic(fmt.Sprintf("damage: what was recorded is not JSON: %v", err))
	}
	by(v)
	a.Body, _ = json.Marshal(v) //nolint:errchkjson // it was JSON
}

func one[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

func noise(rng *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(rng.UintN(256)) // #nosec G115 -- below 256
	}
	return out
}
