package worker_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// outcome is the response to one caller of a race.
type outcome struct {
	wanted string // the requested status
	got    string // the returned status; empty if refused
	err    error
}

// race sends every request at once, each several times, and returns what each caller received.
func race(asks map[string]func() (string, error), each int) []outcome {
	var all sync.WaitGroup
	var mu sync.Mutex
	var told []outcome
	for wanted, ask := range asks {
		for range each {
			all.Go(func() {
				got, err := ask()
				mu.Lock()
				defer mu.Unlock()
				told = append(told, outcome{wanted, got, err})
			})
		}
	}
	all.Wait()
	return told
}

// requireTruthful compares what callers received with the record. A success must match both the request and the record. Other
// requests must be refused with one of the codes, or with ErrClosed if the workflow has closed. Unavailable is always allowed,
// since a loaded machine may be too slow.
func requireTruthful(t *testing.T, told []outcome, status string, codes ...problem.Code) {
	t.Helper()
	for _, v := range told {
		if v.err == nil {
			require.Equal(t, status, v.wanted, "%+v", v)
			require.Equal(t, status, v.got)
			continue
		}
		if problem.Is(v.err, problem.Unavailable) {
			continue
		}
		p := problem.As(v.err)
		refused := p != nil && v.wanted != status
		if refused {
			require.Contains(t, codes, p.Code)
		}
		require.True(t, refused || errors.Is(v.err, durable.ErrClosed), "the record is %s; %s was requested: %v", status, v.wanted, v.err)
	}
}

// waitForDeadline waits until 30 ms before the record's deadline.
func (b *bundle) waitForDeadline(t *testing.T, due, id string) {
	t.Helper()
	b.eventually(t, 1, "select count(*) from "+due+" <= clock_timestamp() + interval '30 milliseconds'", id)
}

// An approval, a rejection and the deadline coincide. One outcome is recorded, and no caller receives another.
func TestHoldRaceHasOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	const rounds = 6
	for range rounds {
		b.Now = clock.System().Now()
		h := b.Hold(time.Second, 1)
		in, _, err := b.holds.WorkflowInput(t.Context(), h.EnvironmentID, h.AuthorizationID)
		require.NoError(t, err)
		require.NoError(t, b.runs.StartHold(t.Context(), in))
		review := func(reviewer, resolution, status string) func() (string, error) {
			return func() (string, error) {
				done, err := hold.NewReviewer(b.holds, b.runs).Review(t.Context(), b.Principal(reviewer), h.AuthorizationID, hold.Vote{Resolution: resolution})
				if err == nil && done.Pending != nil {
					return "", problem.NewUnavailable("not finished in time", nil)
				}
				return status, err
			}
		}
		b.waitForDeadline(t, "holds where authorization_id = $1 and due_at", h.AuthorizationID)
		told := race(map[string]func() (string, error){
			"approved": review("crd_ann", hold.Approve, "approved"), "rejected": review("crd_bob", hold.Reject, "rejected"),
		}, 2)
		b.eventually(t, 1, "select count(*) from holds where authorization_id = $1 and status <> 'pending'", h.AuthorizationID)
		row, err := hold.GetHold(t.Context(), b.Store.Q, b.Scope, h.AuthorizationID)
		require.NoError(t, err)
		requireTruthful(t, told, string(row.Status), problem.ReviewResolved, problem.ReviewExpired)
	}
	require.Equal(t, rounds, b.Events("hold.approved")+b.Events("hold.rejected")+b.Events("hold.expired"))
	require.Equal(t, b.Events("hold.approved"), b.Count("select count(*) from authorizations where parent_id is not null"))
	require.Equal(t, b.Events("hold.rejected"), b.Count("select count(*) from authorizations where outcome = 'manually_rejected'"))
}

func TestChallengeRaceHasOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	const rounds = 6
	for range rounds {
		b.Now = clock.System().Now()
		c := b.Challenge(time.Second, "sandbox_confirm")
		in, _, err := b.challenges.WorkflowInput(t.Context(), c.EnvironmentID, c.ID)
		require.NoError(t, err)
		require.NoError(t, b.runs.StartChallenge(t.Context(), in))
		resolver := challenge.NewResolver(b.challenges, b.runs)
		b.waitForDeadline(t, "challenges where id = $1 and expires_at", c.ID)
		told := race(map[string]func() (string, error){
			"completed": func() (string, error) {
				r, err := resolver.Complete(t.Context(), b.Principal("crd_1"), c.ID, challenge.MethodSandboxConfirm, nil)
				if err != nil {
					return "", err
				}
				return r.Status, nil
			},
			"cancelled": func() (string, error) {
				status, err := resolver.Cancel(t.Context(), b.Principal("crd_2"), c.ID)
				return string(status), err
			},
		}, 2)
		b.eventually(t, 1, "select count(*) from challenges where id = $1 and status <> 'open'", c.ID)
		row, err := challenge.GetChallenge(t.Context(), b.Store.Q, b.Scope, c.ID)
		require.NoError(t, err)
		requireTruthful(t, told, string(row.Status), problem.ChallengeClosed, problem.ChallengeExpired)
	}
	require.Equal(t, rounds, b.Events("challenge.completed")+b.Events("challenge.cancelled")+b.Events("challenge.expired"))
	require.Equal(t, b.Events("challenge.completed"), b.Count("select count(*) from authorizations where parent_id is not null"))
}
