package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/countersign-dev/countersign/models"
)

// The search of everything opens with Ctrl-K on every page, in a field of text as well, and is used with the keyboard alone. The key / moves
// to the filter of the list, or to the search if the page has no list.
func TestConsoleSearchesEverythingByKeyboard(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	held, subject := w.holdOf(t, action)
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	open := `document.querySelector("dialog[data-finder]").open`
	control := func(key string) { b.run(chromedp.KeyEvent(key, chromedp.KeyModifiers(input.ModifierCtrl))) }
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.console("health"))
		b.press("/")
		b.until(open)                                    // the page has no list
		b.eval(`document.activeElement.value = ""`, nil) // the driver types the key that a browser's user only presses
		control("k")
		b.until(open)
		b.press(subject[:len(subject)-1])
		b.until(`document.querySelector("[data-results] a")?.textContent.includes("` + subject + `")`)
		b.until(`document.querySelector("dialog [data-said]").textContent === "1 result"`)
		b.requireAccessible()
		b.requireNoOverflow()
		control("k")
		b.until(open) // pressing it again changes nothing
		b.press(kb.ArrowDown)
		b.until(`document.activeElement.matches("[data-results] a")`)
		b.press(kb.ArrowUp)
		b.until(`document.activeElement.id === "finder-text"`)
		b.press(kb.Escape)
		b.until(`!` + open)
	}
	b.open(w.console("health"))
	b.click("[data-find]")
	b.until(open)
	b.press("webh")
	b.until(`document.querySelector("[data-results] a")?.textContent === "Webhooks"`)
	b.press(kb.ArrowDown)
	b.press(kb.Enter)
	b.until(`location.pathname.endsWith("/webhooks")`)
	paid := w.pays(t, w.supplierPayments(t, overOneThousand()), 48210, "Müller & Söhne")
	for _, text := range []string{"muller", "48210", "48.210,00", "de89370400440532013000"} {
		b.open(w.console("search?q=" + text))
		b.until(`document.querySelector("[data-found] a")?.pathname.endsWith("/reviews/` + paid + `")`)
	}
	b.open(w.console("decisions"))
	b.press("/")
	b.until(`document.activeElement.name === "q" && document.activeElement.matches("main [data-search]")`)
	control("k")
	b.until(open)
	b.press("nothing of the kind")
	b.until(`document.querySelector("dialog [data-said]").textContent === "Nothing matches."`)
	b.eval(`document.activeElement.value = ""`, nil)
	b.press(held)
	b.until(`document.querySelector("[data-results] a")`)
	b.press(kb.Enter)
	b.until(`location.pathname.endsWith("/decisions/` + held + `")`) // a complete id opens its page
	b.open(w.console("search?q=" + subject[:4]))
	b.see(subject)
	b.requireAccessible()
	b.requireNoOverflow()
	b.screenshot("console-search")
}

// A stranger finds a payment that was decided from the first page of the console in two actions: a search, and a choice among what it found,
// which says when each was.
func TestStrangerFindsADecidedPayment(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	paid := w.pays(t, action, 12.5, "Müller & Söhne")
	withdrawn := w.pays(t, action, 48210, "Müller & Söhne")
	w.pays(t, action, 3000, "Acme GmbH")
	w.post(t, "/api/v1/authorizations/"+withdrawn+"/withdraw", object{}).is(200)
	b := newTab(t)
	b.enter(w, "Ann Reviewer", models.RoleReviewer, models.RoleAuditor)
	for found, opens := range map[string]string{"12.50 EUR allow": "/decisions/" + paid, "48,210.00 EUR withdrawn": "/reviews/" + withdrawn} {
		for _, width := range widths {
			b.size(width, 800)
			b.open("/console")
			b.until(`location.pathname.endsWith("/reviews")`)
			b.click("[data-find]")
			b.press("mueller" + kb.Enter) // the first action
			b.until(`document.querySelectorAll("main [data-found] li").length === 2`)
			row := `[...document.querySelectorAll("main [data-found] li")].find((li) => li.textContent.includes("` + found + `"))`
			b.until(row + `?.querySelector("time").textContent.endsWith(" ago")`)
			b.requireAccessible()
			b.requireFits()
			b.eval(row+`.querySelector("a").click()`, nil) // and the second
			b.until(`location.pathname.endsWith("` + opens + `")`)
			b.see("Müller & Söhne")
		}
	}
}

// A reviewer saves a filter, opens it, renames it and deletes it.
func TestConsoleSavesFilters(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	w.holdOf(t, action)
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	b.size(1280, 800)
	b.open(w.console("reviews") + "?sort=opened")
	b.click(".saved summary")
	b.run(chromedp.SendKeys(`.saved input[name="name"]`, "Newest", chromedp.ByQuery))
	b.press(kb.Enter)
	b.until(`document.querySelector('.saved [aria-current]')?.textContent === "Newest"`)
	for _, width := range widths {
		b.size(width, 800)
		b.click(".saved summary")
		b.requireAccessible()
		b.requireNoOverflow()
		b.click(".saved summary")
	}
	b.click(".saved summary")
	b.click(`.saved button[formaction]`)
	b.until(`!document.querySelector('.saved .segments')`)
}
