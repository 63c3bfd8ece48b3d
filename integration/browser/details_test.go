package browser_test

import (
	"crypto/rand"
	"maps"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
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
				"amount":    object{"type": "number", "x-countersign-display": object{"label": "Amount", "labels": labels("Betrag", "Montant", "Importe", "المبلغ"), "format": "money", "currency": "EUR"}},
				"payee":     object{"type": "string", "x-countersign-display": object{"label": "Payee", "labels": labels("Empfänger", "Bénéficiaire", "Beneficiario", "المستفيد"), "format": "text", "title": true}},
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

// labels are a label in German, French, Spanish and Arabic.
func labels(de, fr, es, ar string) object { return object{"de": de, "fr": fr, "es": es, "ar": ar} }

// longReference has no place to break a line.
const longReference = "RF18539007547034RF18539007547034RF18539007547034RF18539007547034RF18539007547034RF18539007547034RF18539007547034"

// The hosted page shows the amount first and largest, the warning above the button, and the customer's name alone in its head.
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
		b.until(`[...document.querySelectorAll(".request > .shown dd")].every((dd, i, all) => i === 0 ||
			parseFloat(getComputedStyle(dd).fontSize) < parseFloat(getComputedStyle(all[0]).fontSize))`)
		b.until(`document.querySelector(".shown dd").getBoundingClientRect().bottom < innerHeight`)
		b.until(`(() => { // the customer's name above all, ours in the footer
			const name = document.querySelector(".customer > bdi"), ours = document.querySelector(".brand");
			return name.textContent === "Alder Bank" && ours.closest("footer") &&
				parseFloat(getComputedStyle(ours).fontSize) < parseFloat(getComputedStyle(name).fontSize);
		})()`)
		require.Contains(t, b.text("[data-confirm]"), "Confirm 1,250.50 EUR for Müller & Söhne", "the button says what it does")
		b.until(`document.querySelector(".request > .note.warn").compareDocumentPosition(document.querySelector("[data-confirm]")) === Node.DOCUMENT_POSITION_FOLLOWING`)
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("details-challenge-" + widthName(width))
	}
}

// After the confirmation the page is a receipt: what, when, and to whom.
func TestChallengePageGivesAReceipt(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	asked := w.paying(t, w.subject(t), "challenge", challenging)
	b := newTab(t)
	b.open(w.link(t, asked.string("challenge.id"), nil))
	b.click("[data-confirm]")
	b.seeEnding("You confirmed the request of Alder Bank")
	for range 2 { // a reload shows it again
		for _, shown := range []string{"1,250.50 EUR", "Müller & Söhne", "DE89 3704 0044 0532 0130 00", "Alder Bank", "Confirmed on", asked.string("challenge.id")} {
			require.Contains(t, b.text(".receipt"), shown)
		}
		b.until(`/20\d\d/.test(document.querySelector("[data-completed]").textContent)`)
		b.eachLook(func(look string) {
			b.requireNoOverflow()
			b.requireAccessible()
			b.screenshot("challenge-receipt-" + look)
		})
		b.run(reload)
		b.see("Confirmed on")
	}
}

// Text of twice the size, in a window of 320 pixels: nothing overflows, and no number breaks.
func TestHostedPagesGrowWithTheText(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	asked := w.paying(t, w.subject(t), "challenge", challenging)
	b := newTab(t)
	b.size(320, 640)
	b.run(page.SetFontSizes(&page.FontSizes{Standard: 32, Fixed: 26}))
	b.open(w.link(t, asked.string("challenge.id"), nil))
	b.see("1,250.50 EUR")
	b.until(`parseFloat(getComputedStyle(document.documentElement).fontSize) === 32`)
	whole := func(selector string) {
		b.until(`(() => {
			const text = document.querySelector("` + selector + `").firstChild, number = document.createRange();
			number.setStart(text, 0);
			number.setEnd(text, "1,250.50".length);
			return new Set([...number.getClientRects()].map((r) => r.top)).size === 1;
		})()`)
	}
	whole("[data-is=amount] bdi")
	whole("[data-amount]")
	b.requireNoOverflow()
	b.requireAccessible()
	b.screenshot("challenge-large-text")
	b.click("[data-confirm]")
	b.seeEnding("You confirmed the request of Alder Bank")
	whole(".receipt [data-is=amount] bdi")
	b.requireNoOverflow()
	b.screenshot("challenge-large-text-receipt")
}

// What is signed is the same for every reader; what is shown is in the reader's locale and language.
func TestChallengePageWritesAsItsReaderDoes(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for languages, want := range map[string]struct{ label, amount, button string }{
		"en-GB":    {"Payee", "1,250.50 EUR", "Confirm 1,250.50 EUR for Müller & Söhne"},
		"de-DE":    {"Empfänger", "1.250,50 EUR", "1.250,50 EUR für Müller & Söhne bestätigen"},
		"de-CH,de": {"Empfänger", "1'250.50 EUR", "1'250.50 EUR für Müller & Söhne bestätigen"},
		"fr-FR":    {"Bénéficiaire", "1\u202f250,50 EUR", "Confirmer 1\u202f250,50 EUR pour Müller & Söhne"},
		"es-MX":    {"Beneficiario", "1,250.50 EUR", "Confirmar 1,250.50 EUR para Müller & Söhne"},
		"ar-EG":    {"المستفيد", "١٬٢٥٠٫٥٠ EUR", "Müller & Söhne"},
	} {
		t.Run(languages, func(t *testing.T) {
			t.Parallel()
			b := newTab(t)
			b.speaks(languages)
			asked := w.paying(t, w.subject(t), "challenge", challenging) // its time begins once the browser has started
			b.open(w.link(t, asked.string("challenge.id"), nil))
			b.see(want.label)
			require.Equal(t, want.amount, b.text("[data-is=amount]"))
			require.Contains(t, b.text("[data-confirm]"), want.button)
			b.click("summary")
			require.Contains(t, b.text(".signed"), "1,250.50 EUR", "as it is signed")
			b.requireNoOverflow()
			b.requireAccessible()
			b.screenshot("challenge-" + languages)
		})
	}
}

// A payer on a phone sees first who is paid how much, and the buttons, whatever the number of details and their order in the schema.
func TestPayersButtonIsInViewOnAPhone(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b := newTab(t)
	b.size(390, 664)
	id := w.pays(t, w.supplierPayments(t, maps.Clone(challenging)), 500, "Müller & Söhne")
	b.open(w.link(t, w.get(t, "/api/v1/authorizations/"+id).is(200).string("challenge.id"), nil))
	b.until(`[...document.querySelectorAll("[data-request] .shown dd")].slice(0, 2).map((dd) => dd.dataset.is).sort().join() === "amount,payee"`)
	b.until(`document.querySelectorAll("[data-request] .shown dd").length === 12`)
	b.until(`(({top, bottom}) => top > 0 && bottom <= 664)(document.querySelector("[data-confirm]").getBoundingClientRect())`)
	b.requireNoOverflow()
	b.requireAccessible()
	b.screenshot("challenge-phone-twelve")
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
