package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/models"
)

// frameMS and frameKeys are the length of a made-up frame and the keys in it.
const frameMS, frameKeys = 20_000, 100

// typed sends a session of frames for the subject, as the typist would type them.
func (w world) typed(t testing.TB, subject, purpose string, who *synthetic.Typist, frames int) string {
	t.Helper()
	id := w.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
	start := time.Now().Add(-time.Duration(frames) * frameMS * time.Millisecond)
	for n := range frames {
		at := start.Add(time.Duration(n+1) * frameMS * time.Millisecond)
		w.post(t, "/api/v1/sessions/"+id+"/evidence", object{
			"frame_id": fmt.Sprintf("frame-%d", n), "timestamp": float64(at.UnixMilli()) / 1000, "duration_ms": frameMS - 500,
			"features": who.Frame(frameKeys), "purpose": purpose,
		}).is(200)
	}
	return id
}

// enrolledAs makes a subject that the typist is enrolled as.
func (w world) enrolledAs(t testing.TB, who *synthetic.Typist) string {
	t.Helper()
	subject := w.subject(t)
	var last string
	for range 3 {
		last = w.typed(t, subject, "enroll", who, 4)
		who.NewDay()
	}
	status := w.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": last}).status
	require.Contains(t, []int{200, 202}, status)
	require.Eventually(t, func() bool {
		return w.get(t, "/api/v1/subjects/"+subject).is(200).string("enrollment") == "enrolled"
	}, patience, 50*time.Millisecond)
	return subject
}

// decide authorizes without a wish for what comes of it.
func (w world) decide(t testing.TB, subject, action string) string {
	t.Helper()
	return w.post(t, "/api/v1/authorize", object{
		"subject": subject, "action": action, "resource": object{"type": "resource", "id": "payment-" + unique()},
		"audience": audience, "requested_at": time.Now().Unix(), "nonce": unique() + unique(), "idempotency_key": unique(),
	}).is(200).string("id")
}

// busy is a world in which something has happened.
type busy struct {
	world
	action, actionID, subject, held, allowed, evaluation, endpoint string
}

func newBusy(t *testing.T) busy {
	t.Helper()
	w := busy{world: newSandbox(t)}
	wanted := object{"coverage_min": "partial", "insufficient_evidence": "hold", "claims": object{"operator_continuity": "likely"}, "hold_on": []string{"automation_not_met"}}
	w.action = w.payments(t, wanted)
	for _, a := range w.get(t, "/api/v1/actions").is(200).list() {
		w.actionID = a["id"].(string)
	}
	w.evaluation = w.post(t, "/api/v1/evaluations", object{"name": "Pilot of payments", "action_keys": []string{w.action}}).is(201).string("id")
	own, other := typist("the person"), typist("somebody else")
	w.subject = w.enrolledAs(t, own)
	w.decide(t, w.subject, w.action)
	w.typed(t, w.subject, "score", own, 6)
	w.allowed = w.decide(t, w.subject, w.action)
	w.decide(t, w.subject, w.action)
	w.typed(t, w.subject, "score", other, 6)
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
	return w
}

// pages are the pages of the console with what each must show.
func (w busy) pages() []struct{ name, path, text string } {
	return []struct{ name, path, text string }{
		{"desk", w.console("reviews"), "Due within a day"},
		{"review", w.console("reviews", w.held), "Why it is held"},
		{"decisions", w.console("decisions"), "Until (UTC)"},
		{"decision", w.console("decisions", w.allowed), "What followed"},
		{"subject", w.console("subjects", w.subject), "Continuity over time"},
		{"policies", w.console("policies"), "Release a payment"},
		{"policy", w.console("policies", w.actionID), "version 2"},
		{"version", w.console("policies", w.actionID, "2") + "?last=500", "would have been another"},
		{"evaluations", w.console("evaluations"), "Pilot of payments"},
		{"evaluation", w.console("evaluations", w.evaluation), "Success criteria"},
		{"webhooks", w.console("webhooks"), "Case system"},
		{"webhook", w.console("webhooks", w.endpoint), "Attempts"},
		{"health", w.console("health"), "What the service depends on"},
		{"audit", w.console("audit"), "are sealed"},
		{"absent", w.console("reviews", "azn_01jqx3k5v8e2sbyk0c4m7t9wzd"), "Not found"},
	}
}

// Every page, wide and on a phone, light and dark: readable, fitting, without a fault.
func TestConsolePagesAreAccessible(t *testing.T) {
	t.Parallel()
	w := newBusy(t)
	b := newTab(t)
	b.enter(w.world, "Olga Operator-Reviewer", models.RoleReviewer, models.RoleOperator, models.RoleAuditor)
	b.expect("status of 404")
	for _, p := range w.pages() {
		b.size(1440, 900)
		b.open(p.path)
		b.see(p.text)
		b.accessible()
		b.screenshot("console-page-" + p.name)
		b.size(360, 740)
		b.dark(true)
		b.fits()
		b.accessible()
		b.screenshot("console-page-" + p.name + "-phone-dark")
		b.dark(false)
	}
}

// An operator compares, simulates and activates a policy; the page asks before it does.
func TestConsoleActivatesAPolicy(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	w.holdOf(t, action)
	id := w.get(t, "/api/v1/actions").is(200).list()[0]["id"].(string)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": challenging}).is(201)
	b := newTab(t)
	b.enter(w, "Olga", models.RoleOperator)
	require.Equal(t, w.console("policies"), b.address(), "an operator begins with the policies")
	b.open(w.console("policies", id, "2"))
	b.see("What changes against version 1")
	require.Equal(t, "hold", b.text(".diff .before del"))
	require.Equal(t, "challenge", b.text(".diff .after ins"))
	b.click("#simulation button")
	b.see("1 of 1 decisions (100.0 %) would have been another.")
	b.click(".ask summary")
	b.see("version 1 is retired for good")
	b.click(".ask button")
	b.see("activated")
	b.until(`document.querySelector(".case-tags").textContent.includes("active")`)
	require.Equal(t, 2.0, w.get(t, "/api/v1/actions/"+id).is(200).object()["active_policy_version"])
	b.expect("status of 403")
	b.open(w.console("reviews"))
	b.see("Your role in this environment does not let you see reviews.")
}

// The keyboard leads through the desk without a mouse, and says how.
func TestConsoleKeyboardNavigation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	first, _ := w.holdOf(t, action)
	second, _ := w.holdOf(t, action)
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	b.open(w.console("reviews"))
	b.live()
	b.press("?")
	b.until(`document.querySelector("dialog[data-keys]").open`)
	b.accessible()
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
	b.live()
	b.press("j")
	b.until(`location.pathname.endsWith("` + second + `")`)
	b.live()
	b.press("k")
	b.until(`location.pathname.endsWith("` + first + `")`)
	b.live()
	b.press("u")
	b.until(`location.pathname.endsWith("/reviews")`)
	b.live()
	b.press("/")
	b.until(`document.activeElement.id === "f-subject"`)
	b.press("nobody\r")
	b.see("Nothing waits for a review")
}
