package integration_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decisions are the booleans of a batch.
func (a response) decisions() []bool {
	a.t.Helper()
	var body struct {
		Evaluations []struct {
			Decision *bool `json:"decision"`
		} `json:"evaluations"`
	}
	a.is(200).into(&body)
	out := []bool{}
	for _, e := range body.Evaluations {
		require.NotNil(a.t, e.Decision, "response: %s", a.body)
		out = append(out, *e.Decision)
	}
	return out
}

func TestAccessEvaluationsMergeDefaults(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, yes := w.action(t, "enforce", allowing)
	_, no := w.action(t, "enforce", denying)
	subject := w.subject(t)
	item := func(action string) object { return object{"action": object{"name": action}} }
	a := w.Server.post(t, accessBatch, with(access(subject, yes), object{"evaluations": []object{
		{}, item(no), item(yes), {"subject": object{"type": "user", "id": "unknown"}}, {"resource": object{"id": "2"}},
		{"subject": object{"id": "unknown"}}, {"subject": "alice"}, {"action": object{"name": 1}},
	}}))
	require.Equal(t, []bool{true, false, true, false, true, false, false, false}, a.decisions(), "response: %s", a.body)
	a = w.Server.post(t, accessBatch, object{"evaluations": []object{access(subject, yes), {}}})
	require.Equal(t, []bool{true, false}, a.decisions())
	require.Contains(t, string(a.body), `"bad_request"`)
}

// A member of an evaluation replaces the default as a whole, but for what it must have: its type, id or name.
func TestAccessEvaluationsReplaceDefaultsAsAWhole(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, action := w.action(t, "enforce", allowing)
	path := "/api/v1/actions/" + id + "/policy-versions"
	w.Server.post(t, path, object{"requirements": allowing, "context_schema": object{"maxProperties": 1}}).is(201)
	w.Server.post(t, path+"/2/activate", nil).is(200)
	body := with(access(w.subject(t), action), object{
		"resource": object{"type": "resource", "id": "1", "properties": object{"a": 1}}, "context": object{"b": 1},
		"evaluations": []object{
			{}, // both properties and context: two members
			{"resource": object{"id": "1"}},
			{"context": object{}},
		},
	})
	require.Equal(t, []bool{false, true, true}, w.Server.post(t, accessBatch, body).decisions())
}

func TestAccessEvaluationsSemantics(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, yes := w.action(t, "enforce", allowing)
	_, no := w.action(t, "enforce", denying)
	subject := w.subject(t)
	ask := func(options object, names ...string) response {
		var list []object
		for _, name := range names {
			list = append(list, object{"action": object{"name": name}})
		}
		body := with(access(subject, yes), object{"evaluations": list, "options": options})
		return w.Server.post(t, accessBatch, body)
	}
	by := func(semantic string) object {
		return object{"evaluations_semantic": semantic, "another_option": "value"}
	}
	require.Equal(t, []bool{true, false, true}, ask(object{}, yes, no, yes).decisions())
	require.Equal(t, []bool{true, false, true}, ask(by("execute_all"), yes, no, yes).decisions())
	require.Equal(t, []bool{true, false}, ask(by("deny_on_first_deny"), yes, no, yes).decisions())
	require.Equal(t, []bool{true, false}, ask(by("deny_on_first_deny"), yes, "unknown", yes).decisions(), "an error is a denial")
	require.Equal(t, []bool{true}, ask(by("permit_on_first_permit"), yes, no, yes).decisions())
	require.Equal(t, []bool{false, true}, ask(by("permit_on_first_permit"), no, yes, yes).decisions())
	ask(by("first"), yes).problem(400, "bad_request")
	require.Equal(t, 12, count(t, "select count(*) from authorizations where environment_id = $1", w.ID), "what was not executed was not decided")
}

func TestAccessEvaluationsWithoutAListAreOneEvaluation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := access(w.subject(t), action)
	require.Equal(t, true, w.Server.post(t, accessBatch, body).is(200).value("decision"))
	require.Equal(t, true, w.Server.post(t, accessBatch, with(body, object{"evaluations": []object{}})).is(200).value("decision"))
	w.Server.post(t, accessBatch, object{"evaluations": []object{}}).problem(400, "bad_request")
	w.Server.post(t, accessBatch, object{"subject": "alice"}).problem(400, "bad_request")
	w.Server.post(t, accessBatch, with(body, object{"evaluations": []int{1}})).problem(400, "bad_request")
}

// A batch costs as much of the quota as its evaluations, and has a limit.
func TestAccessEvaluationsAreLimited(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := access(w.subject(t), action)
	list := func(n int) object { return with(body, object{"evaluations": make([]object, n)}) }
	fill := func(o object) []byte {
		raw, err := json.Marshal(o)
		require.NoError(t, err)
		return []byte(strings.ReplaceAll(string(raw), "null", "{}"))
	}
	w.Server.post(t, accessBatch, fill(list(51))).problem(400, "bad_request")
	three := 3
	limited := caller{base: shared.baseURL, key: w.issue(t, "server", &three)}
	a := limited.post(t, accessBatch, fill(list(5)))
	require.Equal(t, []bool{true, true, true, false, false}, a.decisions())
	require.Contains(t, string(a.body), `"rate_limited"`)
	limited.post(t, accessBatch, fill(list(1))).problem(429, "rate_limited")
}
