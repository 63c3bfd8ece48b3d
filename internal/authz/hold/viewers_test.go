package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
)

func TestViewReturnsTheOthersOfTheLastMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, other := b.Hold(life, 1).AuthorizationID, b.Hold(life, 1).AuthorizationID
	ann, bob := b.Principal("crd_ann"), b.Principal("crd_bob")
	foreign := b.Principal("crd_eve")
	foreign.EnvironmentID = "env_other"
	view := func(who string, id string) []string {
		others, err := b.service.View(t.Context(), b.Principal(who), id)
		require.NoError(t, err)
		return others
	}
	require.Empty(t, view("crd_ann", id))
	require.Equal(t, []string{ann.Actor()}, view("crd_bob", id))
	require.Empty(t, view("crd_bob", other), "a different hold")
	seen, err := b.service.View(t.Context(), foreign, id)
	require.NoError(t, err)
	require.Empty(t, seen, "a different environment sees no one")
	require.Equal(t, []string{bob.Actor()}, view("crd_ann", id), "and is not seen")
	b.clock.Advance(hold.ViewLife)
	require.Empty(t, view("crd_bob", id))
	b.clock.Advance(2 * time.Hour)
	view("crd_bob", id)
	require.Equal(t, 1, b.Count("select count(*) from hold_viewers"), "old views are removed")
}
