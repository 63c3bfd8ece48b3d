package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// maxTabs is more than the controls of any page, and the parts of fields of dates.
const maxTabs = 600

// tabTo presses Tab until a control has the focus, as a user without a mouse does.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range maxTabs {
		var there bool
		b.eval(fmt.Sprintf("document.activeElement?.matches(%q) ?? false", selector), &there)
		if there {
			return
		}
		b.press(kb.Tab)
	}
	require.Fail(b.t, "Tab never reaches "+selector)
}

// write replaces the text of a control by keys.
func (b *tab) write(name, text string) {
	b.t.Helper()
	b.tabTo(fmt.Sprintf(`[name="%s"]`, name))
	b.eval("document.activeElement.select?.(), true", nil)
	b.press(text)
}

// sends submits the form with its first button, by keys, and waits for the page that has the text.
func (b *tab) sends(text string) {
	b.t.Helper()
	b.tabTo(".entry .button.primary")
	b.press(kb.Enter)
	b.see(text)
	b.settled()
}

// settled requires that the page fits its window and is accessible.
func (b *tab) settled() {
	b.t.Helper()
	b.requireFits()
	b.requireAccessible()
}

// begin opens a form and requires that it fits its window and is accessible.
func (b *tab) begin(path string) {
	b.t.Helper()
	b.open(path)
	b.settled()
}

// An operator makes and edits everything without a mouse, on a phone and on a desktop.
func TestConsoleFormsByKeyboard(t *testing.T) {
	t.Parallel()
	for name, size := range map[string][2]int64{"phone": {390, 844}, "desktop": {1280, 900}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			b := newTab(t)
			b.size(size[0], size[1])
			b.enter(w, "Olga Operator", models.RoleOperator)
			b.expect("status of 422")
			walkPolicies(t, b, w)
			walkEvaluations(b, w)
			walkAccess(b, w)
			b.begin(w.console("settings"))
			b.write("challenge_ttl_seconds", "120")
			b.sends("The settings are saved.")
		})
	}
}

// walkPolicies makes an action with a policy and activates it.
func walkPolicies(t *testing.T, b *tab, w world) {
	b.begin(w.console("policies", "new"))
	b.write("key", "Payments Release")
	b.write("name", "Release a payment")
	b.write("consequence", "Money leaves.")
	b.sends("2 values are not accepted.")
	b.write("key", "payments.release")
	b.write("allowed_audiences", "payments-api")
	b.sends("New policy version of payments.release")
	b.write("requirements.freshness_max_ms", "5")
	b.sends("One value is not accepted.")
	b.write("requirements.freshness_max_ms", "60000")
	b.sends("What it would have decided")
	b.tabTo(".ask summary")
	b.press(kb.Enter)
	b.tabTo(".ask[open] .button.primary")
	b.press(kb.Enter)
	b.until(`document.querySelector(".case-tags .tag")?.textContent === "active"`)
	action := strings.Split(b.address(), "/")[4]
	require.NotEmpty(t, action)
	b.begin(w.console("policies", action, "draft-text"))
	b.begin(w.console("policies", action, "edit"))
	b.tabTo(`[name="mode"]`)
	b.press("s") // selects shadow
	b.sends("Edit name and mode")
	require.Equal(t, "shadow", w.get(t, "/api/v1/actions/"+action).is(200).string("mode"))
}

func walkEvaluations(b *tab, w world) {
	b.begin(w.console("evaluations", "new"))
	b.write("name", "Pilot")
	b.tabTo(`[name="action_keys"]`)
	b.press(" ")
	b.sends("Are there enough decisions?")
	b.tabTo(".ask summary")
	b.press(kb.Enter)
	b.tabTo(`.ask[open] [name="sure"]`)
	b.press(kb.Enter)
	b.until(`[...document.querySelectorAll(".tag")].some((tag) => tag.textContent === "closed")`)
}

// walkAccess makes an endpoint, a key and a person; each secret is shown once.
func walkAccess(b *tab, w world) {
	b.begin(w.console("webhooks", "new"))
	b.write("url", "https://receiver.example/hook")
	b.sends("The secret is shown this once.")
	b.tabTo(".panel a.button.primary")
	b.press(kb.Enter)
	b.see("Send a test")
	b.settled()
	b.begin(w.console("keys", "new"))
	b.write("name", "Payments")
	b.tabTo(`[name="permissions"][value="decide"]`)
	b.press(" ")
	b.sends("The key is shown this once.")
	b.begin(w.console("keys"))
	b.begin(w.console("people", "new"))
	b.write("name", "Ann Example")
	b.tabTo(`[name="roles"][value="reviewer"]`)
	b.press(" ")
	b.sends("The link is shown this once.")
	b.begin(w.console("people"))
	b.tabTo("[data-list] a")
	b.press(kb.Enter)
	b.see("Invite again")
	b.settled()
}
