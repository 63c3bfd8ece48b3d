package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// actionID returns the id of the only action of the environment.
func (w world) actionID(t testing.TB) string {
	t.Helper()
	return w.get(t, "/api/v1/actions").is(200).list()[0]["id"].(string)
}

// choose selects an option by its value as a user does who changes a control.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.focus(); s.value = %q;
		s.dispatchEvent(new Event("input", { bubbles: true })); s.dispatchEvent(new Event("change", { bubbles: true })); return true })()`, selector, value), nil)
}

// The builder and the text of a condition edit each other, and the service says what both mean and what they match.
func TestRuleBuilder(t *testing.T) {
	t.Parallel()
	for _, width := range widths {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			action := w.supplierPayments(t, overOneThousand())
			w.pays(t, action, 20_000, "Acme GmbH")
			b := newTab(t)
			b.size(width, 900)
			b.enter(w, "Olga", models.RoleOperator)
			b.expect("status of 422")
			b.begin(w.console("policies", w.actionID(t), "draft"))
			const rule = `[data-rule]:nth-of-type(1) `
			when := fmt.Sprintf("document.querySelector(%q).value", rule+"[data-when]")
			b.click(rule + "summary")
			b.until(`document.querySelector("` + rule + `.builder-tests li select")?.value === "context.amount"`)
			b.see("The rule is about requests in which amount is over 1,000.")
			b.see("1 more are unknown: they depend on context.amount, which is not stored.")
			b.settled()

			b.choose(rule+".builder-tests li select:nth-of-type(2)", "<=")
			b.until(when + ` === "context.amount <= 1000.0"`)
			b.tabTo(rule + "[data-operand]")
			b.eval("document.activeElement.select(), true", nil)
			b.press("500")
			b.until(when + ` === "context.amount <= 500"`)
			b.tabTo(rule + "[data-builder] > button")
			b.press(kb.Enter)
			second := `document.querySelector("` + rule + `.builder-tests li:nth-child(2) select")`
			b.until(second + `.options.length > 20 && document.activeElement.type === "search"`)
			b.press("passkeys")
			b.until(second + `.options.length < 5`)
			b.press(kb.Enter)
			b.until(second + `.value === "subject.passkeys"`)
			b.tabTo(rule + ".builder-tests li:nth-child(2) [data-operand]")
			b.press("0")
			b.until(when + `.endsWith("&& subject.passkeys > 0")`)
			b.settled()

			b.tabTo(rule + "[data-when]")
			b.eval("document.activeElement.select(), true", nil)
			b.press(`context.amount > 5.0 && (context.amount < 9.0 || has(context.payee))`)
			b.see("The builder cannot show this condition. Edit it as text.")
			b.eval("document.activeElement.select(), true", nil)
			b.press("subject.pass")
			b.until(`!document.querySelector("` + rule + `.completion").hidden`)
			b.settled()
			b.press(kb.ArrowDown)
			b.press(kb.Enter)
			b.until(when + `.trim() === "subject.passkeys"`) // Chromium's driver types the line break although the page takes the key
			b.press(" < 1")
			b.until(`document.querySelectorAll("` + rule + `.builder-tests li").length === 1`)
			b.see("Matches 1 of the last 1 stored decisions.")
			b.sends("What it would have decided")
			b.see("Holds a request for one approval if the number of the subject's passkeys is under 1.")
		})
	}
}

// A refused form lists what is wrong in words at its top, each with a link to its control.
func TestErrorsLinkToTheirFields(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b := newTab(t)
	b.enter(w, "Olga", models.RoleOperator)
	b.expect("status of 422")
	b.begin(w.console("policies", "new"))
	b.write("key", "Payments Release")
	b.sends("values are not accepted")
	b.tabTo(`[data-notice] a[href="#f-key"]`)
	require.Equal(t, "Key is not written as it must be. Dotted lower case, such as payments.transfer. It cannot be changed.", b.text(`[data-notice] a[href="#f-key"]`))
	b.click(`[data-notice] a[href="#f-key"]`) // a typed Enter would reach the field that the link focuses
	b.until(`document.activeElement?.id === "f-key"`)
	b.settled()
}

// The second approver sees the version as its author does, with the words that changed, and both their reasons.
func TestSecondApproverSeesTheVersion(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.supplierPayments(t, overOneThousand())
	id := w.actionID(t)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": object{"coverage_min": "none", "rules": []object{{
		"name": "large_payment", "when": "context.amount > 2500.0", "reason": "Payments over 2,500 EUR need a second pair of eyes.", "requirements": object{"hold_on": []string{"rule_matched"}},
	}}}}).is(201)
	w.do(t, "PATCH", "/api/v1/environment", object{"second_approver_required": true}).is(200)
	author, approver := newTab(t), newTab(t)
	author.enter(w, "Ada Author", models.RoleOperator)
	approver.enter(w, "Oscar Operator", models.RoleOperator)
	author.begin(w.console("policies", id, "2"))
	author.see("Holds a request for one approval if amount is over 2,500.")
	require.Equal(t, "1000.0", author.text(".diff del mark"))
	require.Equal(t, "2500.0", author.text(".diff ins mark"))
	author.click(".ask summary")
	author.tabTo("#reason")
	author.press("Suppliers complain.")
	author.click(".ask .button.primary")
	author.see("It waits for a second approver")
	approver.begin(author.address())
	approver.see("Suppliers complain.")
	approver.see("Holds a request for one approval if amount is over 2,500.")
	require.Equal(t, "2500.0", approver.text(".diff ins mark"))
	approver.tabTo("#reason")
	approver.press("Agreed.")
	approver.click("[data-approve]")
	approver.see("The change is approved and has taken effect.")
	approver.see("Agreed.")
	approver.begin(w.console("policies", id, "1"))
	approver.click(".ask summary")
	approver.tabTo("#reason")
	approver.press("Too many mistakes.")
	approver.click(".ask .button.primary")
	approver.see("It waits for a second approver")
	approver.see("Too many mistakes.")
	approver.settled()
}

// A simulation that cannot decide says which values it lacks and how to keep them, and a version that keeps them is decided from then on.
func TestSimulationSaysWhatToKeep(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	w.pays(t, action, 20_000, "Acme GmbH")
	id := w.actionID(t)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": object{"coverage_min": "none", "rules": []object{{
		"name": "large_payment", "when": "context.amount > 2500.0", "reason": "Large.", "requirements": object{"deny_on": []string{"rule_matched"}},
	}}}}).is(201)
	b := newTab(t)
	b.enter(w, "Olga Operator", models.RoleOperator)
	b.begin(w.console("policies", id, "2") + "?last=500")
	b.see("could not be decided again: a rule reads a value that was not stored.")
	b.see("context.amount")
	b.see("Keep the values that rules read")
	b.begin(w.console("policies", id, "draft") + "?from=2")
	b.tabTo(`[name="keep_read"]`)
	b.press(" ")
	b.write("reason", "Limits are tried on stored payments.")
	b.sends("What it would have decided")
	b.see("Reason: Limits are tried on stored payments.")
	require.Contains(t, string(w.get(t, "/api/v1/actions/"+id+"/policy-versions/3").is(200).body), "x-countersign-keep")
}
