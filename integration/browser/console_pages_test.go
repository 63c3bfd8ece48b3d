package browser_test

import (
	"fmt"
	"net/http"
	"testing"

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
	action, actionID, subject, held, allowed, evaluation, endpoint, change string
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
	w.held, _ = w.holdOf(t, w.action)
	for range 4 {
		w.holdOf(t, w.action)
	}
	w.post(t, "/api/v1/authorizations/"+w.allowed+"/outcome", object{"outcome": "executed"}).is(200)
	w.post(t, "/api/v1/actions/"+w.actionID+"/policy-versions", object{"requirements": object{
		"coverage_min": "sparse", "insufficient_evidence": "challenge", "claims": object{"operator_continuity": "uncertain"},
		"hold_on": []string{"automation_not_met", "evidence_replay_not_met"}, "approvals_required": 2,
	}}).is(201)
	w.endpoint = w.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/hook", "description": "Case system", "events": []string{"hold.*"}}).is(201).string("id")
	w.do(t, http.MethodPatch, "/api/v1/environment", object{"second_approver_required": true}).is(200)
	w.do(t, http.MethodPatch, "/api/v1/environment", object{"hold_ttl_seconds": 3600}).is(202)
	w.change = w.post(t, "/api/v1/actions/"+w.actionID+"/policy-versions/2/activate", nil).is(202).string("id")
	return w
}

// pages are the pages of the console, each with a text that it must show.
func (w populated) pages() []struct{ name, path, text string } {
	return []struct{ name, path, text string }{
		{"desk", w.console("reviews"), "Due within a day"},
		{"review", w.console("reviews", w.held), "Why it is held"},
		{"decisions", w.console("decisions"), "Until (UTC)"},
		{"decision", w.console("decisions", w.allowed), "What followed"},
		{"subject", w.console("subjects", w.subject), "Continuity over time"},
		{"policies", w.console("policies"), "Release a payment"},
		{"policy", w.console("policies", w.actionID), "version 2"},
		{"version", w.console("policies", w.actionID, "2") + "?last=500", "would have been different"},
		{"changes", w.console("changes"), "Change settings of the environment"},
		{"change", w.console("changes", w.change), "would have been different"},
		{"evaluations", w.console("evaluations"), "Pilot of payments"},
		{"evaluation", w.console("evaluations", w.evaluation), "Success criteria"},
		{"webhooks", w.console("webhooks"), "Case system"},
		{"webhook", w.console("webhooks", w.endpoint), "Attempts"},
		{"keys", w.console("keys"), "Permissions"},
		{"notifications", w.console("notifications"), "What you are notified of"},
		{"health", w.console("health"), "What the service depends on"},
		{"audit", w.console("audit"), "sealed entries"},
		{"absent", w.console("reviews", "azn_01jqx3k5v8e2sbyk0c4m7t9wzd"), "Not found"},
	}
}

// Every page is accessible and fits its window, on a desktop and on a phone, light and dark.
func TestConsolePagesAreAccessible(t *testing.T) {
	t.Parallel()
	w := newPopulated(t)
	b := newTab(t)
	b.enter(w.world, "Olga Operator-Reviewer", models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	b.expect("status of 404")
	for _, p := range w.pages() {
		b.size(1440, 900)
		b.open(p.path)
		b.see(p.text)
		b.requireAccessible()
		b.screenshot("console-page-" + p.name)
		b.size(360, 740)
		b.dark(true)
		b.requireFits()
		b.requireAccessible()
		b.screenshot("console-page-" + p.name + "-phone-dark")
		b.dark(false)
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
	require.Equal(t, "hold", b.text(".diff .before del"))
	require.Equal(t, "challenge", b.text(".diff .after ins"))
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
			w.do(t, http.MethodPatch, "/api/v1/environment", object{"bar_self_review": true}).is(202)
			b := newTab(t)
			b.size(width, 800)
			b.enter(w, "Olga", models.RoleOperator)
			require.Equal(t, "1\nwaiting", b.text(`[data-go="c"] .count`))
			b.open(w.console("changes"))
			b.see("This environment requires a second approver")
			b.requireFits()
			b.requireAccessible()
			b.click("[data-row] a")
			b.see("In force when requested")
			b.requireFits()
			b.requireAccessible()
			b.screenshot("console-change-" + fmt.Sprint(width))
			b.click("[data-approve]")
			b.see("The change is approved and in force.")
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
