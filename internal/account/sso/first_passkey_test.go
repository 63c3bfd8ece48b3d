package sso_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// invitationEnded requires that an invitation has ended, or that it is open.
func (b *bundle) invitationEnded(in staff.Invited, ended bool) {
	b.t.Helper()
	_, token, _ := strings.Cut(in.URL, "#")
	_, err := b.people.AcceptInvitation(b.t.Context(), token, json.RawMessage(`{}`), "")
	code := problem.RegistrationRefused // the response, not the invitation
	if ended {
		code = problem.GrantInvalid
	}
	require.True(b.t, problem.Is(err, code), "%v", err)
}

// The link stays in the history of the browser, which may be shared. An operator's invitation replaces a lost passkey and was issued
// outside any session of the person.
func TestFirstPasskeyLinkEndsWithItsSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *bundle, in staff.Session) error{
		"sign-out": func(b *bundle, in staff.Session) error { return b.people.SignOut(t.Context(), in, "") },
		"withdrawn role": func(b *bundle, _ staff.Session) error {
			b.fake.groups = []string{"audit"}
			_, err := b.signIn()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			groups := b.fake.groups
			session := b.signedIn().Session
			link, err := b.people.FirstPasskey(t.Context(), session, "")
			require.NoError(t, err)
			b.invitationEnded(link, false)
			require.NoError(t, end(b, session))
			b.invitationEnded(link, true)

			b.fake.groups = groups
			session = b.signedIn().Session
			invited, err := b.people.Invite(t.Context(), pg.Scope{Tenant: b.env.TenantID, Environment: b.env.ID}, session.Person.ID, "", "cli:test")
			require.NoError(t, err)
			require.NoError(t, end(b, session))
			b.invitationEnded(invited, false)
		})
	}
}

// Each of the two waits for the other: a link that was being issued is void, or the request for it is refused.
func TestSignOutWaitsForTheLinkBeingIssued(t *testing.T) {
	t.Parallel()
	b := setup(t)
	session := b.signedIn().Session
	waiting := func(n int) {
		require.Eventually(t, func() bool { return storetest.Waiting(t, b.store) == n }, 20*time.Second, time.Millisecond)
	}
	type issued struct {
		link staff.Invited
		err  error
	}
	issue, signOut := make(chan issued, 1), make(chan error, 1)
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		if _, err := staff.LockPerson(t.Context(), q, session.Person.TenantID, session.Person.ID); err != nil {
			return err
		}
		go func() {
			link, err := b.people.FirstPasskey(t.Context(), session, "")
			issue <- issued{link, err}
		}()
		waiting(1)
		go func() { signOut <- b.people.SignOut(t.Context(), session, "") }()
		waiting(2)
		return nil
	}))
	require.NoError(t, <-signOut)
	if got := <-issue; got.err == nil {
		b.invitationEnded(got.link, true)
	} else {
		require.True(t, problem.Is(got.err, problem.Unauthenticated), "%v", got.err)
	}
}
