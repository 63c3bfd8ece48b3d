package staff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// invitedBy is a person whom a member of staff invited, and who has joined.
func (b *bundle) invitedBy(t *testing.T, by string, roles ...models.Role) string {
	t.Helper()
	in, err := b.service.InviteAs(t.Context(), b.scope, staff.Invitee{Name: "Bob Reviewer", Roles: roles}, staff.By{Person: by})
	require.NoError(t, err)
	b.accept(t, in)
	return in.Person.ID
}

func (b *bundle) accept(t *testing.T, in staff.Invited) {
	t.Helper()
	_, err := b.service.AcceptInvitation(t.Context(), tokenOf(t, in), b.credential(t, newDevice(), tokenOf(t, in)), "")
	require.NoError(t, err)
}

// operator is one whom the command line invited and someone else confirmed.
func (b *bundle) operator(t *testing.T) string {
	t.Helper()
	opened, _ := b.joined(t, models.RoleOperator)
	require.NoError(t, b.service.ConfirmIdentity(t.Context(), b.scope, opened.Session.Person.ID, "test:second"))
	return opened.Session.Person.ID
}

func (b *bundle) isConfirmed(t *testing.T, id string) bool {
	t.Helper()
	ok, err := identity.IsConfirmed(t.Context(), b.store.Q, b.scope, "person:"+id, b.clock.Now())
	require.NoError(t, err)
	return ok
}

func TestSecondOperatorConfirmsWhomTheFirstInvited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.operator(t), b.operator(t)
	bob := b.invitedBy(t, first, models.RoleReviewer)
	require.False(t, b.isConfirmed(t, bob))
	confirm := func(by string) error {
		return b.service.ConfirmIdentityAs(t.Context(), b.scope, bob, staff.By{Person: by, RequestID: "req_1"})
	}
	requireCode(t, problem.SelfApproval, confirm(first))
	requireCode(t, problem.Conflict, confirm(bob))
	puppet := b.invitedBy(t, first, models.RoleOperator)
	requireCode(t, problem.Forbidden, confirm(puppet))
	require.NoError(t, confirm(second))
	require.True(t, b.isConfirmed(t, bob))
	require.NoError(t, confirm(second), "again")
	require.Equal(t, 3, b.events(t, "person.identity_confirmed"))

	in, err := b.service.Invite(t.Context(), b.scope, bob, "", "cli:person invite")
	require.NoError(t, err)
	require.True(t, b.isConfirmed(t, bob), "a link that was not used changes nothing")
	b.accept(t, in)
	require.False(t, b.isConfirmed(t, bob), "those who saw the new link can be Bob")
	requireCode(t, problem.SelfApproval, b.service.ConfirmIdentity(t.Context(), b.scope, bob, "cli:person confirm"))
	requireCode(t, problem.SelfApproval, confirm(first))
	require.NoError(t, confirm(second))
}

// An account that no one else confirmed may be its inviter, and so may those whom it would invite.
func TestUnconfirmedAccountManagesNoOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.operator(t)
	bob, puppet := b.invitedBy(t, first, models.RoleReviewer), b.invitedBy(t, first, models.RoleOperator)
	by := staff.By{Person: puppet}
	for name, do := range map[string]func() error{
		"invite": func() error {
			_, err := b.service.InviteAs(t.Context(), b.scope, staff.Invitee{Name: "Cat", Roles: []models.Role{models.RoleOperator}}, by)
			return err
		},
		"invite again": func() error { _, err := b.service.InviteAgainAs(t.Context(), b.scope, bob, by); return err },
		"confirm":      func() error { return b.service.ConfirmIdentityAs(t.Context(), b.scope, bob, by) },
		"change roles": func() error {
			return b.service.ChangeRolesAs(t.Context(), b.scope, bob, []models.Role{models.RoleOperator}, by)
		},
		"remove": func() error { return b.service.RemoveAs(t.Context(), b.scope, bob, by) },
		"link":   func() error { return b.service.LinkAs(t.Context(), b.scope, bob, first, by) },
	} {
		t.Run(name, func(t *testing.T) {
			err := do()
			requireCode(t, problem.Forbidden, err)
			require.ErrorContains(t, err, "confirmed you yet")
		})
	}
}

// Everyone who may be one of those who invited an account may be the account, however many invitations lie between.
func TestNoOneConfirmsAlongAChainOfInvitations(t *testing.T) {
	t.Parallel()
	for name, mailed := range map[string]bool{"links": false, "mail": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			first, second := b.operator(t), b.operator(t)
			confirm := func(id, by string) error {
				return b.service.ConfirmIdentityAs(t.Context(), b.scope, id, staff.By{Person: by})
			}
			chain := []string{first}
			for i := range 3 {
				in := staff.Invitee{Name: "Next", Roles: []models.Role{models.RoleOperator}}
				if mailed {
					in.Address = "next" + string(rune('a'+i)) + "@bank.example"
				}
				next, err := b.service.InviteAs(t.Context(), b.scope, in, staff.By{Person: chain[i]})
				require.NoError(t, err)
				if mailed {
					next.URL = b.arrives(t, next.Person.ID).URL
				}
				b.accept(t, next)
				for _, before := range chain {
					requireCode(t, problem.SelfApproval, confirm(next.Person.ID, before))
				}
				require.False(t, b.isConfirmed(t, next.Person.ID))
				require.NoError(t, confirm(next.Person.ID, second))
				chain = append(chain, next.Person.ID)
			}
			requireCode(t, problem.SelfApproval, b.service.LinkAs(t.Context(), b.scope, chain[2], chain[3], staff.By{Person: first}))
		})
	}
}

// A confirmation ends with the authority to give it, and with it those that rest on it. Nothing revives it.
func TestConfirmationEndsWithTheAuthorityOfItsGiver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(t *testing.T, b *bundle, giver, other string) error
		ends bool
	}{
		"revoked at the command line": {func(t *testing.T, b *bundle, giver, _ string) error {
			return b.service.Revoke(t.Context(), b.scope.Tenant, giver, "cli:person revoke")
		}, true},
		"removed in the console": {func(t *testing.T, b *bundle, giver, other string) error {
			return b.service.RemoveAs(t.Context(), b.scope, giver, staff.By{Person: other})
		}, true},
		"no operator any more": {func(t *testing.T, b *bundle, giver, other string) error {
			if err := b.service.ChangeRolesAs(t.Context(), b.scope, giver, []models.Role{models.RoleReviewer}, staff.By{Person: other}); err != nil {
				return err
			}
			return b.service.Grant(t.Context(), b.scope, giver, []models.Role{models.RoleOperator}, "cli:person grant")
		}, true},
		"a new link was shown to someone": {func(t *testing.T, b *bundle, giver, _ string) error {
			in, err := b.service.Invite(t.Context(), b.scope, giver, "", "cli:person invite")
			b.accept(t, in)
			return err
		}, true},
		"a role that confirms no one": {func(t *testing.T, b *bundle, giver, _ string) error {
			if err := b.service.Grant(t.Context(), b.scope, giver, []models.Role{models.RoleAuditor}, "cli:person grant"); err != nil {
				return err
			}
			return b.service.Withdraw(t.Context(), b.scope, giver, []models.Role{models.RoleAuditor}, "cli:person withdraw")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			first, other := b.operator(t), b.operator(t)
			confirm := func(id, by string) {
				require.NoError(t, b.service.ConfirmIdentityAs(t.Context(), b.scope, id, staff.By{Person: by}))
			}
			giver := b.invitedBy(t, first, models.RoleOperator)
			confirm(giver, other)
			bob := b.invitedBy(t, first, models.RoleOperator)
			confirm(bob, giver)
			cat := b.invitedBy(t, first, models.RoleReviewer)
			confirm(cat, bob)
			require.NoError(t, c.end(t, b, giver, other))
			require.Equal(t, !c.ends, b.isConfirmed(t, bob))
			require.Equal(t, !c.ends, b.isConfirmed(t, cat), "confirmed by one who is no longer confirmed")
			require.True(t, b.isConfirmed(t, first))
		})
	}
}

// The command line confirms whom others invited. Of its own people it confirms the first operator, who confirms the others.
func TestCommandLineConfirmsItsFirstOperatorOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	confirm := func(id string) error {
		return b.service.ConfirmIdentity(t.Context(), b.scope, id, "cli:person confirm")
	}
	in, _ := b.invite(t, models.RoleOperator)
	requireCode(t, problem.Conflict, confirm(in.Person.ID))
	reviewer, _ := b.joined(t, models.RoleReviewer)
	requireCode(t, problem.SelfApproval, confirm(reviewer.Session.Person.ID))
	first, _ := b.joined(t, models.RoleOperator)
	second, _ := b.joined(t, models.RoleOperator)
	require.NoError(t, confirm(first.Session.Person.ID))
	requireCode(t, problem.SelfApproval, confirm(second.Session.Person.ID))
	by := staff.By{Person: first.Session.Person.ID}
	require.NoError(t, b.service.ConfirmIdentityAs(t.Context(), b.scope, second.Session.Person.ID, by))
	require.NoError(t, confirm(b.invitedBy(t, by.Person, models.RoleReviewer)))
}

func TestOperatorsOfAllEnvironmentsOfAPersonConfirmThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.operator(t), b.operator(t)
	bob := b.invitedBy(t, first, models.RoleReviewer)
	other := b.env
	other.ID, other.Kind = "env_01k9x3v7q2e4rtb8m5n6p0d1fz", models.Live
	testenv.Exec(t, b.store, "insert into environments select (jsonb_populate_record(e, jsonb_build_object('id', $2::text, 'kind', 'live'))).* from environments e where id = $1", b.env.ID, other.ID)
	abroad := pg.Scope{Tenant: b.scope.Tenant, Environment: other.ID}
	require.NoError(t, b.service.Grant(t.Context(), abroad, bob, []models.Role{models.RoleReviewer}, "cli:test"))
	confirm := func() error {
		return b.service.ConfirmIdentityAs(t.Context(), b.scope, bob, staff.By{Person: second})
	}
	requireCode(t, problem.Forbidden, confirm())
	require.NoError(t, b.service.Grant(t.Context(), abroad, second, []models.Role{models.RoleOperator}, "cli:test"))
	require.NoError(t, confirm())
}

func TestAccountsOfOnePersonAreLinked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.operator(t), b.operator(t)
	ann, bob := b.invitedBy(t, first, models.RoleReviewer), b.invitedBy(t, first, models.RoleReviewer)
	link := func(id, other, by string) error {
		return b.service.LinkAs(t.Context(), b.scope, id, other, staff.By{Person: by, RequestID: "req_1"})
	}
	requireCode(t, problem.Conflict, link(ann, bob, second))
	for _, id := range []string{ann, bob} {
		require.NoError(t, b.service.ConfirmIdentityAs(t.Context(), b.scope, id, staff.By{Person: second}))
	}
	requireCode(t, problem.BadRequest, link(ann, ann, second))
	requireCode(t, problem.BadRequest, link(ann, "prs_unknown", second))
	requireCode(t, problem.SelfApproval, link(ann, second, second))
	requireCode(t, problem.SelfApproval, link(ann, bob, first))
	candidates, err := b.service.LinkCandidates(t.Context(), models.Person{ID: ann, TenantID: b.scope.Tenant})
	require.NoError(t, err)
	require.Len(t, candidates, 3)

	testenv.Exec(t, b.store, "update environments set second_approver_required = true")
	requireCode(t, problem.Conflict, link(ann, bob, second))
	testenv.Exec(t, b.store, "update environments set second_approver_required = false")

	b.clock.Advance(time.Minute)
	require.NoError(t, link(ann, bob, second))
	principal, err := identity.GetPrincipal(t.Context(), b.store.Q, b.scope, "person:"+ann)
	require.NoError(t, err)
	require.Equal(t, "person:"+bob, principal)
	require.True(t, b.isConfirmed(t, bob))
	require.Equal(t, 2, b.events(t, "person.linked"))
	require.NoError(t, link(bob, ann, second), "again")
	require.Equal(t, 2, b.events(t, "person.linked"))

	in, err := b.service.Invite(t.Context(), b.scope, ann, "", "cli:person invite")
	require.NoError(t, err)
	b.accept(t, in)
	require.False(t, b.isConfirmed(t, bob), "one account that was taken over is the person")
	requireCode(t, problem.SelfApproval, b.service.ConfirmIdentity(t.Context(), b.scope, bob, "cli:person confirm"))
}
