package browser_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lasting is an action whose policy permits the payer a standing approval.
func (w world) lasting(t *testing.T) string {
	t.Helper()
	key := "payment.lasting_" + unique()
	id := w.post(t, "/api/v1/actions", object{
		"key": key, "name": "Zahlung freigeben", "consequence": "Das Geld verlässt das Konto.", "allowed_audiences": []string{audience}, "resource_type": "lieferant",
		"context_schema": object{"type": "object", "properties": object{
			"amount":   object{"type": "number", "x-countersign-display": object{"label": "Betrag", "format": "money", "currency": "/currency"}, "x-countersign-aggregate": "sum"},
			"currency": object{"type": "string"},
		}},
	}).is(201).string("id")
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": object{
		"coverage_min": "none", "explicit_approval_required": true, "challenge_methods": []string{"passkey"},
		"standing": object{"by": []string{"passkey"}, "max_uses": 40, "max_amount": object{"field": "amount", "limit": "5000"}, "max_duration_seconds": 2592000, "agent": "any"},
	}}).is(201)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	w.do(t, http.MethodPatch, "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200)
	return key
}

// A payer gives a standing approval on a phone in German, sees it on a page of their own, and revokes it there.
func TestPayerRevokesStandingApprovalOnAPhone(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b, _, subject := registered(t, w)
	b.size(390, 844)
	action := w.lasting(t)
	asked := object{
		"subject": subject, "action": action, "audience": audience, "by": "passkey", "resource_id": "lieferant-12", "max_uses": 40,
		"max_amount": object{"amount": "1250.50", "currency": "EUR"}, "ends_at": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
	}
	opened := w.post(t, "/api/v1/standing-approvals", asked).is(201)
	b.open(strings.Replace(w.link(t, opened.string("challenge.id"), nil), "#", "?lang=de#", 1))
	b.see("bis zu 40-mal erlaubt")
	b.requireFits()
	b.requireAccessible()
	b.screenshot("standing-asked-phone")
	b.click("[data-passkey]")
	b.until(`document.querySelector("#challenge").dataset.state === "completed"`)
	approval := "/api/v1/standing-approvals/" + opened.string("standing_approval.id")
	require.Equal(t, "active", w.get(t, approval).is(200).string("status"))
	pays := func() string {
		return w.post(t, "/api/v1/authorize", object{
			"subject": subject, "action": action, "audience": audience, "requested_at": time.Now().Unix(), "nonce": rand.Text(), "idempotency_key": rand.Text(),
			"actor": object{"type": "human", "id": subject}, "resource": object{"type": "lieferant", "id": "lieferant-12"},
			"context": object{"amount": 100.25, "currency": "EUR"},
		}).is(200).string("decision")
	}
	require.Equal(t, "allow", pays())

	page := w.post(t, "/api/v1/subjects/"+subject+"/standing-approvals/link", nil).is(201).string("url")
	_, ticket, _ := strings.Cut(page, "#")
	shared.secret(ticket)
	link := "/standing?lang=de#" + ticket
	stranger := newTab(t)
	stranger.authenticator(true)
	stranger.open(link)
	stranger.see("Ihre Dauerfreigaben")
	stranger.click("[data-passkey]")
	stranger.until(`!document.querySelector("[data-problem]").hidden`)
	require.NotContains(t, stranger.text("html"), "lieferant-12")

	b.open(link)
	b.see("Mit Ihrem Passkey anzeigen")
	require.NotContains(t, b.text("html"), "lieferant-12")
	b.requireFits()
	b.requireAccessible()
	b.screenshot("standing-closed-phone")
	b.click("[data-passkey]")
	b.see("„Zahlung freigeben“ für lieferant „lieferant-12“")
	for _, shown := range []string{"39 von 40", "1.150,25 EUR"} {
		b.see(shown)
	}
	b.requireFits()
	b.requireAccessible()
	b.screenshot("standing-phone")
	b.click(".approvals summary")
	b.see("Das lässt sich nicht rückgängig machen.")
	b.requireAccessible()
	b.click("[data-revoke]")
	b.see("Widerrufen. Diese Freigabe erlaubt nichts mehr.")
	b.see("nichts ohne Rückfrage erlaubt")
	require.NotContains(t, b.text("main"), "lieferant-12")
	b.requireFits()
	b.requireAccessible()
	b.screenshot("standing-revoked-phone")
	require.Equal(t, "ended", w.get(t, approval).is(200).string("status"))
	require.Equal(t, "challenge", pays())
	b.run(reload)
	b.see("nichts ohne Rückfrage erlaubt") // a reload does not close the page
}
