package hold_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func TestWithdrawEndsAHoldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(life, 2)
	ann := b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve)
	first, err := b.service.Withdraw(t.Context(), b.Principal("crd_bob"), h.AuthorizationID)
	require.NoError(t, err)
	require.Equal(t, "withdrawn", first.ReviewStatus)
	b.clock.Advance(2 * life)
	again, err := b.service.Withdraw(t.Context(), b.Principal("crd_ann"), h.AuthorizationID)
	require.NoError(t, err)
	require.Equal(t, first, again, "a repetition returns the receipt, at any time")
	require.Equal(t, 1, b.Events("hold.withdrawn"))
	require.Equal(t, 1, b.Count("select count(*) from outbox where topic = 'hold.settled' and ref = $1", h.AuthorizationID))
	require.Equal(t, 0, b.Count("select count(*) from authorizations where outcome is not null"), "no outcome is recorded")
	_, err = b.service.Review(t.Context(), ann)
	require.True(t, problem.Is(err, problem.ReviewResolved), "%v", err)
	b.refused(t, "crd_ann", h.AuthorizationID, hold.Reject, problem.ReviewResolved)
	out, err := b.service.Expire(t.Context(), hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: now.Add(2 * life), WorkflowID: "hold/x"})
	require.NoError(t, err)
	require.Equal(t, models.HoldWithdrawn, out.Status)
}

func TestWithdrawRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	settled, due := b.Hold(life, 1), b.Hold(life/2, 1)
	_, err := b.service.Review(t.Context(), b.prepare(t, "crd_ann", settled.AuthorizationID, hold.Approve))
	require.NoError(t, err)
	b.clock.Advance(life / 2)
	for id, code := range map[string]problem.Code{settled.AuthorizationID: problem.ReviewResolved, due.AuthorizationID: problem.ReviewExpired, "azn_unknown": problem.NotFound} {
		_, err := b.service.Withdraw(t.Context(), b.Principal("crd_bob"), id)
		require.True(t, problem.Is(err, code), "%s: %v", id, err)
	}
	foreign := b.Principal("crd_bob")
	foreign.EnvironmentID = "env_other"
	_, err = b.service.Withdraw(t.Context(), foreign, settled.AuthorizationID)
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	require.Equal(t, 0, b.Events("hold.withdrawn"))
}

// A withdrawal, an approval, a rejection and the timer race: one ends the hold, and the others say so.
func TestConcurrentWithdrawalsHaveOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 8 {
		h := b.Hold(life, 1)
		approve, reject := b.prepare(t, "crd_ann", h.AuthorizationID, hold.Approve), b.prepare(t, "crd_bob", h.AuthorizationID, hold.Reject)
		late := hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: now.Add(life + time.Second), WorkflowID: "hold/x"}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _, _ = b.service.Review(t.Context(), approve) })
			all.Go(func() { _, _ = b.service.Withdraw(t.Context(), b.Principal("crd_bob"), h.AuthorizationID) })
			all.Go(func() { _, _ = b.service.Review(t.Context(), reject) })
			all.Go(func() { _, _ = b.service.Expire(t.Context(), late) })
		}
		all.Wait()
		require.Equal(t, 1, b.Count(`select count(*) from events where authorization_id = $1
			and type in ('hold.approved', 'hold.rejected', 'hold.expired', 'hold.withdrawn')`, h.AuthorizationID))
	}
}
