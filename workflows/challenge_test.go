package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

const challengeLife = 5 * time.Minute

var errUnavailable = errors.New("the database is unavailable")

// runChallenge runs a challenge on a record after asking what the test asks.
func runChallenge(t *testing.T, r *challengeRecord, asking func(env *testsuite.TestWorkflowEnvironment)) (challenge.Outcome, *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	env := environment(t, worker.Services{Challenges: r})
	asking(env)
	env.ExecuteWorkflow(workflows.NameChallenge, challenge.WorkflowInput{
		Challenge: "chl_1", Authorization: "azn_1", Environment: "env_1", Action: "payments.transfer", ExpiresAt: start.Add(challengeLife),
	})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var out challenge.Outcome
	require.NoError(t, env.GetWorkflowResult(&out))
	return out, env
}

func complete(request string) workflows.MoveRequest {
	return workflows.MoveRequest{Request: request}
}

func TestChallengeCompletes(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	var a *answer
	out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Minute, workflows.UpdateComplete, "u1", complete("0a"))
	})
	want := challenge.Outcome{
		Status: "completed", Authorization: "azn_child", Decision: "allow", ExpiresAt: start.Add(challengeLife),
	}
	require.Equal(t, want, out)
	require.NoError(t, a.err)
	require.Equal(t, want, a.result)
	require.Equal(t, []string{"completed"}, r.moves)
}

func TestChallengeCancels(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		ask(env, time.Minute, workflows.UpdateCancel, "u1", complete("0a"))
	})
	require.Equal(t, challenge.Outcome{Status: "cancelled", ExpiresAt: start.Add(challengeLife)}, out)
}

func TestChallengeExpiresByTimer(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	out, env := runChallenge(t, r, func(*testsuite.TestWorkflowEnvironment) {})
	require.Equal(t, models.ChallengeExpired, out.Status)
	require.Equal(t, start.Add(challengeLife), env.Now().UTC(), "not before it is due, and not long after")
	require.Equal(t, 1, r.calls, "nothing is done while nothing happens")
}

// Auditors find workflows by their state.
func TestChallengeStateIsASearchAttribute(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	_, env := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(
			workflows.AttributeState.ValueSet("completed"), workflows.AttributeDecision.ValueSet("allow"))).Return(nil).Once()
		ask(env, time.Minute, workflows.UpdateComplete, "u1", complete("0a"))
	})
	require.True(t, env.AssertExpectations(t))
}

// Every order of two moves at the same moment ends in one outcome, and the losing move is refused.
func TestChallengeRaces(t *testing.T) {
	t.Parallel()
	moves := map[string]struct{ update, status string }{
		"complete": {workflows.UpdateComplete, "completed"},
		"cancel":   {workflows.UpdateCancel, "cancelled"},
	}
	for _, pair := range [][2]string{{"complete", "cancel"}, {"cancel", "complete"}, {"complete", "complete"}, {"cancel", "cancel"}} {
		t.Run(pair[0]+" against "+pair[1], func(t *testing.T) {
			t.Parallel()
			r := newChallengeRecord(start.Add(challengeLife))
			first, second := &answer{}, &answer{}
			out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				env.RegisterDelayedCallback(func() {
					askNow(env, first, moves[pair[0]].update, "u1", complete("0a"))
					askNow(env, second, moves[pair[1]].update, "u2", complete("0b"))
				}, time.Minute)
			})
			require.Equal(t, moves[pair[0]].status, string(out.Status))
			require.Len(t, r.moves, 1)
			require.NoError(t, first.err)
			require.Equal(t, problem.ChallengeClosed, second.code())
		})
	}
}

func TestChallengeMoveAgainstExpiry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at     time.Duration
		status string
		code   problem.Code
	}{
		"a moment before": {challengeLife - time.Millisecond, "completed", ""},
		"at the moment":   {challengeLife, "expired", problem.ChallengeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newChallengeRecord(start.Add(challengeLife))
			var a *answer
			out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
				a = ask(env, c.at, workflows.UpdateComplete, "u1", complete("0a"))
			})
			require.Equal(t, c.status, string(out.Status))
			require.Equal(t, c.code, a.code())
			require.Len(t, r.moves, 1)
		})
	}
}

// A refused move leaves the challenge as it was: the next may complete it.
func TestChallengeRefusalSettlesNothing(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	var refused, accepted *answer
	out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		refused = ask(env, time.Minute, workflows.UpdateComplete, "u1", complete("0bad"))
		accepted = ask(env, 2*time.Minute, workflows.UpdateComplete, "u2", complete("0a"))
	})
	require.Equal(t, problem.AssertionRefused, refused.code())
	require.NoError(t, accepted.err)
	require.Equal(t, models.ChallengeCompleted, out.Status)
}

func TestChallengeValidatorRefusesARequestWithoutDigest(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	var a *answer
	_, _ = runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Minute, workflows.UpdateComplete, "u1", complete(""))
	})
	require.Equal(t, problem.Conflict, a.code())
	require.Error(t, a.rejected, "a validator leaves no trace in the history")
	require.Equal(t, []string{"expired"}, r.moves)
}

// The update returns its outcome once the database is back, and never the outage.
func TestChallengeUpdateReturnsAfterOutage(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	r.fault = func(n int) error {
		if n < 12 {
			return errUnavailable
		}
		return nil
	}
	var a *answer
	out, env := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Minute, workflows.UpdateComplete, "u1", complete("0a"))
	})
	require.NoError(t, a.err)
	require.Equal(t, models.ChallengeCompleted, out.Status)
	require.Equal(t, []string{"completed"}, r.moves)
	require.True(t, env.Now().After(start.Add(time.Minute)))
}

// What was in time when it was asked may be too late when it can be done: the time is looked at anew.
func TestChallengeOutagePastExpiry(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	r.fault = func(n int) error {
		if n < 3*40 {
			return errUnavailable
		}
		return nil
	}
	var a *answer
	out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Minute, workflows.UpdateComplete, "u1", complete("0a"))
	})
	require.Equal(t, problem.ChallengeExpired, a.code())
	require.Equal(t, models.ChallengeExpired, out.Status)
	require.Equal(t, []string{"expired"}, r.moves)
}

// An activity that dies after its commit is tried again and finds its own work.
func TestChallengeRetriesActivityThatDiedAfterCommit(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	r.after = func(n int) error {
		if n == 0 {
			return errUnavailable
		}
		return nil
	}
	var a *answer
	out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		a = ask(env, time.Minute, workflows.UpdateComplete, "u1", complete("0a"))
	})
	require.NoError(t, a.err)
	require.Equal(t, "azn_child", out.Authorization)
	require.Equal(t, []string{"completed"}, r.moves)
}

// A move that waits behind another is made after it or refused, never at the same time.
func TestChallengeSerialisesMoves(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	r.fault = func(n int) error {
		if n < 6 {
			return errUnavailable
		}
		return nil
	}
	first, second := &answer{}, &answer{}
	out, _ := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			askNow(env, first, workflows.UpdateComplete, "u1", complete("0a"))
			askNow(env, second, workflows.UpdateCancel, "u2", complete("0b"))
		}, time.Minute)
	})
	require.Equal(t, models.ChallengeCompleted, out.Status)
	require.NoError(t, first.err)
	require.Equal(t, problem.ChallengeClosed, second.code())
	require.True(t, second.done, "the workflow ends only when every update has returned")
}

// A recovery voids open challenges in the database; the workflow is signaled and closes.
func TestChallengeSettledOutsideItsWorkflow(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	out, env := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			r.settle(models.ChallengeCancelled)
			env.SignalWorkflow(workflows.SignalSettled, nil)
		}, time.Minute)
	})
	require.Equal(t, models.ChallengeCancelled, out.Status)
	require.Equal(t, start.Add(time.Minute), env.Now().UTC())
}

// A signal that was sent for nothing changes nothing.
func TestChallengeSignalledWhileOpen(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(challengeLife))
	out, env := runChallenge(t, r, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalSettled, nil) }, time.Minute)
	})
	require.Equal(t, models.ChallengeExpired, out.Status)
	require.Equal(t, start.Add(challengeLife), env.Now().UTC())
}

// The row says when it expires; a run that was started with another time follows the row.
func TestChallengeAdoptsExpiryOfItsRow(t *testing.T) {
	t.Parallel()
	r := newChallengeRecord(start.Add(2 * challengeLife))
	out, env := runChallenge(t, r, func(*testsuite.TestWorkflowEnvironment) {})
	require.Equal(t, models.ChallengeExpired, out.Status)
	require.Equal(t, start.Add(2*challengeLife), env.Now().UTC())
}
