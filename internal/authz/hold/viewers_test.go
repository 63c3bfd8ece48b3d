package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

func TestViewersAreTheOthersOfTheLastMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, other := b.Hold(life, 1).AuthorizationID, b.Hold(life, 1).AuthorizationID
	ann, bob := b.Principal("crd_ann"), b.Principal("crd_bob")
	foreign := b.Principal("crd_eve")
	foreign.EnvironmentID = "env_other"
	view := func(who string, id string) []string {
		p := b.Principal(who)
		_, err := b.service.View(t.Context(), p, id, false)
		require.NoError(t, err)
		return viewers(t, b, p, id)
	}
	require.Empty(t, view("crd_ann", id))
	require.Equal(t, []string{ann.Actor()}, view("crd_bob", id))
	require.Empty(t, view("crd_bob", other), "a different hold")
	_, err := b.service.View(t.Context(), foreign, id, false)
	require.NoError(t, err)
	require.Empty(t, viewers(t, b, foreign, id), "a different environment sees no one")
	require.Equal(t, []string{bob.Actor()}, view("crd_ann", id), "and is not seen")
	b.clock.Advance(hold.ViewLife)
	require.Empty(t, view("crd_bob", id))
	b.clock.Advance(2 * time.Hour)
	view("crd_bob", id)
	require.Equal(t, 1, b.Count("select count(*) from hold_viewers"), "old views are removed")
}

// viewers returns who else has a hold open.
func viewers(t *testing.T, b *bundle, p identity.Principal, id string) []string {
	t.Helper()
	all, err := b.service.Viewers(t.Context(), p, id)
	require.NoError(t, err)
	return all[id]
}

// One who closes a page is no viewer any more, unless they have opened the hold again since. Others are notified of who comes and goes, and of
// assignments, once for each.
func TestDeskHearsWhoComesAndGoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.Hold(life, 1).AuthorizationID
	ann, bob := b.Principal("crd_ann"), b.Principal("crd_bob")
	heard := make(chan string, 8)
	go b.Store.Listen(t.Context(), []string{pg.ChannelDesk}, func(channel, payload string) { heard <- channel + " " + payload })
	require.Equal(t, " ", <-heard)
	changed := pg.ChannelDesk + " " + b.Scope.Environment

	first, err := b.service.View(t.Context(), ann, id, false)
	require.NoError(t, err)
	require.Equal(t, changed, <-heard)
	b.clock.Advance(time.Second)
	_, err = b.service.View(t.Context(), ann, id, true)
	require.NoError(t, err)
	second, err := b.service.View(t.Context(), ann, id, false)
	require.NoError(t, err)
	require.NoError(t, b.service.Leave(t.Context(), ann, id, first), "the page was loaded again before")
	require.Equal(t, []string{ann.Actor()}, viewers(t, b, bob, id))
	foreign := ann
	foreign.EnvironmentID = "env_other"
	require.NoError(t, b.service.Leave(t.Context(), foreign, id, second))
	require.Empty(t, heard, "nothing has changed")
	require.NoError(t, b.service.Leave(t.Context(), ann, id, second))
	require.Equal(t, changed, <-heard)
	_, err = b.service.View(t.Context(), ann, id, true)
	require.NoError(t, err)
	require.Empty(t, viewers(t, b, bob, id), "the page that was closed was being read again")
	_, err = b.service.Take(t.Context(), ann, id, "")
	require.NoError(t, err)
	require.Equal(t, changed, <-heard)
}
