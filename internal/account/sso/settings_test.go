package sso_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

func (b *bundle) scope() pg.Scope { return storetest.Scope(b.env) }

func (b *bundle) exec(statement string, args ...any) {
	b.t.Helper()
	testenv.Exec(b.t, b.store, statement, args...)
}

// A second provider of one issuer would give each of its people a second account.
func TestAnIssuerStandsOnceInATenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.settings()
	in.Name = "second"
	for _, issuer := range []string{in.Issuer, in.Issuer + "/"} {
		in.Issuer = issuer
		_, err := b.service.Set(t.Context(), b.env.TenantID, in, "cli:test")
		require.True(t, problem.Is(err, problem.Conflict), "%s: %v", issuer, err)
	}
	require.NoError(t, b.service.Remove(t.Context(), b.env.TenantID, "corp", "cli:test"))
	in.Issuer = b.fake.server.URL
	b.set(in)
}

func TestSpellingsOfOneIssuer(t *testing.T) {
	t.Parallel()
	for other, same := range map[string]bool{
		"https://login.example/a": true, "HTTPS://Login.Example/a": true, "https://login.example:443/a/": true, "https://login.example./a": true,
		"https://login.example/A": false, "https://login.example": false, "https://login.example:8443/a": false, "https://login.example.evil/a": false,
	} {
		require.Equal(t, same, staff.SameIssuer("https://login.example/a", other), other)
	}
}

// A revoked person stays revoked, and any other is the same person, under every name of the provider of their issuer.
func TestPersonIsKnownByIssuerAndSubject(t *testing.T) {
	t.Parallel()
	for name, revoked := range map[string]bool{"revoked": true, "in good standing": false} {
		for removal, rename := range map[string]string{"set again": "corp", "renamed": "other"} {
			t.Run(name+", "+removal, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				before := b.signedIn().Session.Person
				if revoked {
					require.NoError(t, b.people.Revoke(t.Context(), b.env.TenantID, before.ID, "cli:person revoke"))
				}
				require.NoError(t, b.service.Remove(t.Context(), b.env.TenantID, "corp", "cli:test"))
				in := b.settings()
				in.Name = rename
				now := b.set(in)
				begun := b.begin(rename)
				out, err := b.service.Finish(t.Context(), b.env.TenantID, rename, callback(begun, b.fake.visit(begun.URL)), "req_1")
				if revoked {
					require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
					require.ErrorContains(t, err, "revoked")
					return
				}
				require.NoError(t, err)
				require.Equal(t, before.ID, out.Opened.Session.Person.ID)
				require.Equal(t, now.ID, *out.Opened.Session.Person.IdentityProviderID)
				require.Equal(t, []models.Role{models.RoleReviewer, models.RoleOperator}, sortedRoles(b.roles(out.Opened.Session)))
			})
		}
	}
}

// A new client of a provider may see its people under other names: those of before keep no role until they sign in.
func TestANewClientWithdrawsTheRolesOfBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	person := b.signedIn().Session.Person
	in := b.settings()
	in.ClientID = "another"
	b.set(in)
	roles, err := staff.RolesOf(t.Context(), b.store.Q, person.ID)
	require.NoError(t, err)
	require.Empty(t, roles)
}

// An operator of the same provider knows its people; one who was invited may be one of them.
func TestWhoConfirmsAPersonOfAProvider(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operator := b.signedIn().Session.Person
	scope := b.scope()
	for name, by := range map[string]string{"an operator of the provider": operator.ID, "the command line": ""} {
		t.Run(name, func(t *testing.T) {
			b.fake.change = func(c object) { c["sub"] = "of " + name }
			other := b.signedIn().Session.Person
			b.exec("update people set joined_at = created_at where id = $1", other.ID)
			if by == "" {
				require.NoError(t, b.people.ConfirmIdentity(t.Context(), scope, other.ID, "cli:person confirm"))
			} else {
				require.NoError(t, b.people.ConfirmIdentityAs(t.Context(), scope, other.ID, staff.By{Person: by}))
			}
		})
	}
	b.exec(`insert into people (id, tenant_id, name, created_at, created_by, joined_at, confirmed_at, confirmed_by, shown_to)
		select 'prs_invited', tenant_id, 'Invited', created_at, 'cli:test', created_at, created_at, 'test:second', '{cli}' from people where id = $1`, operator.ID)
	b.exec("insert into person_roles (person_id, environment_id, role, granted_at, granted_by) values ('prs_invited', $1, 'operator', $2, 'cli:test')", b.env.ID, b.clock.Now())
	b.fake.change = func(c object) { c["sub"] = "a third" }
	third := b.signedIn().Session.Person
	b.exec("update people set joined_at = created_at where id = $1", third.ID)
	err := b.people.ConfirmIdentityAs(t.Context(), scope, third.ID, staff.By{Person: "prs_invited"})
	require.True(t, problem.Is(err, problem.SelfApproval), "%v", err)
	require.NoError(t, b.people.ConfirmIdentityAs(t.Context(), scope, third.ID, staff.By{Person: operator.ID}))
}
