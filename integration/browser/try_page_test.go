package browser_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/web/try"
)

// visit is a visitor of the try-it page.
type visit struct {
	*tab
	keyboard
}

func newVisit(t *testing.T) *visit {
	t.Helper()
	v := &visit{tab: newTab(t)}
	v.b = v.tab
	v.open("/try")
	v.see("Can a service know you by the way you type?")
	return v
}

// enrol types the enrollment passages.
func (v *visit) enrol(who *synthetic.Typist) {
	v.tab.t.Helper()
	v.click("#agree")
	for n := 1; n <= 3; n++ {
		v.see(fmt.Sprintf("Passage %d of 3", n))
		v.until("document.activeElement?.id === 'enroll-text' && document.querySelector('#enroll-text').value === ''")
		v.types(who.Type(115))
		if n == 1 {
			v.requireAccessible()
			v.screenshot("try-2-enrol")
		}
		v.click("#next")
	}
	v.see("Enrolled. Now type, and be recognised.")
}

// write types one frame and waits until it is scored.
func (v *visit) write(who *synthetic.Typist) {
	v.tab.t.Helper()
	const judged = "document.querySelectorAll('#timeline circle').length"
	var before int
	v.eval(judged, &before)
	v.eval("document.querySelector('#free-text').focus()", nil)
	v.types(who.Type(56))
	v.until(fmt.Sprintf("%s > %d", judged, before))
}

func TestTryPageRecognisesTheVisitor(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.requireAccessible()
	v.screenshot("try-1-welcome")
	// The prior alone recognises nine people in ten by their first frames: emil is one of them.
	emil, hugo := typist("emil"), typist("hugo")
	v.enrol(emil)

	v.write(emil)
	v.write(emil)
	v.see("Recognised:")
	require.Regexp(t, "confirmed|likely", v.text("#verdict"))
	v.pay("allow")
	v.click("#decision .proof .button")
	v.see("Valid and consumed")
	v.click("#decision .proof .button")
	v.see("A proof is valid for one payment")
	v.requireAccessible()
	v.screenshot("try-3-recognised-and-paid")

	v.click("#hand-over")
	v.see("A different person is typing")
	for range 3 {
		v.write(hugo)
	}
	v.see("this is not the person who enrolled")
	v.climax("Someone else.")
	v.pay("challenge")
	require.Contains(t, v.text("#decision .outcome"), "The money stays until you confirm")
	v.until("!document.querySelector('#decision table').checkVisibility()") // folded
	v.requireAccessible()
	v.screenshot("try-4-handed-over")
	v.confirm()
	v.see("The bank may send it, because you confirmed it")
	v.screenshot("try-5-confirmed")

	v.framesHoldNoContent()
	v.size(360, 740)
	v.dark(true)
	v.requireFits()
	v.requireAccessible()
	v.screenshot("try-6-phone-dark")

	v.click("#forget")
	v.see("Your data is being erased")
	v.requireAccessible()
	v.screenshot("try-7-forgotten")
}

// climax requires the verdict, alone and larger than any other text.
func (v *visit) climax(words string) {
	v.tab.t.Helper()
	v.until(fmt.Sprintf(`document.querySelector("#climax strong")?.textContent === %q && document.querySelector("#free-status").textContent === "" && (() => {
		const size = (e) => parseFloat(getComputedStyle(e).fontSize), verdict = document.querySelector("#climax strong");
		return [...document.querySelectorAll("main *")].every((e) => e === verdict || !e.checkVisibility() || size(e) < size(verdict));
	})()`, words))
}

// handToStranger lets a simulated typist take over who differs from everyone else here. The page draws one at random, and about one in
// fourteen is not noticed.
func (v *visit) handToStranger() {
	v.tab.t.Helper()
	v.eval("crypto.getRandomValues = ((real) => (a) => a instanceof Uint32Array ? a.fill(7) : real(a))(crypto.getRandomValues.bind(crypto)); true", nil)
	v.click("#stranger")
}

func (v *visit) pay(decision string) {
	v.tab.t.Helper()
	v.click("#pay-button")
	v.until(fmt.Sprintf("document.querySelector('#decision .outcome strong')?.textContent === %q", decision))
}

// confirm opens the hosted challenge page of the link and confirms there.
func (v *visit) confirm() {
	v.tab.t.Helper()
	v.see("Confirm on the hosted page")
	var path string
	v.eval("document.querySelector('#decision a[target=_blank]').getAttribute('href')", &path)
	other := v.newTab()
	other.open(path)
	other.see("Simulated money leaves a simulated account.")
	other.click("[data-confirm]")
	other.see("You confirmed the request of")
}

// framesHoldNoContent requires that the frames that the page shows contain enumerated names and numbers, and no typed text.
func (v *visit) framesHoldNoContent() {
	t := v.tab.t
	t.Helper()
	var shown []string
	v.eval("[...document.querySelectorAll('#frames pre')].map((e) => e.textContent)", &shown)
	require.GreaterOrEqual(t, len(shown), 8)
	for _, text := range shown {
		var frame struct {
			Features map[string]any `json:"features"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &frame))
		require.Equal(t, "cs-features-2", frame.Features["schema"])
		for _, trace := range []string{"Key", "transfer", "question", "payment"} {
			require.NotContains(t, text, trace)
		}
	}
}

func TestTryPageSimulatesAStranger(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	erna := typist("erna")
	v.enrol(erna)
	v.write(erna)
	v.until("!document.querySelector('#stranger').disabled")
	v.handToStranger()
	v.see("A simulated typist is typing")
	v.until("document.querySelectorAll('#timeline circle').length >= 4")
	v.see("by a simulated typist")
	v.climax("Someone else.")
}

// A visitor who returns on the same day is still enrolled, until they ask to be forgotten.
func TestTryPageRemembersAReturningVisitor(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.enrol(typist("greta"))
	again := v.newTab()
	again.open("/try")
	again.click("#agree")
	again.see("Now just type")
	again.click("#forget")
	again.see("Your data is being erased")
	v.expect("status of 404")
	v.expect("status of 401")
	v.eval("fetch('/try/state').then((r) => r.status)", nil)
	v.open("/try")
	v.click("#agree")
	v.see("Passage 1 of 3")
}

func TestTryPageIsolatesVisitors(t *testing.T) {
	t.Parallel()
	needChromium(t)
	post := func(path, body string, header map[string]string) apitest.Response {
		all := map[string]string{"Accept": "application/json"}
		maps.Copy(all, header)
		return submit(t, path, body, all)
	}
	foreign := post("/try/begin", "{}", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"})
	require.Equal(t, 403, foreign.Status, "another site cannot act for a visitor")
	own := map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": shared.baseURL}
	begun := post("/try/begin", "{}", own)
	require.Equal(t, 201, begun.Status)
	cookie := begun.Header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict"} {
		require.Contains(t, cookie, part)
	}
	value, _, _ := strings.Cut(cookie, ";")
	id, _, _ := strings.Cut(strings.TrimPrefix(value, "try="), ".")
	for _, forged := range []string{"", "try=" + id, "try=" + id + ".AAAA", "try=try-forged." + strings.SplitN(value, ".", 2)[1]} {
		header := map[string]string{"Sec-Fetch-Site": "same-origin", "Cookie": forged}
		for _, path := range []string{"/try/token", "/try/session", "/try/pay", "/try/forget"} {
			require.Equal(t, 401, post(path, "{}", header).Status, "%s with %q", path, forged)
		}
	}
	mine := map[string]string{"Sec-Fetch-Site": "same-origin", "Cookie": value}
	w := newSandbox(t)
	subject := w.subject(t)
	session := w.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	for _, path := range []string{"/try/pay", "/try/enroll", "/try/stranger"} {
		require.Equal(t, 404, post(path, `{"session":"`+session+`"}`, mine).Status, "%s with a session of another environment", path)
	}
}

func TestTryPageReportsALostConnection(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.expect("ERR_INTERNET_DISCONNECTED")
	v.expect("Failed to load resource")
	v.offline(true)
	v.click("#agree")
	v.see("The service cannot be reached")
	v.offline(false)
	v.click("#agree")
	v.see("Passage 1 of 3")
}

// The sweep erases visitors after a day, and no other subjects.
func TestTryPageSweepErasesOldVisitors(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	at := func(later time.Duration) *try.Page {
		ahead := clock.Offset(clock.System(), later)
		return try.New(try.Deps{
			Key: w.key, Clock: ahead, Identity: shared.Identity, Keys: shared.Keys,
			Subjects: subject.New(shared.Store, shared.Keys, assurance.New(scoring.Default(), shared.Keys), ahead),
		})
	}
	visitor := w.post(t, "/api/v1/subjects", object{"id": at(0).NewID()}).is(201).string("id")
	other := w.post(t, "/api/v1/subjects", object{"id": "try-" + unique()}).is(201).string("id")
	sweep := func(later time.Duration) { require.NoError(t, at(later).Sweep(t.Context())) }
	sweep(23 * time.Hour)
	w.get(t, "/api/v1/subjects/"+visitor).is(200)
	sweep(25 * time.Hour)
	w.get(t, "/api/v1/subjects/"+visitor).is(404)
	w.get(t, "/api/v1/subjects/"+other).is(200)
}
