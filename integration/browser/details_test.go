package browser_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// payment is a payment whose amount, account and payee are shown.
type payment struct {
	name, consequence, payee string
	requirements             object
}

// paying requests a payment that gets the decision, and returns the response.
func (w world) paying(t testing.TB, subject, decision string, requirements object) response {
	t.Helper()
	return w.asks(t, subject, decision, payment{
		"Send a payment", "The money leaves your account at once and cannot be called back.", "Müller & Söhne", requirements,
	})
}

// asks creates the action of a payment, requests the payment, which gets the decision, and returns the response.
func (w world) asks(t testing.TB, subject, decision string, p payment) response {
	t.Helper()
	key := "payment.shown_" + unique()
	id := w.post(t, "/api/v1/actions", object{
		"key": key, "name": p.name, "consequence": p.consequence,
		"allowed_audiences": []string{audience}, "resource_type": "account",
		"context_schema": object{
			"type": "object", "x-countersign-display": object{"label": "To account", "format": "account"},
			"properties": object{
				"amount":    object{"type": "number", "x-countersign-display": object{"label": "Amount", "format": "money", "currency": "EUR"}},
				"payee":     object{"type": "string", "x-countersign-display": object{"label": "Payee", "format": "text"}},
				"reference": object{"type": "string", "x-countersign-display": object{"label": "Remittance", "format": "text"}},
			},
		},
	}).is(201).string("id")
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": p.requirements}).is(201)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	w.do(t, "PATCH", "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200)
	a := w.post(t, "/api/v1/authorize", object{
		"subject": subject, "action": key, "audience": audience, "requested_at": time.Now().Unix(), "nonce": rand.Text(), "idempotency_key": rand.Text(),
		"actor": object{"type": "human", "id": subject}, "resource": object{"type": "account", "id": "DE89370400440532013000"},
		"context": object{"amount": 1250.5, "payee": p.payee, "reference": longReference},
	}).is(200)
	require.Equal(t, decision, a.string("decision"), "response: %s", a.body)
	return a
}

// longReference has no place to break a line.
const longReference = "RF18539007547034RF18539007547034RF18539007547034RF18539007547034RF18539007547034RF18539007547034RF18539007547034"

// The hosted page shows the amount first and largest, and the customer's name above ours.
func TestChallengePageShowsAmountAndPayee(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	asked := w.paying(t, subject, "challenge", challenging)
	b := newTab(t)
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.link(t, asked.string("challenge.id"), nil))
		b.see("1,250.50 EUR")
		for _, shown := range []string{"Müller & Söhne", "DE89 3704 0044 0532 0130 00", longReference} {
			require.Contains(t, b.text(".shown"), shown)
		}
		require.Equal(t, "1,250.50 EUR", b.text(".shown dd"), "the amount is the first value")
		b.until(`[...document.querySelectorAll(".shown dd")].every((dd, i, all) => i === 0 ||
			parseFloat(getComputedStyle(dd).fontSize) < parseFloat(getComputedStyle(all[0]).fontSize))`)
		b.until(`document.querySelector(".shown dd").getBoundingClientRect().bottom < innerHeight`)
		b.until(`(() => { // the customer's name, then ours, smaller
			const name = document.querySelector(".customer > bdi"), ours = document.querySelector(".site-header .brand");
			const [a, b] = [name, ours].map((e) => e.getBoundingClientRect());
			return name.textContent === "Alder Bank" && (a.bottom <= b.top || a.right <= b.left) &&
				parseFloat(getComputedStyle(ours).fontSize) < parseFloat(getComputedStyle(name).fontSize);
		})()`)
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("details-challenge-" + widthName(width))
	}
}

// The review queue and the page of a hold show the same values, without cutting them off.
func TestReviewDeskShowsAmountAndPayee(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	held := w.paying(t, w.subject(t), "hold", holding).string("id")
	b := newTab(t)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.console("reviews"))
		b.see("1,250.50 EUR")
		require.Regexp(t, `(?s)Müller & Söhne.*1,250\.50 EUR`, b.text("tr[data-row]"), "the payee and the amount")
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("details-queue-" + widthName(width))

		b.open(w.console("reviews", held))
		b.see("Why it is held")
		require.Equal(t, "1,250.50 EUR", b.text(".case-amount"))
		require.Equal(t, "Müller & Söhne", b.text(".case-title"))
		b.until(`document.querySelector(".case-amount").getBoundingClientRect().bottom < innerHeight`)
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("details-review-" + widthName(width))
	}
}

func widthName(width int64) string {
	if width < 600 {
		return "phone"
	}
	return "desktop"
}
