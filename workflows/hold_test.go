package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

const holdLife = 72 * time.Hour

func holdOf(required int) *holdRecord {
	return newHoldRecord(start.Add(holdLife/2), start.Add(holdLife), required)
}

// runHold runs a hold on a record after asking what the test asks.
func runHold(t *testing.T, r *holdRecord, asking func(env *testsuite.TestWorkflowEnvironment)) (hold.Outcome, *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	env := environment(t, worker.Services{Holds: r})
	asking(env)
	env.ExecuteWorkflow(workflows.NameHold, hold.WorkflowInput{
		Authorization: "azn_1", Environment: "env_1", Action: "payments.transfer", RemindAt: start.Add(holdLife / 2), DueAt: start.Add(holdLife),
	})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out hold.Outcome
	require.NoError(t, env.GetWorkflowResult(&out))
	return out, env
}

var (
	annApproves = workflows.MoveRequest{Request: "0a", Resolution: hold.Approve}
	bobApproves = workflows.MoveRequest{Request: "0b", Resolution: hold.Approve}
	annRejects  = workflows.MoveRequest{Request: "0c", Resolution: hold.Reject}
)

func TestHoldIsApproved(t *testing.T) {
	t.Parallel()
	r := holdOf(1)
	var a *answer
	out, _ := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Hour, workflows.UpdateReview, "u1", annApproves)
	})
	want := hold.Outcome{
		Status: "approved", Authorization: "azn_child", Decision: "allow", Approvals: 1, Required: 1,
		RemindAt: start.Add(holdLife / 2), DueAt: start.Add(holdLife),
	}
	require.Equal(t, want, out)
	require.Equal(t, want, a.result)
	require.Equal(t, []string{"approved"}, r.moves, "no reminder of what is resolved")
}

func TestHoldIsRejected(t *testing.T) {
	t.Parallel()
	r := holdOf(1)
	out, _ := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		ask(env, 40*time.Hour, workflows.UpdateReview, "u1", annRejects)
	})
	require.Equal(t, models.HoldRejected, out.Status)
	require.Equal(t, []string{"reminded", "rejected"}, r.moves)
}

func TestHoldRemindsOnceAndExpires(t *testing.T) {
	t.Parallel()
	r := holdOf(1)
	out, env := runHold(t, r, func(*testsuite.TestWorkflowEnvironment) {})
	require.Equal(t, models.HoldExpired, out.Status, "time never approves")
	require.Equal(t, []string{"reminded", "expired"}, r.moves)
	require.Equal(t, start.Add(holdLife), env.Now().UTC())
}

func TestHoldRequiresDistinctApprovals(t *testing.T) {
	t.Parallel()
	r := holdOf(2)
	var first, again, second *answer
	out, env := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(workflows.AttributeState.ValueSet("partly_approved"))).Return(nil).Twice()
		env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(
			workflows.AttributeState.ValueSet("approved"), workflows.AttributeDecision.ValueSet("allow"))).Return(nil).Once()
		first = ask(env, time.Hour, workflows.UpdateReview, "u1", annApproves)
		again = ask(env, 2*time.Hour, workflows.UpdateReview, "u2", annApproves)
		second = ask(env, 3*time.Hour, workflows.UpdateReview, "u3", bobApproves)
	})
	pending := hold.Outcome{
		Status: "pending", Approvals: 1, Required: 2, RemindAt: start.Add(holdLife / 2), DueAt: start.Add(holdLife),
	}
	require.Equal(t, pending, first.result)
	require.Equal(t, pending, again.result, "one person is one approval")
	require.Equal(t, out, second.result)
	require.Equal(t, 2, out.Approvals)
	require.True(t, env.AssertExpectations(t))
}

func TestHoldOneRejectionOverrulesApprovals(t *testing.T) {
	t.Parallel()
	r := holdOf(2)
	out, _ := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		ask(env, time.Hour, workflows.UpdateReview, "u1", bobApproves)
		ask(env, 2*time.Hour, workflows.UpdateReview, "u2", annRejects)
	})
	require.Equal(t, models.HoldRejected, out.Status)
}

// Of two reviews at the same moment one settles the hold. A review of the other kind is refused; one of the same kind gets
// what the first one got.
func TestHoldRaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second workflows.MoveRequest
		status        string
		code          problem.Code
	}{
		"approve against reject":  {annApproves, annRejects, "approved", problem.ReviewResolved},
		"reject against approve":  {annRejects, bobApproves, "rejected", problem.ReviewResolved},
		"approve against approve": {annApproves, bobApproves, "approved", ""},
		"reject against reject":   {annRejects, workflows.MoveRequest{Request: "0d", Resolution: hold.Reject}, "rejected", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := holdOf(1)
			first, second := &answer{}, &answer{}
			out, _ := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				env.RegisterDelayedCallback(func() {
					askNow(env, first, workflows.UpdateReview, "u1", c.first)
					askNow(env, second, workflows.UpdateReview, "u2", c.second)
				}, time.Hour)
			})
			require.Equal(t, []string{c.status}, r.moves)
			require.Equal(t, out, first.result)
			require.Equal(t, c.code, second.code())
			if c.code == "" {
				require.Equal(t, out, second.result)
			}
		})
	}
}

func TestHoldReviewAgainstExpiry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   time.Duration
		last string
		code problem.Code
	}{
		"a moment before": {holdLife - time.Millisecond, "approved", ""},
		"at the moment":   {holdLife, "expired", problem.ReviewExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := holdOf(1)
			var a *answer
			out, _ := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				a = ask(env, c.at, workflows.UpdateReview, "u1", annApproves)
			})
			require.Equal(t, c.last, string(out.Status))
			require.Equal(t, c.code, a.code())
		})
	}
}

func TestHoldValidatorRefusesInvalidReviews(t *testing.T) {
	t.Parallel()
	for _, m := range []workflows.MoveRequest{{}, {Request: "0a"}, {Request: "0a", Resolution: "maybe"}, {Resolution: hold.Approve}} {
		r := holdOf(1)
		var a *answer
		out, _ := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
			a = ask(env, time.Hour, workflows.UpdateReview, "u1", m)
		})
		require.Equal(t, problem.Conflict, a.code())
		require.Equal(t, models.HoldExpired, out.Status)
	}
}

// A hold waits through an outage of a day and settles after it.
func TestHoldSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	r := holdOf(1)
	r.fault = func(n int) error {
		if n < 3*200 {
			return errUnavailable
		}
		return nil
	}
	var a *answer
	out, env := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Hour, workflows.UpdateReview, "u1", annApproves)
	})
	require.NoError(t, a.err)
	require.Equal(t, models.HoldApproved, out.Status)
	require.Greater(t, env.Now().Sub(start), 10*time.Hour, "it waited longer and longer, and did not spin")
}

// An approval that rests on an altered record waits until it is repaired, and holds up neither a rejection nor the end of the hold.
func TestHoldWithAnAlteredRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(env *testsuite.TestWorkflowEnvironment, r *holdRecord)
		want      models.HoldStatus
		code      problem.Code // of the approval
	}{
		"repaired": {func(env *testsuite.TestWorkflowEnvironment, r *holdRecord) {
			env.RegisterDelayedCallback(func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.altered = false
			}, 2*time.Hour)
		}, models.HoldApproved, ""},
		"rejected": {func(env *testsuite.TestWorkflowEnvironment, _ *holdRecord) {
			ask(env, 2*time.Hour, workflows.UpdateReview, "u2", workflows.MoveRequest{Request: "0d", Resolution: hold.Reject})
		}, models.HoldRejected, problem.ReviewResolved},
		"expired": {func(*testsuite.TestWorkflowEnvironment, *holdRecord) {}, models.HoldExpired, problem.ReviewExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := holdOf(1)
			r.altered = true
			var a *answer
			out, _ := runHold(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				a = ask(env, time.Hour, workflows.UpdateReview, "u1", annApproves)
				c.meanwhile(env, r)
			})
			require.Equal(t, c.want, out.Status)
			require.True(t, a.done)
			require.Equal(t, c.code, a.code())
		})
	}
}
