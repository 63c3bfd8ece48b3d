package browser_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// supplierPayments creates an action whose requests show twelve values, with a rule that holds those over 1,000.
func (w world) supplierPayments(t testing.TB, requirements object) string {
	t.Helper()
	shown := func(label, format string, more object) object {
		of := object{"label": label, "format": format}
		maps.Copy(of, more)
		kind := "string"
		if format == "money" {
			kind = "number"
		}
		return object{"type": kind, "x-countersign-display": of}
	}
	key := "payment.supplier_" + unique()
	id := w.post(t, "/api/v1/actions", object{
		"key": key, "name": "Pay a supplier", "consequence": "The money leaves the account at once and cannot be called back.",
		"allowed_audiences": []string{audience}, "resource_type": "account",
		"context_schema": object{"type": "object", "required": []string{"amount"}, "x-countersign-display": object{"label": "To account", "format": "account", "order": 3}, "properties": object{
			"amount":   shown("Amount", "money", object{"currency": "EUR", "order": 1}),
			"payee":    shown("Payee", "text", object{"order": 2, "title": true}),
			"fee":      shown("Fee", "money", object{"currency": "EUR", "order": 4}),
			"invoice":  shown("Invoice", "text", nil),
			"due":      shown("Payment date", "date", nil),
			"bank":     shown("Bank", "text", nil),
			"country":  shown("Country", "text", nil),
			"purpose":  shown("Purpose", "text", nil),
			"cost":     shown("Cost centre", "text", nil),
			"contract": shown("Contract", "text", nil),
			"ordered":  shown("Ordered by", "text", nil),
		}},
	}).is(201).string("id")
	requirements["rules"] = []object{{"name": "large_payment", "when": "context.amount > 1000.0", "reason": "Payments over 1,000 EUR need a second pair of eyes.",
		"requirements": object{"hold_on": []string{"rule_matched"}}}}
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": requirements}).is(201)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	w.do(t, "PATCH", "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200)
	return key
}

// pays requests a payment to a supplier, which is held, and returns the id of its authorization.
func (w world) pays(t testing.TB, action string, amount float64, payee string) string {
	t.Helper()
	return w.paysTo(t, action, amount, payee, w.subject(t), "DE89370400440532013000")
}

// paysTo is pays by a subject to an account.
func (w world) paysTo(t testing.TB, action string, amount float64, payee, subject, account string) string {
	t.Helper()
	return w.post(t, "/api/v1/authorize", object{
		"subject": subject, "action": action, "audience": audience, "requested_at": time.Now().Unix(), "nonce": rand.Text(), "idempotency_key": rand.Text(),
		"actor": object{"type": "human", "id": subject}, "resource": object{"type": "account", "id": account},
		"context": object{"amount": amount, "payee": payee, "fee": 2.5, "invoice": "INV-2026-1187", "due": "2026-12-01", "bank": "Commerzbank Frankfurt", "country": "Germany",
			"purpose": "Steel profiles, second delivery of November", "cost": "4711 Workshop", "contract": "C-2024-031", "ordered": "Eva Einkauf"},
	}).is(200).string("id")
}

// overOneThousand holds payments by the rule alone.
func overOneThousand() object { return object{"coverage_min": "none"} }

var suppliers = []string{"Müller & Söhne", "Ørsted Wind Power A/S", "Société Générale d’Électricité", "Acme GmbH", "Łódź Steel Works"}

// The head of a hold says who is paid how much and why it is held in the author's words, with the buttons, whatever the number of details.
func TestHoldBeginsWithPayeeAmountAndReason(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	for i := range 8 {
		w.pays(t, action, 1250.5+float64(i)*417, suppliers[i%len(suppliers)])
	}
	held := w.pays(t, action, 48210, "Müller & Söhne")
	b := newTab(t)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	for _, c := range []struct{ width, height, approve int64 }{{1280, 800, 800}, {390, 664, 664}} {
		b.size(c.width, c.height)
		b.open(w.console("reviews", held))
		b.see("Payments over 1,000 EUR need a second pair of eyes.")
		require.Equal(t, "Müller & Söhne", b.text(".case-title"))
		require.Equal(t, "48,210.00 EUR", b.text(".case-amount"))
		require.Contains(t, b.text(".reason"), "48,210.00 EUR", "the value that the rule read")
		require.NotContains(t, b.text(".case-head"), "rule_matched")
		var labels string
		b.eval(`[...document.querySelectorAll(".shown dt")].map((dt) => dt.textContent).join()`, &labels)
		require.Equal(t, "Amount,Payee,To account,Fee,Bank,Contract,Cost centre,Country,Payment date,Invoice,Ordered by,Purpose", labels, "each value once, in the order of the schema")
		b.until(fmt.Sprintf(`document.querySelector("[data-approve]").getBoundingClientRect().bottom < %d`, c.approve))
		b.eval(`scrollTo(0, document.body.scrollHeight)`, nil)
		b.until(fmt.Sprintf(`(({top, bottom}) => top > 0 && bottom < %d)(document.querySelector("[data-approve]").getBoundingClientRect())`, c.approve))
		b.eval(`scrollTo(0, 0)`, nil)
		b.until(`document.querySelector(".related").textContent.includes("same payee")`)
		b.until(`(([line, ...others]) => others.length === 0 && line.className.trim() === "evidence" && line.textContent.includes("not assessed"))(document.querySelectorAll(".evidence"))`)
		b.until(`!document.querySelector(".record").open`)
		b.requireNoOverflow()
		b.requireClean()
		b.screenshot("hold-" + widthName(c.width))
	}
}

// A hold takes two keys, after which the next one of the queue is open and says what became of it. A few Tabs lead to Approve.
func TestHoldTakesTwoKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	var held []string
	for i := range 4 {
		held = append(held, w.pays(t, action, 2000+float64(i), suppliers[i]))
	}
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews", held[1]))
	b.waitForStream()
	b.press("a")
	b.until(`document.activeElement.matches("[data-approve]")`)
	b.press(kb.Enter)
	b.until(fmt.Sprintf("location.pathname.endsWith(%q)", held[2]))
	b.see("Ørsted Wind Power A/S 2,001.00 EUR: Approved")
	b.waitForStream()
	b.press("j")
	b.until(fmt.Sprintf("location.pathname.endsWith(%q)", held[3]))
	b.waitForStream()
	b.press("k")
	b.until(fmt.Sprintf("location.pathname.endsWith(%q)", held[2]))
	b.waitForStream()

	b.eval("document.activeElement.blur()", nil)
	b.press(kb.Tab)
	b.until(`document.activeElement.matches(".skip")`)
	b.press(kb.Enter)
	b.until(`document.activeElement.id === "main"`)
	var on bool
	tabs := 1
	for ; !on && tabs < 7; tabs++ {
		b.press(kb.Tab)
		b.eval(`document.activeElement.matches("[data-approve]")`, &on)
	}
	require.LessOrEqual(t, tabs, 6, "Tabs to Approve")
	require.True(t, on)

	b.open(w.console("reviews", held[1])) // settled: the neighbours are those of the place that it had
	b.waitForStream()
	b.press("j")
	b.until(fmt.Sprintf("location.pathname.endsWith(%q)", held[2]))
}

// A review takes effect after five seconds, which count down. Until then one key undoes it, and the note is there again. A selection is undone as one.
func TestReviewIsUndoneByOneKey(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	var held []string
	for i := range 3 {
		held = append(held, w.pays(t, action, 2000+float64(i), suppliers[0]))
	}
	status := func(id string) string { return w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status") }
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews", held[0]))
	b.waitForStream()
	b.press("n")
	b.press("Called back.")
	b.press(kb.Escape)
	b.press("a")
	b.press(kb.Enter)
	b.until(fmt.Sprintf("location.pathname.endsWith(%q)", held[1]))
	b.see("Approved: Müller & Söhne 2,000.00 EUR. This takes effect at")
	b.until(`document.activeElement.matches(".given p")`)
	b.press("z")
	b.see("Undone: your review was not made.")
	b.until(fmt.Sprintf(`location.pathname.endsWith(%q) && document.querySelector("#note").value.endsWith("Called back.")`, held[0]))

	b.press("a")
	b.press(kb.Enter)
	b.until(`/Undo \([1-4] s\)/.test(document.querySelector("[data-undo]")?.textContent ?? "")`)
	for _, width := range widths {
		b.size(width, 800)
		b.requireNoOverflow()
		b.screenshot("undo-" + widthName(width))
	}
	b.size(1280, 800)
	b.see("Müller & Söhne 2,000.00 EUR: Approved: allowed, proof issued.")
	b.until(`!document.querySelector("[data-undo]")`)
	require.Equal(t, "approved", status(held[0]))

	b.open(w.console("reviews"))
	b.waitForStream()
	b.press("X")
	b.press("a")
	b.press(kb.Enter)
	b.until(`document.activeElement.textContent === "Approve 2 holds"`)
	b.press(kb.Enter)
	b.see("Approved 2 holds. This takes effect at")
	b.until(`document.activeElement.textContent === "Back to the reviews"`) // the script runs
	b.press("z")
	b.see("Undone: your 2 reviews were not made.")
	b.requireClean()
	b.until(`location.pathname.endsWith("/reviews") && document.querySelectorAll("[data-row]").length === 2`)
	for _, id := range held[1:] {
		require.Equal(t, "pending", status(id))
	}
}

// A rejection needs a reason in the console. The note outlives the session.
func TestRejectionNeedsAReason(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	held := w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	in := b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews", held))
	b.waitForStream()
	b.until(`!document.querySelector("#note").required`) // an approval needs none
	b.click("[data-reject]")
	b.until(`document.querySelector("#note:invalid") === document.activeElement`)
	b.eval(`document.querySelector("form[data-review]").noValidate = true`, nil)
	b.expect("status of 422")
	b.click("[data-reject]")
	b.see("Say in the note why you reject the request.")
	b.waitForStream()
	b.press("n")
	b.press("Not our invoice.")
	require.NoError(t, shared.Store.Write(t.Context(), func(q *pg.Q) error {
		_, err := staff.EndConsoleSessions(t.Context(), q, in.Person.ID, shared.Clock.Now())
		return err
	}))
	b.expect("status of 401")
	b.click("[data-reject]")
	b.see("Sign in to the console")
	b.click("[data-start]")
	b.see("Why it is held")
	b.until(`document.querySelector("#note").value.endsWith("Not our invoice.")`)
	b.review("[data-reject]", "This hold is rejected")
	b.until(`Object.keys(sessionStorage).length === 0`)
	b.see("Why it was held")
	require.Regexp(t, `rejected by Ann Reviewer on \d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC`, b.text(".ending"))
	b.requireClean()
}

// A reviewer whose approval has become the last one since the page was opened reads so, also while writing, and is asked once more.
func TestLastApprovalIsAskedForTwice(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	wanted := overOneThousand()
	wanted["approvals_required"] = 2
	ann, bob := newTab(t), newTab(t)
	ann.enter(w, "Ann Reviewer", models.RoleReviewer)
	bob.enter(w, "Bob Reviewer", models.RoleReviewer)
	held := w.pays(t, w.supplierPayments(t, wanted), 2000, suppliers[0])
	bob.open(w.console("reviews", held))
	bob.waitForStream()
	bob.press("n")
	bob.press("I have called them.")
	ann.open(w.console("reviews", held))
	ann.review("[data-approve]", "You approved this hold.")
	bob.see("1 of 2: Ann Reviewer")
	bob.see("Yours is the last approval")
	bob.expect("status of 422")
	bob.click("[data-approve]")
	bob.see("yours is now the last approval and decides the request")
	bob.until(`document.querySelector("#note").value.endsWith("I have called them.")`)
	bob.review("[data-approve]", "This hold is approved")
	require.Regexp(t, `approved by Ann Reviewer and Bob Reviewer on .* UTC`, bob.text(".ending"))
	require.Regexp(t, `(?s)The decision that followed was allow.*Its proof prf_\w+ was issued on .* UTC\. It is valid until .* UTC`, bob.text(".ending"))
	bob.requireClean()
	bob.screenshot("hold-ended")
}

// The queue shows fifteen requests in a window of 1280 by 800, each in one line that says who is paid how much and why it is held.
func TestDeskShowsFifteenRows(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	for i := range 20 {
		w.pays(t, action, 1250.5+float64(i)*417, suppliers[i%len(suppliers)])
	}
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews"))
	b.waitForStream()
	var rows int
	b.eval(`[...document.querySelectorAll("[data-row]")].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`, &rows)
	require.GreaterOrEqual(t, rows, 15)
	require.Regexp(t, `(?s)Müller & Söhne.*1,250\.50 EUR.*Payments over 1,000 EUR need a second pair of eyes\.`, b.text("[data-row]"))
	b.until(`(({right}, head) => Math.abs(right - head.right) < 1)(document.querySelector("td.amount").getBoundingClientRect(), document.querySelector("th.number").getBoundingClientRect())`)
	for _, width := range widths {
		b.size(width, 800)
		b.requireNoOverflow()
		b.requireClean()
		b.screenshot("desk-" + widthName(width))
	}
	b.until(`document.querySelector("[data-row]").getBoundingClientRect().top + scrollY < 340`) // on a phone, too, holds begin on the first screen
	b.size(1280, 800)
	b.press("/")
	b.until(`document.activeElement.id === "f-text"`)
	b.eval(`document.activeElement.value = ""`, nil)
	b.press("societe generale")
	b.until(`document.querySelectorAll("[data-row]").length === 4 && new URLSearchParams(location.search).get("q") === "societe generale"`)
	b.eval(`document.activeElement.value = ""`, nil)
	b.press("1250,5")
	b.until(`document.querySelectorAll("[data-row]").length === 1`)
	b.run(chromedp.MouseClickXY(700, b.middle("[data-row]")))
	b.see("Why it is held")
}

// middle returns the vertical middle of an element in the window.
func (b *tab) middle(selector string) (y float64) {
	b.t.Helper()
	b.eval(fmt.Sprintf("(({top, bottom}) => (top + bottom) / 2)(document.querySelector(%q).getBoundingClientRect())", selector), &y)
	return y
}

// Ten holds alike take five keys: mark one, select those like it, go to Approve, confirm the list, confirm.
func TestDeskSettlesTenAlikeWithFiveKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	var alike []string
	subject := w.subject(t)
	for i := range 10 {
		alike = append(alike, w.paysTo(t, action, 1250.5+float64(i), suppliers[0], subject, "DE89370400440532013000"))
	}
	other := w.pays(t, action, 5000, suppliers[1])
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews"))
	b.waitForStream()
	b.press("j")
	b.press("X")
	b.until(`document.querySelector("[data-selected]").textContent === "10"`)
	b.requireClean()
	b.screenshot("desk-selected")
	b.press("a")
	b.until(`document.activeElement.matches("[data-approve]")`)
	b.press(kb.Enter)
	b.see("Approve 10 holds?")
	b.until(`document.activeElement.textContent === "Approve 10 holds"`)
	for _, width := range widths {
		b.size(width, 800)
		b.requireNoOverflow()
		b.requireClean()
		b.screenshot("selection-" + widthName(width))
	}
	b.press(kb.Enter)
	b.see("Approve: done")
	b.requireClean()
	for _, id := range alike {
		require.Eventually(t, func() bool {
			return w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status") == "approved"
		}, patience, 100*time.Millisecond)
	}
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+other).is(200).string("review_status"))
	b.until(`document.activeElement.matches("a[data-focus]")`)
	b.press("u")
	b.until(`document.querySelectorAll("[data-row]").length === 1`)
	b.waitForStream()
	b.press("j")
	b.press("x")
	b.press("i")
	b.until(`document.activeElement.matches("[data-assign]")`)
	b.press(kb.Enter)
	b.see("Assign to me 1 hold?")
	b.until(`document.activeElement.textContent === "Assign to me 1 hold"`)
	b.press(kb.Enter)
	b.see("Yours")
	b.until(`document.activeElement.matches("a[data-focus]")`)
	b.press("u")
	b.until(`document.querySelector("[data-row]")?.textContent.includes("you")`)
	b.waitForStream()
	b.press("j")
	b.press("x")
	b.press("r")
	b.until(`document.activeElement.matches("[data-reject]")`)
	b.press(kb.Enter)
	b.see("Reject 1 hold?")
	b.until(`document.activeElement.id === "note"`)
	b.press("Unknown supplier.")
	b.press(kb.Tab)
	b.press(kb.Enter)
	b.see("Reject: done")
	require.Eventually(t, func() bool {
		return w.get(t, "/api/v1/authorizations/"+other).is(200).string("review_status") == "rejected"
	}, patience, 100*time.Millisecond)
}

// Among alike payments, one to another account and one by another subject are not selected with them, and the bulk page marks each difference.
func TestBulkPageMarksWhatDiffers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	const account, foreign = "DE89370400440532013000", "DE75512108001245126199"
	subject := w.subject(t)
	for range 3 {
		w.paysTo(t, action, 1249.9, suppliers[0], subject, account)
	}
	w.paysTo(t, action, 1249.9, suppliers[0], subject, foreign)
	w.paysTo(t, action, 1249.9, suppliers[0], w.subject(t), account)
	w.paysTo(t, action, 1299.9, suppliers[0], subject, account)
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews"))
	b.waitForStream()
	var why, name bool
	b.eval(`[...document.querySelectorAll("td.why .line")].every((line) => line.scrollHeight <= line.clientHeight + 1)`, &why)
	b.eval(`[...document.querySelectorAll(".sub")].every((name) => name.checkVisibility())`, &name)
	require.True(t, why, "the reason is cut")
	require.True(t, name, "the action's name is missing")
	b.press("j")
	b.press("X")
	b.until(`document.querySelector("[data-selected]").textContent === "4"`)
	b.eval(`for (const box of document.querySelectorAll(".pick input")) box.checked = true`, nil)
	b.press("a")
	b.press(kb.Enter)
	b.see("Approve 6 holds?")
	b.see("3 of 6 differ from the first.")
	var marked string
	b.eval(`[...document.querySelectorAll("mark")].filter((mark) => mark.closest("td")).map((mark) => mark.firstElementChild.textContent).join(" ")`, &marked)
	require.Contains(t, marked, "75 5121 0800 1245 1261 99")
	require.Contains(t, marked, "9")
	b.until(`document.querySelectorAll("tr.differs").length === 3`)
	b.requireClean()
	b.screenshot("selection-differs")
	b.size(390, 800)
	b.requireNoOverflow()
	b.requireClean()
	b.screenshot("selection-differs-phone")
}

// From 1,024 pixels on the rail shows every entry without scrolling; below that a drawer does. What waits and what is wrong is always in sight,
// and Escape and a click elsewhere close menus.
func TestShellShowsEveryEntry(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	b.enter(w, "Olga Operator", models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	b.open(w.console("audit"))
	b.waitForStream()
	shown := `[...document.querySelectorAll("nav [data-go]")].filter((e) => (({top, bottom, left}) => e.checkVisibility() && top >= 0 && left >= 0 && bottom <= innerHeight)(e.getBoundingClientRect())).length`
	badge := `[...document.querySelectorAll(".bar .count")].some((e) => e.checkVisibility() && e.textContent.startsWith("1") && e.closest("a").textContent.includes("Reviews"))`
	for _, width := range []int64{1024, 1280, 1920} {
		b.size(width, 800)
		b.until(shown + " === 15")
		b.until(badge)
		b.until(`document.querySelector('nav [aria-current="page"]').textContent === "Audit log"`)
		b.requireNoOverflow()
		b.requireClean()
		b.screenshot(fmt.Sprintf("shell-%d", width))
	}
	for _, width := range []int64{390, 1000} {
		b.size(width, 800)
		b.until(shown + " === 0")
		b.until(badge)
		b.click(`[popovertarget="navigation"]`)
		b.until(shown + " === 15")
		b.requireClean()
		b.screenshot(fmt.Sprintf("shell-drawer-%d", width))
		b.press(kb.Escape)
		b.until(shown + " === 0")
		for _, menu := range []string{"navigation", "account"} {
			open := fmt.Sprintf(`document.getElementById(%q).matches(":popover-open")`, menu)
			b.click(fmt.Sprintf(`[popovertarget=%q]`, menu))
			b.until(open)
			b.run(chromedp.MouseClickXY(float64(width)-20, 700))
			b.until("!" + open)
		}
	}
}

// The keys without Ctrl can be switched off (WCAG 2.1.4); the others stay.
func TestSingleKeysCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews"))
	b.waitForStream()
	b.press("?")
	b.click("[data-single-keys]")
	b.eval(`document.querySelector("dialog[data-keys]").close()`, nil)
	b.press("j")
	b.press("?")
	b.until(`!document.querySelector(".marked") && !document.querySelector("dialog[open]")`)
	b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
	b.until(`document.querySelector("dialog[data-finder]").open`)
	b.press(kb.Escape)
	b.run(reload)
	b.waitForStream()
	b.press("j")
	b.until(`!document.querySelector(".marked")`)
	b.click(`[popovertarget="account"]`)
	b.click("[data-help]")
	b.until(`document.querySelector("dialog[data-keys]").open`)
	b.click("[data-single-keys]")
	b.eval(`document.querySelector("dialog[data-keys]").close()`, nil)
	b.press("j")
	b.until(`document.querySelector(".marked")`)
}
