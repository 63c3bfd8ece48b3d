package integration_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/integration/edges"
)

// schemaTypes are the fault types of schema violations. A body that satisfies the schema may still be refused for rules that a
// schema cannot express, such as unknown reason codes.
var schemaTypes = []string{
	"missing", "extra_forbidden", "string_type", "int_type", "int_from_float", "float_type", "bool_type", "list_type", "dict_type",
	"none_required", "string_too_short", "string_too_long", "string_pattern_mismatch", "enum", "literal_error", "greater_than_equal",
	"less_than_equal", "too_short", "too_long", "duplicate_items", "datetime_parsing", "url_parsing", "int_parsing", "repeated", "model_type",
}

func document(t testing.TB) *edges.Document {
	t.Helper()
	doc, err := edges.Parse(openapi.Document())
	require.NoError(t, err)
	return doc
}

// hasNoSchemaFault requires that the response reports no schema violation.
func (a response) hasNoSchemaFault(sent any) {
	a.t.Helper()
	require.Less(a.t, a.status, 500, "request: %s, response: %s", sent, a.body)
	if a.status != http.StatusUnprocessableEntity {
		return
	}
	for _, f := range a.faults() {
		_, typ, _ := strings.Cut(f, "] ")
		require.NotContains(a.t, schemaTypes, typ, "request: %s, response: %s", sent, a.body)
	}
}

// hasFaultOf is hasFault for the schema of an operation: those of the Authorization API name the fault in a 400.
func (a response) hasFaultOf(op openapi.Operation, loc []any, typ string, sent any) {
	a.t.Helper()
	if !op.AuthZEN {
		a.hasFault(loc, typ, sent)
		return
	}
	a.problem(http.StatusBadRequest, "bad_request")
	name, ok := loc[len(loc)-1].(string)
	require.True(a.t, !ok || strings.Contains(a.string("detail"), name), "request: %s, response: %s", sent, a.body)
}

// hasFault requires that the response reports the fault.
func (a response) hasFault(loc []any, typ string, sent any) {
	a.t.Helper()
	require.Equal(a.t, http.StatusUnprocessableEntity, a.status, "request: %s, response: %s", sent, a.body)
	at, err := json.Marshal(loc)
	require.NoError(a.t, err)
	require.Contains(a.t, a.faults(), string(at)+" "+typ, "request: %s, response: %s", sent, a.body)
}

// Each rule of each request body is tested at its boundary and just outside. make reports lists these tests.
func TestRequestBoundaryValues(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ops := map[string]openapi.Operation{}
	for _, op := range operations() {
		ops[op.ID] = op
	}
	for _, r := range document(t).Requests() {
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			for _, c := range r.Cases {
				body, err := json.Marshal(c.Body)
				require.NoError(t, err)
				a := w.Admin.do(t, ops[r.Operation].Method, concrete(ops[r.Operation]), body)
				switch {
				case len(body) > 64<<10: // a maximum length that only ASCII can reach: the body's own limit comes first
					a.problem(http.StatusRequestEntityTooLarge, "body_too_large")
				case c.Good:
					a.hasNoSchemaFault(body)
				default:
					a.hasFaultOf(ops[r.Operation], c.Loc, c.Type, body)
				}
			}
		})
	}
}

// Each rule of each path and query parameter is tested at its boundary and just outside.
func TestParameterBoundaryValues(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ops := map[string]openapi.Operation{}
	for _, op := range operations() {
		ops[op.ID] = op
	}
	doc := document(t)
	for _, r := range doc.Params() {
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			op := ops[r.Operation]
			ask := func(value string) response {
				if r.In == "path" {
					var body any
					if op.Method == http.MethodPut || op.Method == http.MethodPost { // a body may be required
						body, _ = doc.Example(op.ID)
					}
					return w.Admin.do(t, op.Method, concrete(openapi.Operation{Path: strings.ReplaceAll(op.Path, "{"+r.Param+"}", url.PathEscape(value))}), body)
				}
				return w.Admin.do(t, op.Method, concrete(op)+"?"+url.Values{r.Param: {value}}.Encode(), nil)
			}
			for _, value := range r.Good {
				ask(value).hasNoSchemaFault(value)
			}
			for _, value := range r.Bad {
				ask(value).hasFault([]any{r.In, r.Param}, r.BadWithType, value)
			}
		})
	}
}

// The response shows the default of each omitted field.
func TestDefaultsOfOmittedFields(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.Server.post(t, "/api/v1/actions", object{"key": "pay.plain", "name": "n", "consequence": "c", "allowed_audiences": []string{"a"}}).is(201)
	version := w.Server.post(t, "/api/v1/actions/"+action.string("id")+"/policy-versions", object{"requirements": object{}}).is(201)
	evaluation := w.Server.post(t, "/api/v1/evaluations", object{"name": "n", "action_keys": []string{"pay.plain"}}).is(201)
	subject := w.subject(t)
	token := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example.com"}).is(201)
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201)
	frozen := w.Server.post(t, "/api/v1/subjects/"+subject+"/adaptation/freeze", object{}).is(200)
	for name, c := range map[string]struct{ got, want any }{
		"ActionCreate/proof_ttl_seconds":                action.gotWant("proof_ttl_seconds", 300.0),
		"ActionCreate/resource_type":                    action.gotWant("resource_type", "resource"),
		"ActionCreate/risk_class":                       action.gotWant("risk_class", "high"),
		"PolicyRequirements/coverage_min":               version.gotWant("requirements.coverage_min", "partial"),
		"PolicyRequirements/freshness_max_ms":           version.gotWant("requirements.freshness_max_ms", 60000.0),
		"PolicyRequirements/insufficient_evidence":      version.gotWant("requirements.insufficient_evidence", "challenge"),
		"PolicyRequirements/max_challenges":             version.gotWant("requirements.max_challenges", 2.0),
		"PolicyRequirements/explicit_approval_required": version.gotWant("requirements.explicit_approval_required", false),
		"EvaluationCriteria/min_shadow_decisions":       evaluation.gotWant("success_criteria.min_shadow_decisions", 50.0),
		"EvaluationCriteria/min_outcome_coverage":       evaluation.gotWant("success_criteria.min_outcome_coverage", 0.5),
		"EvaluationCriteria/max_abstention_rate":        evaluation.gotWant("success_criteria.max_abstention_rate", 0.5),
		"ClientTokenCreate/ttl_seconds":                 token.gotWant("ttl_seconds", 900.0),
		"SessionCreate/device_class":                    session.gotWant("device_class", "unknown"),
		"AdaptationFreeze/frozen":                       frozen.gotWant("adaptation_frozen", true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.got)
		})
	}
}

// gotWant pairs the response's value at a path with the expected value.
func (a response) gotWant(path string, want any) struct{ got, want any } {
	return struct{ got, want any }{a.value(path), want}
}
