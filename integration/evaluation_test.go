package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEvaluationLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "shadow", allowing)
	made := w.Server.post(t, "/api/v1/evaluations", object{
		"name": "First week", "action_keys": []string{action}, "success_criteria": object{"min_shadow_decisions": 2, "min_outcome_coverage": 0, "max_abstention_rate": 1},
	}).is(201)
	path := "/api/v1/evaluations/" + made.string("id")
	require.Equal(t, "open", w.Server.get(t, path).is(200).string("status"))
	for range 2 {
		w.authorize(t, w.subject(t), action, "allow")
	}
	require.Equal(t, "in_progress", w.Server.get(t, path+"/report").is(200).string("result"))
	closed := w.Server.post(t, path+"/close", nil)
	require.Contains(t, []int{200, 202}, closed.status, "response: %s", closed.body)
	eventually(t, func() bool { return w.Server.get(t, path).is(200).string("status") == "closed" }, "the evaluation closes")
	report := w.Server.get(t, path+"/report").is(200)
	require.Equal(t, "passed", report.string("result"))
	require.InDelta(t, 2, report.value("metrics.decisions"), 0)
	w.Server.post(t, path+"/close", nil).problem(409, "evaluation_closed")
	require.NotEmpty(t, w.Server.post(t, "/api/v1/evaluations", object{"name": "n", "action_keys": []string{"un.known"}}).faults())
}
