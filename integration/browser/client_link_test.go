package browser_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A link for a client names the brand and nothing else until the subject uses a passkey, and only in that browser. The second ceremony
// confirms.
func TestClientLinkShowsTheRequestToItsSubjectOnly(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b, device, subject := registered(t, w)
	a := w.challenge(t, subject, w.payment(t), object{"for": "client"})

	stranger := newTab(t)
	stranger.authenticator(true)
	stranger.open(a.path)
	stranger.see("waiting for your confirmation at Alder Bank")
	closed := stranger.text("html")
	for _, hidden := range []string{"12,400.00", "Release a payment", "The money leaves", subject, "Cancel"} {
		require.NotContains(t, closed, hidden)
	}
	stranger.requireAccessible()
	stranger.click("[data-passkey]")
	stranger.until(`!document.querySelector("[data-problem]").hidden`)
	require.Equal(t, "open", w.status(t, a))

	b.open(a.path)
	b.see("waiting for your confirmation at Alder Bank")
	b.requireAccessible()
	b.screenshot("challenge-closed")
	b.size(360, 740)
	b.dark(true)
	b.requireFits()
	b.requireAccessible()
	b.screenshot("challenge-closed-phone-dark")
	b.click("[data-passkey]")
	b.see("Release a payment of 12,400.00 EUR")
	require.Equal(t, "open", w.status(t, a), "the first ceremony confirms nothing")
	b.run(reload)
	b.see("Release a payment of 12,400.00 EUR") // a reload does not close the link
	b.click("[data-passkey]")
	b.seeEnding("You confirmed the request of Alder Bank")
	w.requireAllowed(t, a, "phishing_resistant")
	require.Equal(t, int64(3), device.credentials()[0].SignCount, "a registration and two assertions")

	stranger.expect("410")
	stranger.run(reload)
	stranger.see("This link has been used")
	require.NotContains(t, stranger.text("html"), "Release a payment")
}

// Requests of a browser that has not opened the link neither read, confirm nor cancel.
func TestClosedClientLinkMovesNothing(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b, _, subject := registered(t, w)
	a := w.challenge(t, subject, w.payment(t), object{"for": "client"})
	b.open(a.path)
	b.see("waiting for your confirmation at Alder Bank")
	for _, path := range []string{"/standing", "/options", "/complete", "/cancel"} {
		var got struct {
			State     string `json:"state"`
			PublicKey any    `json:"publicKey"`
		}
		b.eval(`fetch(location.pathname + "`+path+`", {method: "POST", headers: {"Content-Type": "application/json"},
			body: JSON.stringify({ticket: "`+a.ticket+`", method: "sandbox_confirm"})}).then((r) => r.json())`, &got)
		require.Equal(t, "closed", got.State, path)
		require.Nil(t, got.PublicKey, path)
	}
	require.Equal(t, "open", w.status(t, a))
}

// In test mode a subject without a passkey opens and confirms with the button.
func TestClientLinkInTestMode(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), object{"for": "client"})
	b := newTab(t)
	b.open(a.path)
	b.see("waiting for your confirmation at Alder Bank")
	b.click("[data-confirm]")
	b.see("Release a payment of 12,400.00 EUR")
	b.click("[data-cancel]")
	b.seeEnding("Nothing was confirmed")
	require.Equal(t, "cancelled", w.status(t, a))
}
