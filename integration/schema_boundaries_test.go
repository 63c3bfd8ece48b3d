package integration_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/api/openapi/edges"
)

// schemaTypes are the types of faults that come from a schema. A body that keeps the schema may still be refused for what no
// schema can say, such as an unknown reason code.
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

// keepsSchema requires that the answer blames no schema.
func (a answer) keepsSchema(sent any) {
	a.t.Helper()
	require.Less(a.t, a.status, 500, "sent: %s, answered: %s", sent, a.body)
	if a.status != http.StatusUnprocessableEntity {
		return
	}
	for _, f := range a.faults() {
		_, typ, _ := strings.Cut(f, "] ")
		require.NotContains(a.t, schemaTypes, typ, "sent: %s, answered: %s", sent, a.body)
	}
}

// blames requires that the answer names the fault.
func (a answer) blames(loc []any, typ string, sent any) {
	a.t.Helper()
	require.Equal(a.t, http.StatusUnprocessableEntity, a.status, "sent: %s, answered: %s", sent, a.body)
	at, err := json.Marshal(loc)
	require.NoError(a.t, err)
	require.Contains(a.t, a.faults(), string(at)+" "+typ, "sent: %s, answered: %s", sent, a.body)
}

// Every rule of every request body, at its edge and just outside. docs/contract.md points here.
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
				if c.Good {
					a.keepsSchema(body)
				} else {
					a.blames(c.Loc, c.Type, body)
				}
			}
		})
	}
}

// Every rule of every parameter in a path or a query.
func TestParameterBoundaryValues(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ops := map[string]openapi.Operation{}
	for _, op := range operations() {
		ops[op.ID] = op
	}
	for _, r := range document(t).Params() {
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			op := ops[r.Operation]
			ask := func(value string) answer {
				if r.In == "path" {
					return w.Admin.do(t, op.Method, concrete(openapi.Operation{Path: strings.ReplaceAll(op.Path, "{"+r.Param+"}", url.PathEscape(value))}), nil)
				}
				return w.Admin.do(t, op.Method, concrete(op)+"?"+url.Values{r.Param: {value}}.Encode(), nil)
			}
			for _, value := range r.Good {
				ask(value).keepsSchema(value)
			}
			for _, value := range r.Bad {
				ask(value).blames([]any{r.In, r.Param}, r.BadWithType, value)
			}
		})
	}
}

// defaults: what an omitted field is taken for shows in the answer.
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
		"ActionCreate/proof_ttl_seconds":                action.pair("proof_ttl_seconds", 300.0),
		"ActionCreate/resource_type":                    action.pair("resource_type", "resource"),
		"ActionCreate/risk_class":                       action.pair("risk_class", "high"),
		"PolicyRequirements/coverage_min":               version.pair("requirements.coverage_min", "partial"),
		"PolicyRequirements/freshness_max_ms":           version.pair("requirements.freshness_max_ms", 60000.0),
		"PolicyRequirements/insufficient_evidence":      version.pair("requirements.insufficient_evidence", "challenge"),
		"PolicyRequirements/max_challenges":             version.pair("requirements.max_challenges", 2.0),
		"PolicyRequirements/explicit_approval_required": version.pair("requirements.explicit_approval_required", false),
		"EvaluationCriteria/min_shadow_decisions":       evaluation.pair("success_criteria.min_shadow_decisions", 50.0),
		"EvaluationCriteria/min_outcome_coverage":       evaluation.pair("success_criteria.min_outcome_coverage", 0.5),
		"EvaluationCriteria/max_abstention_rate":        evaluation.pair("success_criteria.max_abstention_rate", 0.5),
		"ClientTokenCreate/ttl_seconds":                 token.pair("ttl_seconds", 900.0),
		"SessionCreate/device_class":                    session.pair("device_class", "unknown"),
		"AdaptationFreeze/frozen":                       frozen.pair("adaptation_frozen", true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.got)
		})
	}
}

// pair is what the answer has at a path, and what it should have.
func (a answer) pair(path string, want any) struct{ got, want any } {
	return struct{ got, want any }{a.value(path), want}
}
