package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/models"
)

// frameKeys are the keys in each synthetic frame.
const frameKeys = 100

// typed submits a session of frames of the typist.
func (w world) typed(t testing.TB, subject string, who *synthetic.Typist, frames int) {
	t.Helper()
	w.relyingParty().ObserveSession(t, subject, apitest.Observation{Typist: who, Purpose: "score", Frames: frames, Keys: frameKeys})
}

// decide requests a decision, whatever it will be.
func (w world) decide(t testing.TB, subject, action string) string {
	t.Helper()
	r := w.relyingParty().Authorize(t, subject, action)
	return response{t, r.Status, r.Body}.string("id")
}

// populated is an environment with records of every kind.
type populated struct {
	world
	action, actionID, subject, held, allowed, evaluation, endpoint, team, list, change string
}

func newPopulated(t *testing.T) populated {
	t.Helper()
	w := populated{world: newSandbox(t)}
	wanted := object{"coverage_min": "partial", "insufficient_evidence": "hold", "claims": object{"operator_continuity": "likely"}, "hold_on": []string{"automation_not_met"}}
	w.action = w.payments(t, wanted)
	for _, a := range w.get(t, "/api/v1/actions").is(200).list() {
		w.actionID = a["id"].(string)
	}
	w.evaluation = w.post(t, "/api/v1/evaluations", object{"name": "Pilot of payments", "action_keys": []string{w.action}}).is(201).string("id")
	own, other := typist("the person"), typist("another person")
	w.subject = w.relyingParty().Enroll(t, own, frameKeys)
	w.decide(t, w.subject, w.action)
	w.typed(t, w.subject, own, 6)
	w.allowed = w.decide(t, w.subject, w.action)
	w.decide(t, w.subject, w.action)
	w.typed(t, w.subject, other, 6)
	w.decide(t, w.subject, w.action)
	paying := w.supplierPayments(t, overOneThousand())
	for i, payee := range suppliers {
		w.held = w.pays(t, paying, 1249.9+float64(i*i)*1730, payee)
	}
	w.post(t, "/api/v1/authorizations/"+w.allowed+"/outcome", object{"outcome": "executed"}).is(200)
	w.post(t, "/api/v1/actions/"+w.actionID+"/policy-versions", object{"requirements": object{
		"coverage_min": "sparse", "insufficient_evidence": "challenge", "claims": object{"operator_continuity": "uncertain"},
		"hold_on": []string{"automation_not_met", "evidence_replay_not_met"}, "approvals_required": 2,
	}}).is(201)
	w.endpoint = w.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/hook", "description": "Case system", "events": []string{"hold.*"}}).is(201).string("id")
	w.do(t, http.MethodPut, "/api/v1/destinations/siem", object{"kind": "https", "url": "http://127.0.0.1:9/in"}).is(200)
	w.list = w.post(t, "/api/v1/lists", object{"name": "known_payees", "kind": "text", "description": "Paid before."}).is(201).string("id")
	w.post(t, "/api/v1/lists/"+w.list+"/entries", object{"add": []object{{"value": "Ada Example", "reason": "Paid in May."}}}).is(200)
	w.team = w.post(t, "/api/v1/teams", object{"key": "payments", "name": "Payments desk", "members": []string{}}).is(201).string("id")
	w.do(t, http.MethodPatch, "/api/v1/environment", object{"second_approver_required": true}).is(200)
	w.do(t, http.MethodPatch, "/api/v1/environment", object{"hold_ttl_seconds": 3600}).is(202)
	w.change = w.post(t, "/api/v1/actions/"+w.actionID+"/policy-versions/2/activate", nil).is(202).string("id")
	return w
}

// pages are the pages of the console that change nothing, each with a text that it must show.
func (w populated) pages() []pageState {
	in := func(name, text string, parts ...string) pageState {
		return pageState{"console-" + name, w.console(parts...), text, nil}
	}
	simulated := in("version", "would have been different", "policies", w.actionID, "2")
	simulated.path += "?last=500"
	adding := in("list-from", "Add to a list", "lists", "add")
	adding.path += "?detail=subject&decision=" + w.held
	found := in("search", "Search", "search")
	found.path += "?q=Release"
	keys := in("keyboard", "Due within a day", "reviews")
	keys.then = func(b *tab) {
		b.waitForStream()
		b.press("?")
		b.until(`document.querySelector("dialog[data-keys]").open`)
	}
	return []pageState{
		in("desk", "Due within a day", "reviews"), keys, found, in("review", "Why it is held", "reviews", w.held),
		in("decisions", "Until (UTC)", "decisions"), in("decision", "What happened next", "decisions", w.allowed),
		in("subject", "The same person over time", "subjects", w.subject),
		in("policies", "Release a payment", "policies"), in("policy", "version 2", "policies", w.actionID), simulated,
		in("lists", "Entries", "lists"), in("list", "entry", "lists", w.list), adding,
		in("changes", "Change settings of the environment", "changes"), in("change", "would have been different", "changes", w.change),
		in("evaluations", "Pilot of payments", "evaluations"), in("evaluation", "Success criteria", "evaluations", w.evaluation),
		in("webhooks", "Case system", "webhooks"), in("webhook", "Attempts", "webhooks", w.endpoint),
		in("keys", "Permissions", "keys"), in("signing-keys", "signs new proofs", "signing-keys"), in("people", "Roles here", "people"),
		in("teams", "Payments desk", "teams"), in("deputy-new", "deputy", "deputies", "new"),
		in("notifications", "What you are notified of", "notifications"),
		in("notice-address", "address", "notifications", "address"), in("notice-code", "code", "notifications", "code"),
		in("notice-times", "Quiet from", "notifications", "times"),
		in("retention", "What was shown of requests", "retention"), in("signals", "What identity providers report", "signals"), in("single-sign-on", "Single sign-on", "single-sign-on"),
		in("destinations", "Where the sealed log of this environment is sent", "destinations"),
		in("after-reviews", "Holds that one person approved alone", "after-reviews"),
		in("health", "What the service depends on", "health"), in("audit", "sealed entries", "audit"), in("audit-verified", "Signed head", "audit", "verify"),
		in("absent", "Not found", "reviews", "azn_01jqx3k5v8e2sbyk0c4m7t9wzd"),
	}
}

// forms are the pages of the console on which something is made or changed, also with faults and with what they show once. They are
// for an operator, who may see no holds.
func (w populated) forms(t testing.TB) []pageState {
	in := func(name, text string, parts ...string) pageState {
		return pageState{"console-" + name, w.console(parts...), text, nil}
	}
	faulty := in("action-faults", "New action", "policies", "new")
	faulty.then = func(b *tab) {
		b.click(".entry .button.primary")
		b.see("values are not accepted")
	}
	secret := in("key-shown", "New API key", "keys", "new")
	secret.then = func(b *tab) {
		b.write("name", "Payments")
		b.click(`[name="permissions"][value="decide"]`)
		b.click(".entry .button.primary")
		b.see("The key is shown this once.")
		b.copies("[data-secret]")
	}
	invited, linked := w.invited(t, "Ina Invited", models.RoleReviewer).Person.ID, w.invited(t, "Lin Linked", models.RoleReviewer).Person.ID
	return []pageState{
		in("action-new", "New action", "policies", "new"), faulty, in("action-edit", "Edit "+w.action, "policies", w.actionID, "edit"),
		in("draft", "New policy version of", "policies", w.actionID, "draft"), in("draft-text", "New policy version of", "policies", w.actionID, "draft-text"),
		in("evaluation-new", "New evaluation", "evaluations", "new"),
		in("webhook-new", "New webhook endpoint", "webhooks", "new"), in("webhook-edit", "Edit the webhook endpoint", "webhooks", w.endpoint, "edit"),
		in("list-new", "New list", "lists", "new"), in("list-add", "Add to ", "lists", w.list, "add"), in("list-many", "Values", "lists", w.list, "many"),
		in("chat-new", "URL", "notifications", "chats", "new"),
		in("team-new", "New team", "teams", "new"), in("team-edit", "Save the team", "teams", w.team),
		in("key-new", "New API key", "keys", "new"), secret,
		in("person-new", "Invite a person", "people", "new"), in("person", "Ina Invited", "people", invited),
		in("person-link", "Link an account with Lin Linked", "people", linked, "link"),
		in("settings", "How long does a request wait?", "settings"),
		in("forbidden", "do not include the permission decisions.read", "reviews"),
	}
}

// An operator compares, simulates and activates a policy. The page asks for confirmation before the activation.
func TestConsoleActivatesAPolicy(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	w.holdOf(t, action)
	id := w.get(t, "/api/v1/actions").is(200).list()[0]["id"].(string)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": challenging}).is(201)
	b := newTab(t)
	b.enter(w, "Olga", models.RoleOperator)
	require.Equal(t, w.console("policies"), b.address(), "the first page of an operator is the policies")
	b.open(w.console("policies", id, "2"))
	b.see("Changes from version 1")
	require.Equal(t, "hold", b.text(".diff del"))
	require.Equal(t, "challenge", b.text(".diff ins"))
	b.click("#simulation button")
	b.see("1 of 1 decisions (100.0 %) would have been different.")
	b.click(".ask summary")
	b.see("version 1 is retired and cannot be activated again")
	b.click(".ask button")
	b.see("activated")
	b.until(`document.querySelector(".case-tags").textContent.includes("active")`)
	require.Equal(t, 2.0, w.get(t, "/api/v1/actions/"+id).is(200).object()["active_policy_version"])
	b.expect("status of 403")
	b.open(w.console("reviews"))
	b.see("Your roles in this environment do not include the permission decisions.read.")
}

// An operator approves a change that a key requested, at the width of a phone and of a desktop.
func TestConsoleApprovesAChange(t *testing.T) {
	t.Parallel()
	for _, width := range widths {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			w.do(t, http.MethodPatch, "/api/v1/environment", object{"second_approver_required": true}).is(200)
			b := newTab(t)
			b.size(width, 800)
			b.enter(w, "Olga", models.RoleOperator)
			w.do(t, http.MethodPatch, "/api/v1/environment", object{"bar_self_review": true}).is(202)
			b.open(w.console("changes"))
			require.Regexp(t, `^1\s+waiting$`, b.text(`[data-go="c"] .count`))
			b.see("This environment requires a second approver")
			b.requireFits()
			b.requireAccessible()
			b.click("[data-row] a")
			b.see("What changes")
			b.requireFits()
			b.requireAccessible()
			b.screenshot("console-change-" + fmt.Sprint(width))
			b.click("[data-approve]")
			b.see("The change is approved and has taken effect.")
			b.requireFits()
			b.requireAccessible()
			require.Equal(t, true, w.get(t, "/api/v1/environment").is(200).object()["bar_self_review"])
		})
	}
}

// The review queue can be used by keyboard, and a dialog lists the keys.
func TestConsoleKeyboardNavigation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	first, _ := w.holdOf(t, action)
	second, _ := w.holdOf(t, action)
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	b.open(w.console("reviews"))
	b.waitForStream()
	b.press("?")
	b.until(`document.querySelector("dialog[data-keys]").open`)
	b.requireAccessible()
	b.screenshot("console-keys")
	b.eval(`document.querySelector("dialog[data-keys]").close()`, nil)
	b.press("j")
	b.press("j")
	b.until(`document.querySelector(".marked")?.dataset.id === "` + second + `"`)
	b.press("k")
	b.until(`document.querySelector(".marked")?.dataset.id === "` + first + `"`)
	b.press("\r")
	b.see("Why it is held")
	require.Equal(t, w.console("reviews", first), b.address())
	b.waitForStream()
	b.press("j")
	b.until(`location.pathname.endsWith("` + second + `")`)
	b.waitForStream()
	b.press("k")
	b.until(`location.pathname.endsWith("` + first + `")`)
	b.waitForStream()
	b.press("u")
	b.until(`location.pathname.endsWith("/reviews")`)
	b.waitForStream()
	b.press("/")
	b.until(`document.activeElement.id === "f-text"`)
	b.press("unknown\r")
	b.see("No hold matches")
}

// A refresh that began before a search and ends after it does not bring the other holds back.
func TestSearchOutlastsAnOlderRefresh(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.holdOf(t, w.payments(t, holding))
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	b.open(w.console("reviews"))
	b.waitForStream()
	b.eval(`{
		const { send, setRequestHeader } = XMLHttpRequest.prototype;
		XMLHttpRequest.prototype.setRequestHeader = function (name, value) {
			this.refreshes ||= name === "X-Console-Refresh";
			setRequestHeader.call(this, name, value);
		};
		XMLHttpRequest.prototype.send = function () {
			if (!this.refreshes || window.release) { send.call(this); return; }
			this.addEventListener("loadend", () => setTimeout(() => (window.shown = true)));
			window.release = () => send.call(this);
		};
		document.dispatchEvent(new Event("visibilitychange"));
	}`, nil)
	b.until(`window.release`)
	b.press("/")
	b.until(`document.activeElement.id === "f-text"`)
	b.press("unknown\r")
	b.see("No hold matches")
	b.eval(`window.release()`, nil)
	b.until(`window.shown`)
	require.True(t, b.shows("No hold matches"))
}

// A row of the audit log is one line of a desktop, and opens.
func TestAuditLogShowsOneLinePerEntry(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for range 40 {
		w.subject(t)
	}
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Aud Auditor", models.RoleAuditor)
	var high float64
	require.Eventually(t, func() bool {
		b.open(w.console("audit"))
		b.eval(`Math.max(0, ...[...document.querySelectorAll(".entries tbody tr")].slice(0, 40).map((row) => row.getBoundingClientRect().height))`, &high)
		return high > 0 && strings.Contains(b.text(".entries"), "has the account")
	}, patience, 100*time.Millisecond, "the entries of the auditor's account are sealed")
	var tallest string
	b.eval(`[...document.querySelectorAll(".entries tbody tr")].slice(0, 40).reduce((a, b) => b.getBoundingClientRect().height > a.getBoundingClientRect().height ? b : a).textContent`, &tallest)
	require.LessOrEqual(t, high, 36.0, "this row has two lines: %s", tallest)
	b.click(".entries summary")
	b.until(`document.querySelector(".entry-fields code").checkVisibility()`)
	for _, width := range widths {
		b.size(width, 800)
		b.requireNoOverflow()
		b.requireClean()
		b.screenshot("audit-open-" + widthName(width))
	}
}
