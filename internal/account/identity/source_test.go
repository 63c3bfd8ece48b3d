package identity

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// child issues an admin key with the key of an issuer.
func (b *bundle) child(t *testing.T, issuer string, expires *time.Time) (Issued, error) {
	t.Helper()
	p, err := b.Authenticate(t.Context(), issuer)
	require.NoError(t, err)
	return b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeAdmin, ExpiresAt: expires, Issuer: &p}, p.Actor(), "")
}

// root issues an admin key at the command line.
func (b *bundle) root(t *testing.T, expires *time.Time) Issued {
	t.Helper()
	out, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeAdmin, ExpiresAt: expires}, "cli:test", "")
	require.NoError(t, err)
	return out
}

func TestChainsOfIssueAreOnePrincipalAndEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	root := b.root(t, nil)
	last, refused := root, 0
	for range 66 {
		next, err := b.child(t, last.Key, nil)
		if err != nil {
			require.True(t, problem.Is(err, problem.IssuerChainTooLong), "%v", err)
			refused++
			continue
		}
		require.Equal(t, "credential:"+root.ID, next.Principal)
		require.Equal(t, "credential:"+last.ID, next.IssuedBy())
		last, err = b.Rotate(t.Context(), b.scope, Rotation{ID: next.ID}, "cli:test", "")
		require.NoError(t, err)
		require.Equal(t, "credential:"+root.ID, last.Principal, "a rotation keeps the principal")
	}
	require.Len(t, last.Issuers, maxIssuers)
	require.Equal(t, 66-maxIssuers, refused)
	all, err := b.store.Principals().List(context.Background(), b.scope, append(last.Issuers, last.ID))
	require.NoError(t, err)
	for id, principal := range all {
		require.Equal(t, "credential:"+root.ID, principal, id)
	}
}

func TestAKeyExpiresNoLaterThanItsIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	soon, later := b.clock.Now().Add(time.Hour), b.clock.Now().Add(2*time.Hour)
	root := b.root(t, &soon)
	_, err := b.child(t, root.Key, &later)
	require.True(t, problem.Is(err, problem.Unprocessable), "%v", err)
	child, err := b.child(t, root.Key, nil)
	require.NoError(t, err)
	require.True(t, soon.Equal(*child.ExpiresAt), "without a time of its own it has its issuer's")
	grandchild, err := b.child(t, child.Key, &soon)
	require.NoError(t, err)
	rotated, err := b.Rotate(t.Context(), b.scope, Rotation{ID: grandchild.ID, Overlap: 3 * time.Hour}, "cli:test", "")
	require.NoError(t, err)
	b.clock.Advance(time.Hour)
	for _, key := range []string{root.Key, child.Key, grandchild.Key, rotated.Key} {
		require.False(t, b.holds(t, key))
	}
}
