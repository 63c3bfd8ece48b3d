package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// rule is one line of the specification's tables, repeated here to check the document against it.
type rule struct {
	field    string // dotted
	kind     string // string, integer, number, boolean, object, list or null
	required bool
	null     bool     // the specification says |null
	low      *float64 // least number, characters or items
	high     *float64 // most
	values   []string // enum
	fallback any      // default
	accepts  []any    // more that must pass
	refuses  []any    // more that must not
}

func between(low, high float64) func(*rule) { return func(r *rule) { r.low, r.high = &low, &high } }
func from(low float64) func(*rule)          { return func(r *rule) { r.low = &low } }
func upTo(high float64) func(*rule)         { return func(r *rule) { r.high = &high } }
func required(r *rule)                      { r.required = true }
func orNull(r *rule)                        { r.null = true }
func oneOf(v ...string) func(*rule)         { return func(r *rule) { r.values = v } }
func defaults(v any) func(*rule)            { return func(r *rule) { r.fallback = v } }
func accepts(v ...any) func(*rule)          { return func(r *rule) { r.accepts = v } }
func refuses(v ...any) func(*rule)          { return func(r *rule) { r.refuses = v } }

func is(field, kind string, opts ...func(*rule)) rule {
	r := rule{field: field, kind: kind}
	for _, o := range opts {
		o(&r)
	}
	return r
}

// probes returns boundary values of a rule with the expected violation; "" for none.
type probe struct {
	value any
	want  string
}

func (r rule) probes() []probe {
	var out []probe
	add := func(want string, values ...any) {
		for _, v := range values {
			out = append(out, probe{v, want})
		}
	}
	wrong := map[string]string{"string": "string_type", "integer": "int_type", "number": "float_type", "boolean": "bool_type", "object": "dict_type", "list": "list_type", "null": "none_required"}[r.kind]
	others := map[string]any{"string": "x", "integer": 7.0, "number": 7.0, "boolean": true, "object": map[string]any{}, "list": []any{}}
	for kind, v := range others {
		if kind != r.kind && (kind != "integer" || r.kind != "number") && (kind != "number" || r.kind != "integer") {
			if r.values != nil && kind != "string" {
				continue // an enum's fault may be named by either rule; the test of enums covers it
			}
			add(wrong, v)
		}
	}
	switch {
	case r.null, r.kind == "null":
		add("", nil)
	case r.values == nil:
		add(wrong, nil)
	}
	switch r.kind {
	case "string":
		r.stringProbes(add)
	case "integer", "number":
		r.numberProbes(add)
	case "list":
		r.listProbes(add)
	case "boolean":
		add("", true, false)
	}
	add("", r.accepts...)
	add("any", r.refuses...)
	return out
}

func (r rule) stringProbes(add func(string, ...any)) {
	if r.values != nil {
		for _, v := range r.values {
			add("", v)
			add("enum", strings.ToUpper(v), v+" ")
		}
		add("enum", "", "something else")
		return
	}
	if r.low != nil && *r.low > 0 {
		add("string_too_short", strings.Repeat("é", int(*r.low)-1))
		add("", strings.Repeat("a", int(*r.low)))
	}
	if r.high != nil {
		add("", strings.Repeat("a", int(*r.high)))
		add("string_too_long", strings.Repeat("a", int(*r.high)+1))
	}
	if r.high != nil && r.accepts == nil { // no pattern: any character counts once, however many bytes it has
		add("", strings.Repeat("é", int(*r.high)), strings.Repeat("😀", int(*r.high)))
		add("string_too_long", strings.Repeat("😀", int(*r.high)+1))
	}
}

func (r rule) numberProbes(add func(string, ...any)) {
	step := 1.0
	if r.kind == "integer" {
		add("int_from_float", 100.5)
	} else {
		step = 0.001
	}
	if r.low != nil {
		add("", *r.low)
		add("greater_than_equal", *r.low-step, -1e15)
	}
	if r.high != nil {
		add("", *r.high)
		add("less_than_equal", *r.high+step, 1e15)
	}
}

func (r rule) listProbes(add func(string, ...any)) {
	list := func(n int) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = r.accepts[0].([]any)[0]
			if s, ok := out[i].(string); ok && r.values == nil {
				out[i] = fmt.Sprintf("%s%d", s, i)
			}
		}
		return out
	}
	if r.low != nil {
		add("too_short", list(int(*r.low)-1))
		add("", list(int(*r.low)))
	} else {
		add("", []any{})
	}
	if r.high != nil {
		add("", list(int(*r.high)))
		add("too_long", list(int(*r.high)+1))
	}
}

func TestRulesAtTheirEdges(t *testing.T) {
	t.Parallel()
	c := contract(t)
	for op, rules := range specRules() {
		for _, r := range rules {
			t.Run(op+"/"+r.field, func(t *testing.T) {
				t.Parallel()
				for _, p := range r.probes() {
					body := example(t, op)
					put(body, r.field, p.value)
					got := at(c.ValidateBody(op, body), r.field)
					label := clip(p.value)
					switch p.want {
					case "":
						require.Empty(t, got, label)
					case "any":
						require.NotEmpty(t, got, label)
					default:
						require.Contains(t, types(got), p.want, label)
						require.LessOrEqual(t, len(got), 2, label) // the second where a pattern forbids the length as well
						require.Contains(t, got[0].Msg, r.field)
					}
				}
				body := example(t, op)
				drop(body, r.field)
				got := c.ValidateBody(op, body)
				if r.required {
					require.Len(t, got, 1)
					require.Equal(t, "missing", got[0].Type)
				} else {
					require.Empty(t, got)
				}
			})
		}
	}
}

func TestStrictObjectsRefuseUnknownProperties(t *testing.T) {
	t.Parallel()
	c := contract(t)
	// The specification does not call a frame strict, and the Authorization API ignores what it does not know.
	open := []string{"submitEvidence", "evaluateAccess", "evaluateAccessBatch"}
	for op := range specRules() {
		body := example(t, op)
		body["Unknown"] = true
		got := c.ValidateBody(op, body)
		if slices.Contains(open, op) {
			require.Empty(t, got, op)
			continue
		}
		require.Equal(t, []openapi.Violation{{Loc: []any{"body", "Unknown"}, Msg: "Unknown is not a property of the body", Type: "extra_forbidden"}}, got, op)
	}
	for op, field := range map[string]string{"authorize": "resource", "createPolicyVersion": "requirements", "createEvaluation": "success_criteria", "verifyProof": "resource"} {
		body := example(t, op)
		put(body, field+".unknown", 1)
		require.Len(t, c.ValidateBody(op, body), 1, op)
	}
}

// Every property of every request has a rule above, and the defaults of the document are those of the specification.
func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	doc := document(t)
	for _, op := range contract(t).Operations() {
		if op.BodySchema == "" {
			continue
		}
		rules := map[string]rule{}
		for _, r := range specRules()[op.ID] {
			rules[r.field] = r
		}
		for field, schema := range properties(doc, op.BodySchema, "") {
			r, ok := rules[field]
			if !ok {
				t.Errorf("%s: no rule for %s", op.ID, field)
				continue
			}
			require.Equal(t, r.fallback, schema["default"], "%s: default of %s", op.ID, field)
			delete(rules, field)
		}
		require.Empty(t, slices.Collect(maps.Keys(rules)), op.ID)
	}
}

func at(all []openapi.Violation, field string) []openapi.Violation {
	var out []openapi.Violation
	for _, v := range all {
		steps := []string{}
		for _, s := range v.Loc[1:] {
			steps = append(steps, fmt.Sprint(s))
		}
		loc := strings.Join(steps, ".")
		if loc == field || strings.HasPrefix(loc, field+".") {
			out = append(out, v)
		}
	}
	return out
}

func types(all []openapi.Violation) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = v.Type
	}
	return out
}

func put(body map[string]any, field string, v any) {
	head, rest, nested := strings.Cut(field, ".")
	if !nested {
		body[head] = v
		return
	}
	inner, ok := body[head].(map[string]any)
	if !ok {
		inner = map[string]any{}
		body[head] = inner
	}
	put(inner, rest, v)
}

func drop(body map[string]any, field string) {
	head, rest, nested := strings.Cut(field, ".")
	if !nested {
		delete(body, head)
		return
	}
	if inner, ok := body[head].(map[string]any); ok {
		drop(inner, rest)
	}
}

func clip(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw[:min(len(raw), 80)])
}
