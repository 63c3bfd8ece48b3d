package browser_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// pathOf returns the path of a page's address.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}

// tryPages are the states of the page for trying the service that need no typing. Its other states are in try_page_test.go.
var tryPages = []pageState{
	{"try", "/try", "Can a service know you", nil},
	{"try-enrol", "/try", "Can a service know you", func(b *tab) {
		b.click("#agree")
		b.see("Passage 1 of 3")
	}},
}

// unknownPages are paths of no page, in each part of the service.
var unknownPages = []pageState{
	{"unknown", "/assets/nothing", "Page not found", nil},
	{"unknown-docs", "/docs/nothing", "Page not found", nil},
	{"unknown-challenge", "/challenge", "Page not found", nil},
	{"unknown-provider", "/console/sign-in/tnt_none/none/callback", "Page not found", nil},
}

// signedOut are the pages of the console for users who are not signed in.
func (w populated) signedOut(t testing.TB) []pageState {
	return []pageState{
		{"console-sign-in", "/console/sign-in", "Sign in to the console", nil},
		{"console-invitation", w.invited(t, "Ines Invited", "reviewer").URL, "Welcome, Ines Invited", nil},
		{"console-invitation-over", "/console/invitation#" + unique(), "This invitation is unknown", nil},
	}
}

// ended runs an SQL statement about the challenge, so that a link or a grant has ended without waiting.
func ended(t testing.TB, statement, about string) {
	t.Helper()
	done, err := shared.Store.Pool().Exec(t.Context(), statement, about)
	require.NoError(t, err)
	require.EqualValues(t, 1, done.RowsAffected())
	testenv.Attest(t, shared.Store)
}

const (
	endLink  = "update challenge_links set expires_at = now() - interval '1 minute' where challenge_id = $1"
	endGrant = `update registration_grants set expires_at = now() - interval '1 minute'
		where subject_uid = (select uid from subjects where external_id = $1) and used_at is null`
)

// newCustomer opens a tab with a passkey device.
func newCustomer(t *testing.T) *tab {
	t.Helper()
	b := newTab(t)
	b.authenticator(true)
	return b
}

func completeChallenge(ctx context.Context, c *countersign.Client, id string) error {
	_, err := c.CompleteChallenge(ctx, id, countersign.ChallengeCompleteRequest{Method: "sandbox_confirm"})
	return err
}

func cancelChallenge(ctx context.Context, c *countersign.Client, id string) error {
	_, err := c.CancelChallenge(ctx, id)
	return err
}

// hostedPages are the pages for a user of a customer with a brand: they confirm and cancel requests, open links that have ended, and
// register the passkey that the last page asks for.
func hostedPages(t testing.TB) []pageState {
	t.Helper()
	w := newSandbox(t)
	w.do(t, "PATCH", "/api/v1/environment", object{"brand": object{"name": "Alder", "accent": "#6b2fb3", "logo": logo(t)}}).is(200)
	subject := w.subject(t)
	asked := func() string { return w.paying(t, subject, "challenge", challenging).string("challenge.id") }
	open := func() string { return w.link(t, asked(), nil) }
	over := func(move func(ctx context.Context, c *countersign.Client, id string) error) string {
		id := asked()
		path := w.link(t, id, nil)
		if move != nil {
			w.relyingParty().Call(t, func(c *countersign.Client) error { return move(t.Context(), c, id) })
		}
		ended(t, endLink, id)
		return path
	}
	german := strings.Replace(open(), "#", "?lang=de#", 1)
	grant := w.grant(t, subject, shared.baseURL+"/try")
	late := w.subject(t)
	lateGrant := w.grant(t, late, "")
	ended(t, endGrant, late)
	return []pageState{
		{"challenge", open(), "1,250.50 EUR", nil},
		{"challenge-german", german, "Alder bittet Sie um Bestätigung", nil},
		{"challenge-arabic", strings.Replace(open(), "#", "?lang=ar#", 1), "يطلب منك Alder التأكيد", nil},
		{"challenge-closed", w.link(t, asked(), object{"for": "client"}), "waiting for your confirmation at Alder", nil},
		{"challenge-signed-values", open(), "1,250.50 EUR", func(b *tab) {
			b.click("summary")
			b.see("applies to these values only")
		}},
		{"challenge-confirmed", open(), "1,250.50 EUR", func(b *tab) {
			b.click("[data-confirm]")
			b.seeEnding("You confirmed the request of Alder.")
		}},
		{"challenge-cancelled", open(), "1,250.50 EUR", func(b *tab) {
			b.click("[data-cancel]")
			b.seeEnding("Nothing was confirmed.")
		}},
		{"challenge-link-used", over(completeChallenge), "This link has been used", nil},
		{"challenge-link-cancelled", over(cancelChallenge), "This request was cancelled", nil},
		{"challenge-link-expired", over(nil), "This link has expired", nil},
		{"challenge-link-mistyped", open()[:len("/challenge/chl_")+30], "This link is incomplete or mistyped", nil},
		{"register", grant, "Alder asks you to", nil},
		{"register-done", grant, "Alder asks you to", func(b *tab) {
			b.click("[data-create]")
			b.see("Your passkey is ready")
		}},
		{"register-link-used", grant, "This link has been used", nil},
		{"register-link-expired", lateGrant, "This link has expired", nil},
		{"register-link-mistyped", "/register#grant=" + unique() + unique() + unique(), "This link is incomplete or mistyped", nil},
	}
}
