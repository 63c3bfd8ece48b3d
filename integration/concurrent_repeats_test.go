package integration_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/countersign-dev/countersign/workflows"
)

// sendHundred sends the same request a hundred times at once. It retries those that got a Retry-After because the service was
// busy or the first request was still in flight. All must get the same body. Tests that call it do not run in parallel, since
// they use the whole capacity of the service.
func sendHundred(t *testing.T, c caller, path string, body object, status int) response {
	t.Helper()
	const n = 100
	answers, errs := make([]response, n), make([]error, n)
	waiting := make([]int, n)
	for i := range waiting {
		waiting[i] = i
	}
	for len(waiting) > 0 {
		require.NoError(t, t.Context().Err())
		concurrently(len(waiting), func(k int) { i := waiting[k]; answers[i], errs[i] = c.send("POST", path, body) })
		waiting = slices.DeleteFunc(waiting, func(i int) bool { return errs[i] != nil || answers[i].header.Get("Retry-After") == "" })
		for _, i := range waiting {
			answers[i].t = t
			require.Contains(t, []string{"idempotency_in_flight", "unavailable"}, answers[i].string("code"))
		}
	}
	for i := range answers {
		require.NoError(t, errs[i])
		answers[i].t = t
		answers[i].is(status)
		require.Equal(t, string(answers[0].body), string(answers[i].body), "the bodies are identical")
	}
	return answers[0]
}

// workflowRuns counts the runs of a workflow id, closed ones included.
func workflowRuns(t *testing.T, id string) int {
	t.Helper()
	list, err := shared.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: shared.namespace, Query: "WorkflowId = '" + id + "'",
	})
	require.NoError(t, err)
	return len(list.GetExecutions())
}

// requireOneRun waits until a run of the workflow id is listed and requires that it is the only one.
func requireOneRun(t *testing.T, id string) {
	t.Helper()
	eventually(t, func() bool { return workflowRuns(t, id) > 0 }, "the run is listed")
	require.Equal(t, 1, workflowRuns(t, id))
}

func TestAuthorizeConcurrentRepeatsDecideOnce(t *testing.T) {
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := request(w.subject(t), action)
	require.Equal(t, "allow", sendHundred(t, w.Server, "/api/v1/authorize", body, 200).string("decision"))
	require.Equal(t, 1, count(t, "select count(*) from authorizations where environment_id = $1", w.ID))
	require.Equal(t, 1, count(t, "select count(*) from proofs where environment_id = $1", w.ID))
	require.Equal(t, "true", w.Server.post(t, "/api/v1/authorize", body).is(200).header.Get("Idempotent-Replayed"))
}

func TestIdempotencyKeyConcurrentRequestsCreateOneRow(t *testing.T) {
	w := newSandbox(t)
	_, action := w.action(t, "shadow", allowing)
	for path, made := range map[string]struct {
		body  object
		table string
	}{
		"/api/v1/sessions":    {object{"subject": w.subject(t)}, "sessions"},
		"/api/v1/evaluations": {object{"name": "e", "action_keys": []string{action}}, "evaluations"},
	} {
		one := sendHundred(t, w.Server.with("Idempotency-Key", "make-"+unique()), path, made.body, 201)
		require.Equal(t, 1, count(t, "select count(*) from "+made.table+" where environment_id = $1", w.ID), path)
		if made.table == "evaluations" {
			requireOneRun(t, workflows.EvaluationID(one.string("id")))
		}
	}
}

// A hundred identical authorize requests open one challenge with one workflow run. A hundred identical completions make one
// decision and one proof, in the same workflow run.
func TestChallengeConcurrentRepeatsCompleteOnce(t *testing.T) {
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	asked := sendHundred(t, w.Server, "/api/v1/authorize", request(w.subject(t), action), 200)
	require.Equal(t, "challenge", asked.string("decision"))
	require.Equal(t, 1, count(t, "select count(*) from authorizations where environment_id = $1", w.ID))
	require.Equal(t, 1, count(t, "select count(*) from challenges where environment_id = $1", w.ID))
	challenge := asked.string("challenge.id")
	run := workflows.ChallengeID(challenge)
	requireOneRun(t, run)

	receipt := sendHundred(t, w.Server, "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"}, 200)
	child := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200)
	require.Equal(t, asked.string("id"), child.string("parent"))
	require.Equal(t, 2, count(t, "select count(*) from authorizations where environment_id = $1", w.ID), "the parent and its follow-up decision")
	require.Equal(t, 1, count(t, "select count(*) from proofs where environment_id = $1", w.ID))
	require.Equal(t, 1, workflowRuns(t, run))
}

func TestHoldConcurrentRepeatsOpenOnce(t *testing.T) {
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	asked := sendHundred(t, w.Server, "/api/v1/authorize", request(w.subject(t), action), 200)
	require.Equal(t, "hold", asked.string("decision"))
	require.Equal(t, 1, count(t, "select count(*) from authorizations where environment_id = $1", w.ID))
	requireOneRun(t, workflows.HoldID(asked.string("id")))
}
