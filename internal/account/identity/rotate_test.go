package identity

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// party is one who issues and rotates keys.
type party struct {
	*bundle
	Principal
	id  string // of its credential
	key string
}

// operators returns a party whose admin key was made at the command line.
func (b *bundle) operators(t *testing.T) party {
	t.Helper()
	return b.made(t, Issue{Scope: models.ScopeAdmin}, "cli:test")
}

// staff returns a member of staff who is an operator, and has no key.
func (b *bundle) staff(t *testing.T, id string) party {
	t.Helper()
	require.NoError(t, CreatePerson(t.Context(), b.store.Q, models.Person{ID: id, TenantID: b.scope.Tenant, Name: id, CreatedAt: b.clock.Now(), CreatedBy: "cli:test"}))
	granted, err := GrantRole(t.Context(), b.store.Q, models.PersonRole{
		PersonID: id, EnvironmentID: b.scope.Environment, Role: models.RoleOperator, GrantedAt: b.clock.Now(), GrantedBy: "cli:test",
	})
	require.NoError(t, err)
	require.True(t, granted)
	p := Principal{Person: id, TenantID: b.scope.Tenant, EnvironmentID: b.scope.Environment}
	return party{bundle: b, Principal: p.Issuer([]models.Role{models.RoleOperator})}
}

func (b *bundle) made(t *testing.T, in Issue, actor string) party {
	t.Helper()
	issued, err := b.Issue(t.Context(), b.scope, in, actor, "")
	require.NoError(t, err)
	p, err := b.Authenticate(t.Context(), issued.Key)
	require.NoError(t, err)
	return party{b, p, issued.ID, issued.Key}
}

// issues issues a key of the scope with permissions that operators may give.
func (p party) issues(t *testing.T, scope models.Scope) party {
	t.Helper()
	in := Issue{Scope: scope, Issuer: &p.Principal}
	if scope != models.ScopeClient {
		in.Permissions = models.Permissions{models.PermissionDecide}
	}
	if scope == models.ScopeAdmin {
		in.Permissions = append(in.Permissions, models.PermissionCredentials)
	}
	return p.made(t, in, p.Actor())
}

func (p party) rotates(t *testing.T, other party) error {
	t.Helper()
	_, err := p.Rotate(t.Context(), p.scope, Rotation{ID: other.id, Issuer: &p.Principal}, p.Actor(), "")
	return err
}

// Who rotates a key holds it, and is its owner to everything that asks who approves.
func TestRotationIsForTheOwner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, other, ann, ben := b.operators(t), b.operators(t), b.staff(t, "prs_ann"), b.staff(t, "prs_ben")
	server, admin := mine.issues(t, models.ScopeServer), mine.issues(t, models.ScopeAdmin)
	deputy, hers := admin.issues(t, models.ScopeServer), ann.issues(t, models.ScopeAdmin)
	for name, c := range map[string]struct {
		by, of party
	}{
		"itself":                           {mine, mine},
		"a key that it issued":             {mine, server},
		"a key that this one issued":       {mine, deputy},
		"a key of the same issuer":         {admin, server},
		"a key that the person issued":     {ann, hers},
		"a key that the person's issued":   {ann, hers.issues(t, models.ScopeServer)},
		"a person's key itself":            {hers, hers},
		"a publishable key of a different": {other, mine.issues(t, models.ScopeClient)},
		"a publishable key, by a person":   {ben, mine.issues(t, models.ScopeClient)},
	} {
		require.NoError(t, c.by.rotates(t, c.of), name)
	}
	full, narrow := b.operators(t), b.operators(t).issues(t, models.ScopeServer)
	for name, c := range map[string]struct {
		by, of party
	}{
		"an admin key of a different party":      {other, full},
		"a key that a different party issued":    {other, narrow},
		"a key of a person":                      {other, ann.issues(t, models.ScopeServer)},
		"a key of a different person":            {ben, ann.issues(t, models.ScopeServer)},
		"a key of the command line, by a person": {ann, narrow},
	} {
		err := c.by.rotates(t, c.of)
		require.True(t, problem.Is(err, problem.InsufficientScope), "%s: %v", name, err)
		require.Contains(t, problem.As(err).Detail, "belongs to a different principal", name)
		require.True(t, b.holds(t, c.of.key), "%s: the key is as before", name)
	}
	_, err := b.Rotate(t.Context(), b.scope, Rotation{ID: full.id}, "cli:test", "")
	require.NoError(t, err, "the operator rotates every key")
}

// Concurrent rotations leave two keys, the new and the previous one.
func TestConcurrentRotationsLeaveTwoKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine := b.operators(t)
	made := make(chan string, 8)
	var all sync.WaitGroup
	for range cap(made) {
		all.Go(func() {
			out, err := b.Rotate(context.WithoutCancel(t.Context()), b.scope, Rotation{ID: mine.id, Overlap: time.Hour, Issuer: &mine.Principal}, mine.Actor(), "")
			if err == nil {
				made <- out.Key
			}
		})
	}
	all.Wait()
	close(made)
	require.Len(t, made, 1)
	var keys int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select count(*) from credential_keys where credential_id = $1", mine.id).Scan(&keys))
	require.Equal(t, 2, keys)
	require.True(t, b.holds(t, <-made))
}
