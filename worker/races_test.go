package worker_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// verdict is what one caller of a race was told.
type verdict struct {
	wanted string // the status asked for
	got    string // the status answered; empty where refused
	err    error
}

// race asks all at once and returns what each was told.
func race(asks map[string]func() (string, error), each int) []verdict {
	var all sync.WaitGroup
	var mu sync.Mutex
	var told []verdict
	for wanted, ask := range asks {
		for range each {
			all.Go(func() {
				got, err := ask()
				mu.Lock()
				defer mu.Unlock()
				told = append(told, verdict{wanted, got, err})
			})
		}
	}
	all.Wait()
	return told
}

// truthful holds what callers were told against what is on record: whoever was answered got what they asked for and what
// is; whoever asked for something else was refused by one of the codes; a run that has closed leaves it to the record. To be
// told to come back is no lie either: a machine may be too busy to settle in time.
func truthful(t *testing.T, told []verdict, status string, codes ...problem.Code) {
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
		require.True(t, refused || errors.Is(v.err, durable.ErrClosed), "%s is on record; %s was asked: %v", status, v.wanted, v.err)
	}
}

// nearly waits until the deadline of the record is a moment away.
func (b *bundle) nearly(t *testing.T, due, id string) {
	t.Helper()
	b.eventually(t, 1, "select count(*) from "+due+" <= clock_timestamp() + interval '30 milliseconds'", id)
}

// Approve, reject and the deadline come within the same moment, again and again. Whatever comes first: one outcome is on
// record, and nobody is told another.
func TestHoldRaceHasOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.work()
	const rounds = 6
	for range rounds {
		b.Now = clock.System().Now()
		h := b.Hold(time.Second, 1)
		approve, reject := b.review(t, h, "crd_ann", hold.Approve), b.review(t, h, "crd_bob", hold.Reject)
		require.NoError(t, b.runs.StartHold(t.Context(), approve.Workflow))
		review := func(p hold.Prepared) func() (string, error) {
			return func() (string, error) {
				out, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
				// As the API does: the record has the last word.
				if _, none := b.holds.Receipt(t.Context(), b.Scope, h.AuthorizationID, p.Resolution); err != nil && none == nil {
					return map[string]string{hold.Approve: "approved", hold.Reject: "rejected"}[p.Resolution], nil
				}
				return string(out.Status), err
			}
		}
		b.nearly(t, "holds where authorization_id = $1 and due_at", h.AuthorizationID)
		told := race(map[string]func() (string, error){"approved": review(approve), "rejected": review(reject)}, 2)
		b.eventually(t, 1, "select count(*) from holds where authorization_id = $1 and status <> 'pending'", h.AuthorizationID)
		row, err := b.Store.Holds().Get(t.Context(), b.Scope, h.AuthorizationID)
		require.NoError(t, err)
		truthful(t, told, string(row.Status), problem.ReviewResolved, problem.ReviewExpired)
	}
	require.Equal(t, rounds, b.Events("hold.approved")+b.Events("hold.rejected")+b.Events("hold.expired"))
	require.Equal(t, b.Events("hold.approved"), b.Count("select count(*) from authorizations where parent_id is not null"))
	require.Equal(t, b.Events("hold.rejected"), b.Count("select count(*) from authorizations where outcome = 'manually_rejected'"))
}

func TestChallengeRaceHasOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.work()
	const rounds = 6
	for range rounds {
		b.Now = clock.System().Now()
		c := b.Challenge(time.Second, "sandbox_confirm")
		completion := b.confirm(t, c)
		cancellation, err := b.challenges.PrepareCancel(t.Context(), b.Principal("crd_2"), c.ID)
		require.NoError(t, err)
		require.NoError(t, b.runs.StartChallenge(t.Context(), completion.Workflow))
		b.nearly(t, "challenges where id = $1 and expires_at", c.ID)
		told := race(map[string]func() (string, error){
			"completed": func() (string, error) {
				out, err := b.runs.CompleteChallenge(t.Context(), completion.Workflow, completion.Request)
				if r, _ := b.challenges.Receipt(t.Context(), b.Scope, c.ID, completion.Request); err != nil && r != nil {
					return r.Status, nil
				}
				return string(out.Status), err
			},
			"cancelled": func() (string, error) {
				out, err := b.runs.CancelChallenge(t.Context(), cancellation.Workflow, cancellation.Request)
				if v, _ := b.challenges.Get(t.Context(), b.Scope, c.ID); err != nil && v.Status == models.ChallengeCancelled {
					return string(v.Status), nil
				}
				return string(out.Status), err
			},
		}, 2)
		b.eventually(t, 1, "select count(*) from challenges where id = $1 and status <> 'open'", c.ID)
		row, err := b.Store.Challenges().Get(t.Context(), b.Scope, c.ID)
		require.NoError(t, err)
		truthful(t, told, string(row.Status), problem.ChallengeClosed, problem.ChallengeExpired)
	}
	require.Equal(t, rounds, b.Events("challenge.completed")+b.Events("challenge.cancelled")+b.Events("challenge.expired"))
	require.Equal(t, b.Events("challenge.completed"), b.Count("select count(*) from authorizations where parent_id is not null"))
}
