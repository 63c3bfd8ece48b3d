package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// runEscalating runs a hold that escalates after a delay.
func runEscalating(t *testing.T, after time.Duration, asking func(env *testsuite.TestWorkflowEnvironment)) (hold.Outcome, *holdRecord) {
	t.Helper()
	r := holdOf(1)
	r.escalate = start.Add(after)
	env := environment(t, worker.Services{Holds: r})
	asking(env)
	env.ExecuteWorkflow(workflows.NameHold, hold.WorkflowInput{
		Authorization: "azn_1", Environment: "env_1", Action: "payments.transfer",
		RemindAt: start.Add(holdLife / 2), DueAt: start.Add(holdLife), EscalateAt: start.Add(after),
	})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out hold.Outcome
	require.NoError(t, env.GetWorkflowResult(&out))
	return out, r
}

func TestHoldEscalatesOnceAndIsNeverApprovedByTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		moves []string
	}{
		"before the reminder": {time.Hour, []string{"escalated", "reminded", "expired"}},
		"after the reminder":  {40 * time.Hour, []string{"reminded", "escalated", "expired"}},
		"not before it is due": {
			holdLife, []string{"reminded", "expired"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, r := runEscalating(t, c.after, func(*testsuite.TestWorkflowEnvironment) {})
			require.Equal(t, models.HoldExpired, out.Status)
			require.Equal(t, c.moves, r.moves)
		})
	}
}

func TestHoldIsApprovedAfterItsEscalation(t *testing.T) {
	t.Parallel()
	var a *answer
	out, r := runEscalating(t, time.Hour, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, 2*time.Hour, workflows.UpdateReview, "u1", annApproves)
	})
	require.Equal(t, models.HoldApproved, out.Status)
	require.Equal(t, out, a.result)
	require.Equal(t, []string{"escalated", "approved"}, r.moves)
}
