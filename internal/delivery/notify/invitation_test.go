package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// link returns the link of the last mail and the number of mails.
func (b *bundle) link(t *testing.T) (token string, mails int) {
	t.Helper()
	all := b.mail.all()
	require.NotEmpty(t, all)
	_, rest, ok := strings.Cut(all[len(all)-1], "https://countersign.example/console/invitation#")
	require.True(t, ok, all[len(all)-1])
	token, _, _ = strings.Cut(rest, "\r\n")
	return token, len(all)
}

// inviteByMail invites a reviewer in the name of an operator, who is returned too.
func (b *bundle) inviteByMail(t *testing.T, address string) (in staff.Invited, author string) {
	t.Helper()
	operator, err := b.people.Create(t.Context(), b.Scope, staff.Invitee{Name: "Olga Operator", Roles: []models.Role{models.RoleOperator}}, "cli:test")
	require.NoError(t, err)
	author = "person:" + operator.Person.ID
	b.Exec("update people set confirmed_at = $2, confirmed_by = 'cli:test' where id = $1", operator.Person.ID, now)
	in, err = b.people.Create(t.Context(), b.Scope, staff.Invitee{Name: "Ann <script> Example", Roles: []models.Role{models.RoleReviewer}, Address: address}, author)
	require.NoError(t, err)
	return in, author
}

func TestInvitationGoesByMailOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in, author := b.inviteByMail(t, "ann@example.com")
	require.Empty(t, in.URL, "no one but the worker makes the link")
	require.Zero(t, b.Count("select count(*) from person_invitations where mac is not null and person_id = $1", in.Person.ID))
	require.Empty(t, b.relay(t))
	token, mails := b.link(t)
	require.Equal(t, 1, mails)
	text := b.mail.all()[0]
	require.Contains(t, text, "To: <ann@example.com>")
	require.NotContains(t, text, "script", "the author of an invitation writes nothing into the mail")
	for _, column := range []string{"person_invitations i", "outbox i", "events i", "person_addresses i"} {
		require.Zero(t, b.Count("select count(*) from "+column+" where position($1 in i::text) > 0", token), column)
		require.Zero(t, b.Count("select count(*) from "+column+" where position('ann@' in i::text) > 0"), column)
	}
	seen, err := b.people.ShowInvitation(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, in.Person.ID, seen.Person.ID)

	b.clock.Advance(time.Hour)
	_, err = b.people.Invite(t.Context(), b.Scope, in.Person.ID, "ann@example.com", author)
	require.NoError(t, err)
	_, err = b.people.ShowInvitation(t.Context(), token)
	require.ErrorContains(t, err, "replaced by a newer one")
	_, err = b.people.Invite(t.Context(), b.Scope, in.Person.ID, "ann@example.com", author)
	require.True(t, problem.Is(err, problem.Conflict), "a mailbox is not flooded")
	require.Empty(t, b.relay(t))
	newer, mails := b.link(t)
	require.Equal(t, 2, mails)
	require.NotEqual(t, token, newer)
}

func TestInvitationThatCannotBeMailedEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  string // of the mail server to the recipient
		off     bool   // the deployment sends no mail
		repeats bool
	}{
		"refused":        {answer: "550 no such user"},
		"not now":        {answer: "451 try again", repeats: true},
		"not configured": {off: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if c.off {
				b.service.Mail = nil
			}
			b.mail.responds("RCPT", c.answer)
			in, _ := b.inviteByMail(t, "ann@example.com")
			require.Equal(t, c.repeats, len(b.relay(t)) > 0)
			rows, _, err := b.people.List(t.Context(), b.Scope.Tenant, pg.Page{Limit: 10})
			require.NoError(t, err)
			require.Equal(t, in.Person.ID, rows[0].ID)
			require.Equal(t, map[bool]string{true: staff.StateInvited, false: staff.StateLapsed}[c.repeats], rows[0].State)
			require.Empty(t, b.mail.all())
			if c.repeats {
				b.mail.responds("RCPT", "")
				b.relay(t)
				token, _ := b.link(t)
				_, err := b.people.ShowInvitation(t.Context(), token)
				require.NoError(t, err)
			}
		})
	}
}

// A row of the outbox that is late mails nothing to an address that the person does not have any more.
func TestInvitationIsMailedWhileItCanBeUsed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, b *bundle, person string){
		"expired": func(_ *testing.T, b *bundle, _ string) { b.clock.Advance(staff.InvitationLife) },
		"revoked": func(t *testing.T, b *bundle, person string) {
			require.NoError(t, b.people.Revoke(t.Context(), b.Scope.Tenant, person, "cli:test"))
		},
		"replaced": func(t *testing.T, b *bundle, person string) {
			_, err := b.people.Invite(t.Context(), b.Scope, person, "", "cli:test")
			require.NoError(t, err)
		},
		"another address": func(_ *testing.T, b *bundle, person string) {
			b.Exec("update person_addresses set changed_at = changed_at + interval '1 second' where person_id = $1", person)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			in, _ := b.inviteByMail(t, "ann@example.com")
			end(t, b, in.Person.ID)
			require.Empty(t, b.relay(t))
			require.Empty(t, b.mail.all())
		})
	}
}
