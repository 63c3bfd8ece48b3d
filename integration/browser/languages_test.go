package browser_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// speaks sets the languages of the tab's user, in order, such as "de-AT,en".
func (b *tab) speaks(languages string) {
	b.t.Helper()
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		agent := ""
		if err := chromedp.Evaluate("navigator.userAgent", &agent).Do(ctx); err != nil {
			return err
		}
		return emulation.SetUserAgentOverride(agent).WithAcceptLanguage(languages).Do(ctx)
	}))
}

// language returns the language of the page.
func (b *tab) language() string {
	b.t.Helper()
	var lang string
	b.eval("document.documentElement.lang", &lang)
	return lang
}

// eachLook runs f on a phone and on a desktop, light and dark.
func (b *tab) eachLook(f func(name string)) {
	b.t.Helper()
	for _, width := range widths {
		for _, dark := range []bool{false, true} {
			b.size(width, 800)
			b.dark(dark)
			name := widthName(width)
			if dark {
				name += "-dark"
			}
			f(name)
		}
	}
	b.size(1100, 800)
	b.dark(false)
}

func TestChallengePageInTheLanguageOfItsUser(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	asked := w.paying(t, subject, "challenge", challenging)
	path := w.link(t, asked.string("challenge.id"), nil)
	b := newTab(t)
	b.speaks("de-AT,en")
	b.open(path)
	b.see("Alder Bank bittet Sie um Bestätigung")
	require.Equal(t, "de", b.language())
	b.eachLook(func(look string) {
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("challenge-de-" + look)
	})

	b.click(`[data-language][lang="en"]`)
	b.see("Alder Bank asks you to confirm")
	require.Equal(t, "en", b.language())
	b.run(reload)
	b.see("Alder Bank asks you to confirm") // a reload keeps the choice and the ticket
	b.click(`[data-language][lang="de"]`)
	b.see("Alder Bank bittet Sie um Bestätigung")
	b.until(`!document.querySelector("[data-confirm]").disabled`)
	b.eval(`document.querySelector("[data-confirm]").focus()`, nil)
	b.press(kb.Enter)
	b.seeEnding("Sie haben die Anfrage von Alder Bank bestätigt.")
	require.Equal(t, "completed", w.get(t, "/api/v1/challenges/"+asked.string("challenge.id")).is(200).string("status"))
}

// The page shows the name and the consequence of the action in its language, and what is signed beside it.
func TestChallengePageHasTheActionInTheLanguageOfItsUser(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id := w.post(t, "/api/v1/actions", object{
		"key": "payment.translated", "name": "Send a payment", "consequence": "The money leaves your account.", "allowed_audiences": []string{audience},
		"labels": object{"de": object{"name": "Zahlung senden", "consequence": "Das Geld verlässt Ihr Konto."}, "fr-CA": object{"name": "Envoyer un paiement", "consequence": "L'argent part."}},
	}).is(201).string("id")
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": challenging}).is(201)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	w.do(t, "PATCH", "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200)
	opened := w.challenge(t, w.subject(t), "payment.translated", nil)
	require.Equal(t, "Zahlung senden", w.get(t, "/api/v1/challenges/"+opened.challenge).is(200).string("display.labels.de.name"))
	b := newTab(t)
	b.speaks("de-AT,en")
	b.open(opened.path)
	b.until(`document.querySelector("#heading")?.textContent === "Zahlung senden"`)
	require.Equal(t, "Das Geld verlässt Ihr Konto.", b.text(".consequence"))
	b.click(".signed summary")
	require.Contains(t, b.text(".signed"), "Send a payment")
	require.Contains(t, b.text(".signed"), "The money leaves your account.")
	b.eachLook(func(string) {
		b.requireNoOverflow()
		b.requireAccessible()
	})
	b.click(`[data-language][lang="fr"]`)
	b.until(`document.querySelector("#heading")?.textContent === "Send a payment"`) // fr-CA is not the page's language
	b.click(`[data-language][lang="de"]`)
	b.until(`document.querySelector("#heading")?.textContent === "Zahlung senden"`)
	b.until(`!document.querySelector("[data-confirm]").disabled`)
	b.click("[data-confirm]")
	b.seeEnding("Sie haben die Anfrage von Alder Bank bestätigt.")
	require.Equal(t, "Zahlung senden", b.text(`[data-ending="completed"] h2`))
	require.Equal(t, "completed", w.status(t, opened))
}

func TestRegistrationPageInTheLanguageOfItsUser(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	b := newTab(t)
	b.authenticator(true)
	b.speaks("ja,de,en")
	b.open(w.grant(t, subject, shared.baseURL+"/try"))
	b.see("Alder Bank bittet Sie:")
	require.Equal(t, "de", b.language())
	b.eachLook(func(look string) {
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("register-de-" + look)
	})
	b.click(`[data-language][lang="en"]`)
	b.see("Alder Bank asks you to")
	b.click(`[data-language][lang="de"]`)
	b.see("Alder Bank bittet Sie:")
	b.click("[data-create]")
	b.see("Ihr Passkey ist bereit")
	require.Contains(t, b.text("body"), "Zurück zu localhost")
	b.open("/register?lang=de#grant=" + unique() + unique() + unique())
	b.see("Dieser Link ist unvollständig oder falsch geschrieben")
}

// The layout mirrors itself for a language that is written from right to left.
func TestHostedPagesMirrorForRightToLeft(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	asked := w.paying(t, w.subject(t), "challenge", challenging)
	b := newTab(t)
	b.speaks("ar")
	b.open(w.link(t, asked.string("challenge.id"), nil))
	b.see("يطلب منك Alder Bank التأكيد")
	b.click("summary")
	b.eachLook(func(look string) {
		b.requireNoOverflow()
		b.requireAccessible()
		b.until(`document.documentElement.dir === "rtl" && (() => {
			const [dt, dd] = ["dt", "dd"].map((n) => document.querySelector(".signed .facts " + n).getBoundingClientRect());
			return dt.right >= dd.right && dt.right > innerWidth / 2;
		})()`)
		b.screenshot("challenge-rtl-" + look)
	})
	b.click("[data-confirm]")
	b.seeEnding("وصل تأكيدك إلى Alder Bank")
	b.eachLook(func(look string) {
		b.requireNoOverflow()
		b.screenshot("challenge-rtl-receipt-" + look)
	})
}
