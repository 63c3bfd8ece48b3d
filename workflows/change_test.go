package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

const changeLife = 24 * time.Hour

// changeRecord behaves as internal/authz/change does on its row. The actor ann is the requester.
type changeRecord struct {
	mu      sync.Mutex
	status  models.ChangeStatus
	expires time.Time
	stale   bool
	moves   []string
	fault   func(n int) error
	lost    int // results that are lost
	calls   int
}

func newChangeRecord(expires time.Time) *changeRecord {
	return &changeRecord{status: models.ChangePending, expires: expires}
}

func (r *changeRecord) Decide(_ context.Context, m change.Move) (change.Outcome, error) {
	return r.call(func() (change.Outcome, error) {
		to := map[string]models.ChangeStatus{
			change.Approve: models.ChangeApproved, change.Reject: models.ChangeRejected, change.Withdraw: models.ChangeWithdrawn,
		}[m.Resolution]
		switch {
		case r.status == to:
			return r.outcome(), nil
		case r.status != models.ChangePending:
			return r.outcome(), problem.New(problem.ChangeSettled, "settled")
		case !m.At.Before(r.expires):
			return r.outcome(), problem.New(problem.ChangeExpired, "expired")
		case (m.Actor == "ann") != (m.Resolution == change.Withdraw):
			return r.outcome(), problem.New(problem.SelfApproval, "the requester")
		case r.stale && to == models.ChangeApproved:
			to = models.ChangeSuperseded
		}
		r.status = to
		r.moves = append(r.moves, string(to))
		return r.outcome(), nil
	})
}

func (r *changeRecord) Expire(_ context.Context, m change.Move) (change.Outcome, error) {
	return r.call(func() (change.Outcome, error) {
		if r.status == models.ChangePending && !m.At.Before(r.expires) {
			r.status = models.ChangeExpired
			r.moves = append(r.moves, "expired")
		}
		return r.outcome(), nil
	})
}

func (r *changeRecord) call(f func() (change.Outcome, error)) (change.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.calls
	r.calls++
	if r.fault != nil {
		if err := r.fault(n); err != nil {
			return change.Outcome{}, err
		}
	}
	out, err := f()
	if r.lost--; r.lost >= 0 {
		return change.Outcome{}, errUnavailable
	}
	return out, err
}

func (r *changeRecord) outcome() change.Outcome {
	return change.Outcome{Status: r.status, ExpiresAt: r.expires}
}

// runChange runs a change request on a record after asking what the test asks.
func runChange(t *testing.T, r *changeRecord, asking func(env *testsuite.TestWorkflowEnvironment)) (change.Outcome, *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	env := environment(t, worker.Services{Changes: r})
	asking(env)
	env.ExecuteWorkflow(workflows.NameChange, change.WorkflowInput{
		Change: "chg_1", Environment: "env_1", Kind: "policy.activate", Action: "payments.transfer", ExpiresAt: start.Add(changeLife),
	})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out change.Outcome
	require.NoError(t, env.GetWorkflowResult(&out))
	return out, env
}

func decides(actor, resolution string) workflows.MoveRequest {
	return workflows.MoveRequest{Actor: actor, Resolution: resolution, RequestID: "req_1"}
}

func TestChangeIsDecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision workflows.MoveRequest
		stale    bool
		status   models.ChangeStatus
	}{
		"approved":   {decides("bob", change.Approve), false, models.ChangeApproved},
		"superseded": {decides("bob", change.Approve), true, models.ChangeSuperseded},
		"rejected":   {decides("bob", change.Reject), false, models.ChangeRejected},
		"withdrawn":  {decides("ann", change.Withdraw), false, models.ChangeWithdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newChangeRecord(start.Add(changeLife))
			r.stale = c.stale
			var a *answer
			out, env := runChange(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				a = ask(env, time.Hour, workflows.UpdateDecide, "u1", c.decision)
			})
			require.Equal(t, c.status, out.Status)
			require.Equal(t, out, a.result)
			require.Equal(t, []string{string(c.status)}, r.moves)
			require.Less(t, env.Now().Sub(start), changeLife)
		})
	}
}

func TestChangeExpiresUnlessDecidedInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at     time.Duration
		status models.ChangeStatus
		code   problem.Code
	}{
		"a moment before": {changeLife - time.Millisecond, models.ChangeApproved, ""},
		"at the moment":   {changeLife, models.ChangeExpired, problem.ChangeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newChangeRecord(start.Add(changeLife))
			var a *answer
			out, _ := runChange(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				a = ask(env, c.at, workflows.UpdateDecide, "u1", decides("bob", change.Approve))
			})
			require.Equal(t, c.status, out.Status)
			require.Equal(t, c.code, a.code())
		})
	}
}

func TestChangeRefusalLeavesItPending(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]workflows.MoveRequest{
		"by the requester": decides("ann", change.Approve), "without actor": decides("", change.Approve), "unknown resolution": decides("bob", "maybe"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newChangeRecord(start.Add(changeLife))
			var refused, a *answer
			out, _ := runChange(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				refused = ask(env, time.Hour, workflows.UpdateDecide, "u1", m)
				a = ask(env, 2*time.Hour, workflows.UpdateDecide, "u2", decides("bob", change.Approve))
			})
			require.NotEmpty(t, refused.code())
			require.NoError(t, a.err)
			require.Equal(t, models.ChangeApproved, out.Status)
		})
	}
}

// Of two decisions at the same moment one settles the change request. A different one is refused; the same one gets its result.
func TestChangeRaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second workflows.MoveRequest
		status        models.ChangeStatus
		code          problem.Code
	}{
		"approve against reject":   {decides("bob", change.Approve), decides("cat", change.Reject), models.ChangeApproved, problem.ChangeSettled},
		"reject against approve":   {decides("cat", change.Reject), decides("bob", change.Approve), models.ChangeRejected, problem.ChangeSettled},
		"withdraw against approve": {decides("ann", change.Withdraw), decides("bob", change.Approve), models.ChangeWithdrawn, problem.ChangeSettled},
		"approve against approve":  {decides("bob", change.Approve), decides("cat", change.Approve), models.ChangeApproved, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newChangeRecord(start.Add(changeLife))
			first, second := &answer{}, &answer{}
			out, _ := runChange(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				env.RegisterDelayedCallback(func() {
					askNow(env, first, workflows.UpdateDecide, "u1", c.first)
					askNow(env, second, workflows.UpdateDecide, "u2", c.second)
				}, time.Hour)
			})
			require.Equal(t, []string{string(c.status)}, r.moves)
			require.Equal(t, out, first.result)
			require.Equal(t, c.code, second.code())
		})
	}
}

// A decision that is repeated at the deadline, while the first is still being made, gets the result of the first.
func TestChangeDecisionIsRepeatedAtTheDeadline(t *testing.T) {
	t.Parallel()
	r := newChangeRecord(start.Add(changeLife))
	r.lost = 20
	var first, second *answer
	out, _ := runChange(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		first = ask(env, changeLife-time.Second, workflows.UpdateDecide, "u1", decides("bob", change.Approve))
		second = ask(env, changeLife+time.Second, workflows.UpdateDecide, "u2", decides("bob", change.Approve))
	})
	require.NoError(t, first.err)
	require.NoError(t, second.err)
	require.Equal(t, models.ChangeApproved, out.Status)
	require.Equal(t, out, second.result)
}

func TestChangeSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	r := newChangeRecord(start.Add(changeLife))
	r.fault = func(n int) error {
		if n < 3*100 {
			return errUnavailable
		}
		return nil
	}
	var a *answer
	out, _ := runChange(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Hour, workflows.UpdateDecide, "u1", decides("bob", change.Approve))
	})
	require.NoError(t, a.err)
	require.Equal(t, models.ChangeApproved, out.Status)
}

func changeScenarios() map[string]func() scenario {
	of := func(life time.Duration, drive func(t *testing.T, c *workflows.Client, run change.WorkflowInput)) func() scenario {
		return func() scenario {
			expires := time.Now().UTC().Add(life)
			run := change.WorkflowInput{Change: "chg_1", Environment: "env_1", Kind: "policy.activate", Action: "payments.transfer", ExpiresAt: expires}
			return scenario{
				id: workflows.ChangeID("chg_1"), services: worker.Services{Changes: newChangeRecord(expires)},
				drive: func(t *testing.T, c *workflows.Client) { drive(t, c, run) },
			}
		}
	}
	return map[string]func() scenario{
		"change-expired": of(soon, func(t *testing.T, c *workflows.Client, run change.WorkflowInput) {
			require.NoError(t, c.StartChange(t.Context(), run))
		}),
		"change-approved-after-a-refusal": of(distant, func(t *testing.T, c *workflows.Client, run change.WorkflowInput) {
			require.NoError(t, c.StartChange(t.Context(), run))
			_, err := c.DecideChange(t.Context(), run, change.Decision{Resolution: change.Approve, Actor: "ann", RequestID: "req_1"})
			require.True(t, problem.Is(err, problem.SelfApproval), "%v", err)
			_, err = c.DecideChange(t.Context(), run, change.Decision{Resolution: change.Approve, Actor: "bob", RequestID: "req_2"})
			require.NoError(t, err)
		}),
		"change-rejected-by-its-start": of(distant, func(t *testing.T, c *workflows.Client, run change.WorkflowInput) {
			_, err := c.DecideChange(t.Context(), run, change.Decision{Resolution: change.Reject, Actor: "bob", RequestID: "req_1"})
			require.NoError(t, err)
		}),
	}
}
