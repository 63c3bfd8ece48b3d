package identity

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
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
	all, err := PrincipalsBehind(context.Background(), b.store.Q, b.scope, append(last.Issuers, last.ID))
	require.NoError(t, err)
	for id, by := range all {
		require.Equal(t, Behind{Principal: "credential:" + root.ID}, by, id)
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

// revoke revokes a credential as its caller.
func (b *bundle) revoke(t *testing.T, by *Principal, id, childrenTo string) error {
	t.Helper()
	return b.Revoke(t.Context(), b.scope, Revocation{ID: id, ChildrenTo: childrenTo, Caller: by}, "cli:test", "")
}

func (b *bundle) principal(t *testing.T, key string) *Principal {
	t.Helper()
	p, err := b.Authenticate(t.Context(), key)
	require.NoError(t, err)
	return &p
}

func (b *bundle) stored(t *testing.T, id string) models.Credential {
	t.Helper()
	c, err := getCredential(t.Context(), b.store.Q, b.scope, id)
	require.NoError(t, err)
	return c
}

func TestRevocationEndsWhatRestsOnTheKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	root, other := b.root(t, nil), b.root(t, nil)
	child, err := b.child(t, root.Key, nil)
	require.NoError(t, err)
	grandchild, err := b.child(t, child.Key, nil)
	require.NoError(t, err)
	sister, err := b.child(t, root.Key, nil)
	require.NoError(t, err)
	rotated, err := b.Rotate(t.Context(), b.scope, Rotation{ID: child.ID, Overlap: time.Hour}, "cli:test", "")
	require.NoError(t, err)
	token, _, err := b.ClientToken(t.Context(), *b.principal(t, grandchild.Key), TokenRequest{Subject: b.subject, Origin: "https://app.example.com", TTL: time.Hour})
	require.NoError(t, err)
	for _, key := range []string{child.Key, rotated.Key, grandchild.Key, token} {
		require.True(t, b.holds(t, key), "the rotation of its issuer ends no key")
	}
	require.NoError(t, b.revoke(t, nil, child.ID, ""))
	for _, key := range []string{child.Key, rotated.Key, grandchild.Key, token} {
		require.False(t, b.holds(t, key))
	}
	require.True(t, b.holds(t, root.Key) && b.holds(t, sister.Key) && b.holds(t, other.Key))
}

func TestChildrenAreGivenToAnotherIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, narrow := b.root(t, nil), []models.Permission{models.PermissionDecide, models.PermissionCredentials}
	hour := b.clock.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		to     func(t *testing.T, from Issued, child Issued) string
		caller func(t *testing.T, from Issued) *Principal
		code   problem.Code // empty if they are given
	}{
		"to a key of the same principal": {to: func(t *testing.T, from, _ Issued) string {
			// A sister of the revoked key.
			out, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeAdmin, Issuer: b.principal(t, mine.Key)}, "credential:"+mine.ID, "")
			require.NoError(t, err)
			return out.ID
		}, caller: func(t *testing.T, from Issued) *Principal { return b.principal(t, from.Key) }},
		"by the operator": {to: func(t *testing.T, _, _ Issued) string { return b.root(t, nil).ID }},
		"to a different principal, by the old one": {to: func(t *testing.T, _, _ Issued) string { return b.root(t, nil).ID },
			caller: func(t *testing.T, from Issued) *Principal { return b.principal(t, from.Key) }, code: problem.InsufficientScope},
		"to a different principal, by a third": {to: func(t *testing.T, _, _ Issued) string { return b.root(t, nil).ID },
			caller: func(t *testing.T, _ Issued) *Principal { return b.principal(t, b.root(t, nil).Key) }, code: problem.InsufficientScope},
		"to itself":        {to: func(_ *testing.T, from, _ Issued) string { return from.ID }, code: problem.Unprocessable},
		"to its child":     {to: func(_ *testing.T, _, child Issued) string { return child.ID }, code: problem.Unprocessable},
		"to no key":        {to: func(*testing.T, Issued, Issued) string { return "crd_unknown" }, code: problem.Unprocessable},
		"to a shorter one": {to: func(t *testing.T, _, _ Issued) string { return b.root(t, &hour).ID }, code: problem.Unprocessable},
		"to a revoked one": {to: func(t *testing.T, _, _ Issued) string {
			out := b.root(t, nil)
			require.NoError(t, b.revoke(t, nil, out.ID, ""))
			return out.ID
		}, code: problem.Unprocessable},
		"to one with fewer permissions": {to: func(t *testing.T, _, _ Issued) string {
			out, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeAdmin, Permissions: narrow}, "cli:test", "")
			require.NoError(t, err)
			return out.ID
		}, code: problem.Unprocessable},
		"to a server key": {to: func(t *testing.T, _, _ Issued) string {
			out, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeServer}, "cli:test", "")
			require.NoError(t, err)
			return out.ID
		}, code: problem.Unprocessable},
	} {
		t.Run(name, func(t *testing.T) {
			from, err := b.child(t, mine.Key, nil)
			require.NoError(t, err)
			child, err := b.child(t, from.Key, nil)
			require.NoError(t, err)
			grandchild, err := b.child(t, child.Key, nil)
			require.NoError(t, err)
			var caller *Principal
			if c.caller != nil {
				caller = c.caller(t, from)
			}
			to := c.to(t, from, child)
			err = b.revoke(t, caller, from.ID, to)
			if c.code != "" {
				require.True(t, problem.Is(err, c.code), "%v", err)
				require.True(t, b.holds(t, from.Key) && b.holds(t, child.Key), "a refused revocation changes nothing")
				return
			}
			require.NoError(t, err)
			require.False(t, b.holds(t, from.Key))
			require.True(t, b.holds(t, child.Key) && b.holds(t, grandchild.Key))
			got, last := b.stored(t, child.ID), b.stored(t, grandchild.ID)
			require.Equal(t, "credential:"+to, got.IssuedBy())
			require.Equal(t, "credential:"+child.ID, last.IssuedBy())
			require.Equal(t, b.stored(t, to).Principal, last.Principal)
			require.NoError(t, b.revoke(t, nil, to, ""))
			require.False(t, b.holds(t, child.Key) || b.holds(t, grandchild.Key), "they end with their new issuer")
		})
	}
}

// The former holder of a key that was given to others may still have it, and must not become a second person with it.
func TestAKeyOfTwoPrincipalsOwnsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	from, to := b.root(t, nil), b.root(t, nil)
	child, err := b.child(t, from.Key, nil)
	require.NoError(t, err)
	require.NoError(t, b.revoke(t, b.principal(t, to.Key), from.ID, to.ID))
	made, err := b.child(t, child.Key, nil)
	require.NoError(t, err)
	for _, key := range []Issued{child, made} {
		by, err := PrincipalBehind(t.Context(), b.store.Q, b.scope, "credential:"+key.ID)
		require.NoError(t, err)
		require.Equal(t, Behind{Principal: "credential:" + to.ID, Former: "credential:" + from.ID}, by)
		may, err := MayChangePrincipal(t.Context(), b.store.Q, b.scope, "credential:"+key.ID, ChangeRight{Scopes: []string{"admin"}, Approves: true}, b.clock.Now())
		require.NoError(t, err)
		require.False(t, may, "it approves nothing")
		_, err = b.Rotate(t.Context(), b.scope, Rotation{ID: to.ID, Issuer: b.principal(t, key.Key)}, "credential:"+key.ID, "")
		require.True(t, problem.Is(err, problem.InsufficientScope), "%v", err)
		fresh, err := b.child(t, to.Key, nil)
		require.NoError(t, err)
		err = b.revoke(t, b.principal(t, key.Key), fresh.ID, key.ID)
		require.True(t, problem.Is(err, problem.Unprocessable), "%v", err)
	}
}

func TestANewKeyExpiresIfItsEnvironmentRequiresThat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	forever, soon := b.root(t, nil), b.clock.Now().Add(time.Hour)
	_, err := tenancy.New(b.store, nil, b.clock, func(string) {}).UpdateSettings(t.Context(), b.scope, tenancy.Settings{"key_expiry_required": true}, "cli:test", "")
	require.NoError(t, err)

	_, err = b.child(t, forever.Key, nil)
	require.NotNil(t, problem.As(err), "%v", err)
	require.Equal(t, []any{"body", "expires_at"}, problem.As(err).Fields[0].Loc)
	limited, err := b.child(t, forever.Key, &soon)
	require.NoError(t, err)
	inherited, err := b.child(t, limited.Key, nil)
	require.NoError(t, err, "a key expires with its issuer")
	require.Equal(t, soon, inherited.ExpiresAt.In(soon.Location()))
	b.root(t, nil) // the operator's
}
