package hold_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

func TestAssignmentHasOneWinner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.Hold(life, 1).AuthorizationID
	reviewers := []string{"crd_ann", "crd_bob", "crd_cid", "crd_dan"}
	errs := make([]error, len(reviewers))
	var wg sync.WaitGroup
	for n, reviewer := range reviewers {
		wg.Go(func() { _, errs[n] = b.service.Take(t.Context(), b.Principal(reviewer), id, "") })
	}
	wg.Wait()
	won := 0
	wins := 0
	for n, err := range errs {
		if err == nil {
			wins++
			won = n
			continue
		}
		require.True(t, problem.Is(err, problem.Conflict), "%v", err)
	}
	require.Equal(t, 1, wins)
	require.Equal(t, 1, b.Events("hold.assigned"))

	winner, other := b.Principal(reviewers[won]), b.Principal(reviewers[(won+1)%len(reviewers)])
	got, err := b.service.Take(t.Context(), winner, id, "")
	require.NoError(t, err)
	require.Equal(t, winner.Actor(), *got.AssignedTo, "taking it again changes nothing")
	_, err = b.service.Release(t.Context(), other, id)
	require.True(t, problem.Is(err, problem.Conflict), "only the reviewer who has it releases it: %v", err)
	got, err = b.service.Take(t.Context(), other, id, winner.Actor())
	require.NoError(t, err)
	require.Equal(t, other.Actor(), *got.AssignedTo)
	got, err = b.service.Release(t.Context(), other, id)
	require.NoError(t, err)
	require.Nil(t, got.AssignedTo)
	require.Equal(t, 3, b.Events("hold.assigned"))
}

func TestAssignmentIsRefusedForHoldsThatDoNotWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held, plain := b.Hold(life, 1).AuthorizationID, b.Authorization("allow")
	b.Write(authorization.Decision{Authorization: plain})
	ann := b.Principal("crd_ann")
	b.clock.Advance(life)
	for name, c := range map[string]struct {
		id   string
		code problem.Code
	}{
		"due":      {held, problem.ReviewExpired},
		"not held": {plain.ID, problem.NotHeld},
		"unknown":  {"azn_unknown", problem.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := b.service.Take(t.Context(), ann, c.id, "")
			require.True(t, problem.Is(err, c.code), "%v", err)
		})
	}
	require.Zero(t, b.Events("hold.assigned"))
}
