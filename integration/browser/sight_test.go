package browser_test

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// A stranger finds a payment among the decisions by what it shows: two actions from any page. Rows say who is paid how much, why and what became
// of it.
func TestDecisionsAreFoundByWhatTheyShow(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	paid := w.pays(t, action, 48210, "Müller & Söhne")
	w.pays(t, action, 3000, "Acme GmbH")
	small := w.paysTo(t, action, 12.5, "Ørsted Wind Power A/S", w.subject(t), "DE75512108001245126199")
	w.post(t, "/api/v1/authorizations/"+small+"/outcome", object{"outcome": "executed"}).is(200)
	b := newTab(t)
	b.enter(w, "Ann Auditor", models.RoleAuditor, models.RoleReviewer)
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.console("health"))
		b.waitForStream()
		b.press("g")
		b.press("d") // the first action
		b.until(`location.pathname.endsWith("/decisions")`)
		b.waitForStream()
		b.press("/")
		b.until(`document.activeElement.name === "q"`)
		b.eval(`document.activeElement.value = ""`, nil)
		b.press("mueller" + kb.Enter) // and the second
		b.until(`document.querySelectorAll("tr[data-row]").length === 1`)
		row := b.text("tr[data-row]")
		for _, shown := range []string{"Müller & Söhne", "48,210.00 EUR", "Pay a supplier", "Payments over 1,000 EUR need a second pair of eyes.", "pending"} {
			require.Contains(t, row, shown)
		}
		b.until(`document.querySelector("tr[data-row] a").pathname.endsWith("/decisions/` + paid + `")`)
		b.requireFits()
		b.requireAccessible()
		b.screenshot("decisions-found-" + widthName(width))
	}
	for text, found := range map[string]string{"12.50": "Ørsted", "second%20pair": "Acme", "executed": "Ørsted", "pay%20a%20supplier": "Müller", "DE75512108001245126199": "Ørsted"} {
		b.open(w.console("decisions?q=" + text))
		b.until(`document.querySelector("table").textContent.includes("` + found + `")`)
	}
	b.open(w.console("decisions?q=nothing+of+the+kind"))
	b.see("Show all decisions")
	b.open(w.console("search?q=orsted"))
	b.until(`document.querySelector("[data-found] a")?.pathname.endsWith("/decisions/` + small + `")`)
}

// The audit log says who did what to what, and its filter takes words.
func TestAuditLogIsFilteredByWords(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	held := w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	subject := w.get(t, "/api/v1/authorizations/"+held).is(200).string("subject")
	b := newTab(t)
	b.enter(w, "Ann Auditor", models.RoleAuditor, models.RoleReviewer)
	b.open(w.console("reviews", held))
	b.waitForStream()
	b.click("[data-assign]")
	b.see("Assigned to you.")
	b.sealed(w, "took+hold", "Ann Auditor took the hold of "+subject)
	b.until(`document.querySelectorAll(".entries tbody tr").length === 1`)
	b.requireAccessible()
	b.open(w.console("audit?type=nonsense+of+this+kind"))
	b.see("Use fewer or other words")
}

// sealed opens the audit log with words until it shows a text.
func (b *tab) sealed(w world, words, text string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		b.open(w.console("audit?type=" + words))
		return b.shows(text)
	}, patience, 100*time.Millisecond)
}

// A time is said once. The exact time shows once the keyboard is on its row.
func TestTimesAreSaidOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Auditor", models.RoleAuditor, models.RoleReviewer, models.RoleOperator)
	exact := `getComputedStyle(document.querySelector("main time[data-time]"), "::after").content`
	for _, page := range []string{"decisions", "keys"} {
		b.open(w.console(page))
		b.until(`document.querySelector("main time[data-time]") && ` + exact + ` === "none"`)
		b.until(`!/\d\d:\d\d:\d\d/.test(document.querySelector("main table").textContent)`)
	}
	b.open(w.console("decisions"))
	b.waitForStream()
	b.press("j")
	b.until(exact + `.includes("UTC = ")`)
	b.open(w.console("keys"))
	b.eval(`document.querySelector("main time[data-time]").focus({focusVisible: true})`, nil)
	b.until(exact + `.includes("UTC = ")`)
}

// Cases that share several values with a hold are one list, in which each is one row with a tag for each value.
func TestRelatedCasesAreOneList(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action, subject := w.supplierPayments(t, overOneThousand()), w.subject(t)
	for i := range 3 {
		w.paysTo(t, action, 2000+float64(i), suppliers[0], subject, "DE89370400440532013000")
	}
	held := w.paysTo(t, action, 2500, suppliers[0], subject, "DE89370400440532013000")
	b := newTab(t)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.console("reviews", held))
		b.until(`document.querySelectorAll(".related li").length === 3`)
		require.Regexp(t, `same payee\s+same to account\s+same subject`, b.text(".related li"))
		b.requireFits()
		b.screenshot("related-" + widthName(width))
	}
}

// Values of a list are pasted, or read from a file by the browser. What is refused names its line.
func TestListValuesArePastedOrRead(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	list := w.post(t, "/api/v1/lists", object{"name": "known_payees", "kind": "text", "description": "Paid before."}).is(201).string("id")
	b := newTab(t)
	b.enter(w, "Olga Operator", models.RoleOperator)
	b.expect("status of 422")
	b.open(w.console("lists", list, "many"))
	b.until(`document.querySelector("[data-fills]").checkVisibility()`)
	b.eval(`(() => {
		const files = new DataTransfer(), control = document.querySelector("[data-fills]");
		files.items.add(new File(["\uFEFFAda Example\nBob Example\tPaid in May.\n\nAda Example\n"], "payees.csv"));
		control.files = files.files;
		control.dispatchEvent(new Event("change"));
	})()`, nil)
	b.until(`document.querySelector("[name='add.value']").value.startsWith("Ada")`)
	b.write("add.reason", "Paid before.")
	b.requireAccessible()
	b.sends("Line 3: value is added twice")
	b.eval(`document.querySelector("[name='add.value']").value = "Ada Example\nBob Example\tPaid in May."`, nil)
	b.sends("in the list.")
	b.until(`document.querySelectorAll("tr[data-row]").length === 2`)
	require.Contains(t, b.text("table"), "Paid in May.")
}

// A page that does not exist, and one that the user may not see, lead on. At 400 % zoom most of a window is left for what is read.
func TestDeadEndsLeadOn(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	held := w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.expect("status of 404")
	b.expect("status of 403")
	for _, page := range []string{w.console("decisions", "azn_unknown"), w.console("people", "new")} {
		b.open(page)
		b.click("main .button.primary")
		b.until(`location.pathname.endsWith("/reviews")`)
	}
	b.open("/nope")
	b.click(`main a[href="/console"]`)
	b.until(`document.querySelector("[data-console]")`)
	b.size(320, 180)
	b.open(w.console("reviews", held))
	b.see("Why it is held")
	b.eval(`scrollTo(0, 400)`, nil)
	b.until(`[...document.querySelectorAll("body *")].filter((e) => ["fixed", "sticky"].includes(getComputedStyle(e).position) && e.checkVisibility() &&
		!e.closest("dialog, [popover], .skip, th")).every((e) => e.getBoundingClientRect().bottom <= 0 || e.getBoundingClientRect().height < 20)`)
	b.requireFits()
}

// A hold has one control that adds a value to a list, its note is required for a rejection alone, and the times that are near lead to their holds.
func TestHoldHasOneOfEachControl(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.do(t, "PATCH", "/api/v1/environment", object{"hold_ttl_seconds": 1800}).is(200)
	held := w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Reviewer", models.RoleReviewer, models.RoleOperator)
	b.open(w.console("reviews", held))
	b.until(`[...document.querySelectorAll("main a, main summary")].filter((e) => e.checkVisibility() && /to a list|add to list/i.test(e.textContent)).length === 1`)
	b.click(".add-to summary")
	b.until(`document.querySelectorAll(".add-to a").length === 13`)
	b.requireAccessible()
	b.until(`!document.querySelector("#note").required`)
	b.open(w.console("reviews"))
	b.click(`.counts a[href*="due=hour"]`)
	b.until(`location.search.includes("due=hour") && document.querySelectorAll("tr[data-row]").length === 1`)
}

// On paper a hold has what was decided and the exact times, without what works on a screen only.
func TestHoldIsPrinted(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	held := w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	b.size(794, 1123)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews", held))
	b.see("Why it is held")
	b.run(emulation.SetEmulatedMedia().WithMedia("print"))
	b.until(`[".bar", ".beside", ".decide", ".filters"].every((s) => !document.querySelector(s)?.checkVisibility())`)
	b.until(`document.querySelector(".case-title").checkVisibility() && document.querySelector("main").getBoundingClientRect().left < 40`)
	b.until(`getComputedStyle(document.querySelector("main time[data-time]"), "::after").content.includes("UTC")`)
	b.requireFits()
	b.screenshot("hold-print")
	b.run(emulation.SetEmulatedMedia())
}

// What a condition reads of earlier requests is not made known by keeping values: the page of a simulation names the remedy of each.
func TestSimulationNamesTheRightRemedy(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	key := w.supplierPayments(t, overOneThousand())
	subject := w.subject(t)
	for _, amount := range []float64{500, 2000} { // the second is decided by the sum of the first, which its policy did not store
		w.paysTo(t, key, amount, suppliers[0], subject, "DE89370400440532013000")
	}
	id := w.get(t, "/api/v1/actions").is(200).list()[0]["id"].(string)
	of := func(when string) object {
		return object{"requirements": object{"coverage_min": "none", "rules": []object{{"name": "limit", "when": when, "reason": "Too much.", "requirements": object{"hold_on": []string{"rule_matched"}}}}},
			"context_schema": object{"type": "object", "required": []string{"amount"}, "properties": object{"amount": object{"type": "number", "x-countersign-aggregate": "sum"}}}}
	}
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", of(`subject.sum("amount", "`+key+`", "allow", "24h") > 10.0`)).is(201)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", of(`context.amount > 10.0`)).is(201)
	b := newTab(t)
	b.enter(w, "Olga Operator", models.RoleOperator)
	for version, texts := range map[string][2]string{"2": {"x-countersign-aggregate", "Keep the values"}, "3": {"Keep the values", "x-countersign-aggregate"}} {
		b.open(w.console("policies", id, version) + "?last=500")
		b.see("Could not be decided again")
		b.until(`(([shown, other]) => document.querySelector("#simulation").textContent.includes(shown) && !document.querySelector("#simulation").textContent.includes(other))(` +
			`["` + texts[0] + `", "` + texts[1] + `"])`)
	}
}

// The signing keys say what each does, for how long it has signed and where its private key is. They are rotated from the page.
func TestSigningKeysAreRotated(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b := newTab(t)
	b.enter(w, "Olga Operator", models.RoleOperator)
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.console("signing-keys"))
		b.see("signs new proofs")
		b.see("signs after the next rotation")
		b.see("sealed in the database of the service")
		b.requireNoOverflow()
		b.requireAccessible()
		b.screenshot("signing-keys-" + widthName(width))
	}
	var before string
	b.eval(`document.querySelector("tbody code").textContent`, &before)
	b.click(".ask summary")
	b.click(`[name="sure"]`)
	b.see("The keys are rotated.")
	b.until(`document.querySelector("tbody code").textContent !== "` + before + `" && document.querySelectorAll("tbody tr").length === 3`)
}

// A review that the workflow engine could not take is not called approved: its reviewer and colleagues read that it is not made, and it can be
// withdrawn for as long as it is not.
func TestReviewThatIsNotMadeIsWithdrawn(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	held := w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	ann, bob := newTab(t), newTab(t)
	ann.enter(w, "Ann Reviewer", models.RoleReviewer)
	bob.enter(w, "Bob Reviewer", models.RoleReviewer)
	ann.open(w.console("reviews", held))
	ann.waitForStream()
	ann.press("a")
	ann.press(kb.Enter)
	ann.see("Approved: Müller & Söhne 2,000.00 EUR. This takes effect at")
	// As if a worker had tried to make it and the engine had refused.
	tamper(t, "update outbox set available_at = available_at + interval '1 hour' where topic = 'hold.review' and ref = $1", held)
	tamper(t, "update given_reviews set taken_at = now() - interval '10 seconds' where authorization_id = $1", held)
	for _, width := range widths {
		ann.size(width, 800)
		ann.open(w.console("reviews"))
		ann.see("Not yet made: your approval: Müller & Söhne 2,000.00 EUR. The workflow engine is unavailable")
		ann.until(`document.querySelector("[data-undo]").textContent.startsWith("Withdraw")`)
		ann.requireNoOverflow()
		ann.requireAccessible()
		ann.screenshot("not-made-" + widthName(width))
	}
	bob.open(w.console("reviews", held))
	bob.until(`/Ann Reviewer (is about|has asked) to approve this hold/.test(document.querySelector('[data-live="figures"]').textContent)`)
	ann.click("[data-undo]")
	ann.see("Undone: your review was not made.")
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+held).is(200).string("review_status"))
	bob.until(`!document.querySelector('[data-live="figures"]').textContent.includes("Ann Reviewer has asked")`)
}

// tamper runs a statement by other means than the service.
func tamper(t *testing.T, statement, id string) {
	t.Helper()
	done, err := shared.Store.Pool().Exec(t.Context(), statement, id)
	require.NoError(t, err)
	require.EqualValues(t, 1, done.RowsAffected())
}

// A decision that was changed in the database is marked in every list that has it, and what a verification of the log finds, the page of the health
// says as well.
func TestAlteredDecisionIsMarked(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	subject := w.subject(t)
	held := w.paysTo(t, action, 2000, suppliers[0], subject, "DE89370400440532013000")
	w.paysTo(t, action, 20, suppliers[1], subject, "DE89370400440532013000")
	tamper(t, "update authorizations set decision = 'allow' where id = $1", held)
	b := newTab(t)
	b.enter(w, "Ann Auditor", models.RoleAuditor, models.RoleReviewer, models.RoleOperator)
	for _, page := range []string{w.console("decisions"), w.console("decisions?q=muller"), w.console("subjects", subject)} {
		b.open(page)
		b.until(`[...document.querySelectorAll("tr[data-row]")].filter((row) => /\baltered\b/.test(row.textContent)).length === 1`)
		b.until(`[...document.querySelectorAll("tr[data-row]")].find((row) => /altered/.test(row.textContent)).textContent.includes("Müller")`)
	}
	b.requireFits()
	b.requireAccessible()
	// What no page has read since it was changed is found by the verification alone.
	other := w.paysTo(t, action, 3000, suppliers[0], subject, "DE89370400440532013000")
	tamper(t, "update authorizations set reason_codes = '{}' where id = $1", other)
	b.open(w.console("audit", "verify"))
	b.see("were changed outside of the service")
	require.Eventually(t, func() bool {
		b.open(w.console("health"))
		return b.shows("authorizations " + other)
	}, patience, 500*time.Millisecond)
}
