package staff_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// mailed invites a person by mail as a member of staff, and returns the link that the worker mails.
func (b *bundle) mailed(t *testing.T, by, address string) staff.Invited {
	t.Helper()
	in, err := b.service.InviteAs(t.Context(), b.scope, staff.Invitee{Name: "Bob Reviewer", Roles: []models.Role{models.RoleReviewer}, Address: address}, staff.By{Person: by})
	require.NoError(t, err)
	require.Empty(t, in.URL)
	in.URL = b.arrives(t, in.Person.ID).URL
	return in
}

// arrives mails the newest invitation of a person.
func (b *bundle) arrives(t *testing.T, person string) staff.Mailed {
	t.Helper()
	var id string
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select id from person_invitations where person_id = $1 order by created_at desc, id desc limit 1", person).Scan(&id))
	out, usable, err := b.service.MintMailed(t.Context(), id)
	require.NoError(t, err)
	require.True(t, usable)
	return out
}

// The author of a mailed invitation has not seen its link, but chose the mailbox: it can be their own.
func TestAuthorOfAMailedInvitationDoesNotConfirm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.operator(t), b.operator(t)
	in := b.mailed(t, first, "bob@bank.example")
	b.accept(t, in)
	bob := in.Person.ID
	rows, _, err := b.service.List(t.Context(), b.scope.Tenant, pg.Page{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, bob, rows[0].ID)
	require.Equal(t, models.Strings{"person:" + first}, rows[0].MayBe)
	require.False(t, b.isConfirmed(t, bob))
	requireCode(t, problem.SelfApproval, b.service.ConfirmIdentityAs(t.Context(), b.scope, bob, staff.By{Person: first}))
	require.NoError(t, b.service.ConfirmIdentityAs(t.Context(), b.scope, bob, staff.By{Person: second}))
	require.True(t, b.isConfirmed(t, bob))

	// Another mail to the same mailbox is no one else's; one to a new mailbox may be its author's.
	b.clock.Advance(time.Hour)
	for _, c := range []struct {
		address string
		by      models.Strings
	}{{"bob@bank.example", models.Strings{"person:" + first}}, {"other@bank.example", models.Strings{"person:" + first, "cli"}}} {
		in, err = b.service.Invite(t.Context(), b.scope, bob, c.address, "cli:person invite")
		require.NoError(t, err)
		require.True(t, b.isConfirmed(t, bob) || c.address == "other@bank.example")
		in.URL = b.arrives(t, bob).URL
		b.accept(t, in)
		require.False(t, b.isConfirmed(t, bob), c.address)
		rows, _, err = b.service.List(t.Context(), b.scope.Tenant, pg.Page{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, c.by, rows[0].MayBe)
		b.clock.Advance(time.Hour)
	}
	requireCode(t, problem.SelfApproval, b.service.ConfirmIdentity(t.Context(), b.scope, bob, "cli:person confirm"))
}

// An address that a person gave and confirmed themselves is theirs: a link that is mailed there shows no one else to be them.
func TestMailToThePersonsOwnAddressLeavesThemConfirmed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.operator(t), b.operator(t)
	bob := b.invitedBy(t, first, models.RoleReviewer)
	require.NoError(t, b.service.ConfirmIdentityAs(t.Context(), b.scope, bob, staff.By{Person: second}))
	in, err := b.service.Invite(t.Context(), b.scope, bob, "bob@bank.example", "cli:test")
	require.NoError(t, err)
	_, err = b.store.Pool().Exec(t.Context(), "update person_addresses set named_by = null, confirmed_at = changed_at where person_id = $1", bob)
	require.NoError(t, err)
	in.URL = b.arrives(t, bob).URL
	b.accept(t, in)
	require.True(t, b.isConfirmed(t, bob))
}

func TestMailedInvitationIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.operator(t)
	b.mailed(t, first, "Bob@bank.example")
	for address, code := range map[string]problem.Code{
		"bob@bank.example":                         problem.BadRequest,
		"BOB@BANK.EXAMPLE":                         problem.BadRequest,
		"bob+second@bank.example":                  problem.BadRequest,
		"nobody":                                   problem.BadRequest,
		"Ann <ann@bank.example>":                   problem.BadRequest,
		"ann@bank.example, eve@bank.example":       problem.BadRequest,
		"ann@bank.example\r\nBcc: eve@evil.test":   problem.BadRequest,
		"ann@b\u00fccher.example":                  problem.BadRequest,
		"ann@[127.0.0.1]":                          problem.BadRequest,
		"ann@10.0.0.1":                             problem.BadRequest,
		"ann@-":                                    problem.BadRequest,
		"ann@localhost":                            problem.BadRequest,
		"ann@mail":                                 problem.BadRequest,
		"ann@bank.localhost":                       problem.BadRequest,
		"ann@bank.invalid":                         problem.BadRequest,
		"ann@co.uk":                                problem.BadRequest,
		"ann@bank.example.":                        problem.BadRequest,
		"ann@bank..example":                        problem.BadRequest,
		"ann..b@bank.example":                      problem.BadRequest,
		".ann@bank.example":                        problem.BadRequest,
		`"ann@eve.example"@bank.example`:           problem.BadRequest,
		"@bank.example":                            problem.BadRequest,
		strings.Repeat("a", 65) + "@bank.example":  problem.BadRequest,
		strings.Repeat("a", 250) + "@bank.example": problem.BadRequest,
	} {
		_, err := b.service.InviteAs(t.Context(), b.scope, staff.Invitee{Name: "Ann", Roles: []models.Role{models.RoleReviewer}, Address: address}, staff.By{Person: first})
		requireCode(t, code, err)
	}
	testenv.Exec(t, b.store, "update environments set second_approver_required = true")
	_, err := b.service.InviteAs(t.Context(), b.scope, staff.Invitee{Name: "Ann", Roles: []models.Role{models.RoleReviewer}, Address: "ann@bank.example"}, staff.By{Person: first})
	requireCode(t, problem.Conflict, err)
	other := storetest.Scope(storetest.Environment(t, b.store, models.Sandbox))
	_, err = b.service.Create(t.Context(), other, staff.Invitee{Name: "Bob", Roles: []models.Role{models.RoleReviewer}, Address: "bob@bank.example"}, "cli:test")
	require.NoError(t, err, "another tenant's people are its own")
}

// Each mail has a link of its own, and the earlier one ends.
func TestARepeatedMailHasANewLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.mailed(t, b.operator(t), "bob@bank.example")
	again := b.arrives(t, in.Person.ID)
	require.NotEqual(t, in.URL, again.URL)
	_, err := b.service.ShowInvitation(t.Context(), tokenOf(t, in))
	requireCode(t, problem.GrantInvalid, err)
	in.URL = again.URL
	b.accept(t, in)
	_, usable, err := b.service.MintMailed(t.Context(), ids.New(ids.Invitation))
	require.NoError(t, err)
	require.False(t, usable, "an unknown one")
}

// Accounts with one confirmed address are suggested for linking, until they are linked.
func TestAccountsWithTheSameAddressAreSuggested(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.operator(t), b.operator(t)
	in := b.mailed(t, first, "Bob@bank.example")
	same := func() map[string][]string {
		rows, _, err := b.service.List(t.Context(), b.scope.Tenant, pg.Page{Limit: 10})
		require.NoError(t, err)
		out := map[string][]string{}
		for _, r := range rows {
			for _, o := range r.Same {
				out[r.ID] = append(out[r.ID], o.ID)
			}
		}
		return out
	}
	provider := b.provider(t)
	opened, err := b.service.SignInFrom(t.Context(), staff.Account{
		Provider: provider, Subject: "bob", Name: "Bob", Address: "bob@bank.example", SignIn: []byte("1"), Roles: map[string][]models.Role{b.scope.Environment: {models.RoleReviewer}},
	}, "")
	require.NoError(t, err)
	federated := opened.Session.Person.ID
	require.Empty(t, same(), "the address of an invitation is not Bob's before he has joined")
	b.accept(t, in)
	require.Equal(t, map[string][]string{in.Person.ID: {federated}, federated: {in.Person.ID}}, same())
	require.NoError(t, b.service.ConfirmIdentityAs(t.Context(), b.scope, in.Person.ID, staff.By{Person: second}))
	require.NoError(t, b.service.LinkAs(t.Context(), b.scope, in.Person.ID, federated, staff.By{Person: second}))
	require.Empty(t, same())
}

// Authors of invitations choose whom the service writes to, but not how often.
func TestMailedInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	invite := func(address string) error {
		_, err := b.service.Create(t.Context(), b.scope, staff.Invitee{Name: "Bob", Roles: []models.Role{models.RoleReviewer}, Address: address}, "cli:test")
		return err
	}
	require.NoError(t, invite("bob@bank.example"))
	_, err := b.store.Pool().Exec(t.Context(), `insert into person_invitations (id, mailed, person_id, created_at, created_by, expires_at)
		select 'inv_' || n, true, person_id, created_at, created_by, expires_at from person_invitations, generate_series(1, 199) n`)
	require.NoError(t, err)
	requireCode(t, problem.Conflict, invite("eve@bank.example"))
	b.clock.Advance(time.Hour)
	require.NoError(t, invite("eve@bank.example"))
}

func TestOneOfConcurrentInvitationsHasTheAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var invited atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := b.service.Create(t.Context(), b.scope, staff.Invitee{Name: "Bob", Roles: []models.Role{models.RoleReviewer}, Address: "bob@bank.example"}, "cli:test")
			if err == nil {
				invited.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, invited.Load())
}
