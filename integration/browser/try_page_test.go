package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/web/try"
)

// visit is somebody on the try-it page.
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

// enrols goes through the passages.
func (v *visit) enrols(who *synthetic.Typist) {
	v.tab.t.Helper()
	v.click("#agree")
	for n := 1; n <= 3; n++ {
		v.see(fmt.Sprintf("Passage %d of 3", n))
		v.until("document.activeElement?.id === 'enroll-text' && document.querySelector('#enroll-text').value === ''")
		v.types(who.Type(115))
		if n == 1 {
			v.accessible()
			v.screenshot("try-2-enrol")
		}
		v.click("#next")
	}
	v.see("Enrolled. Now type, and be recognised.")
}

// writes types one frame and waits until it is judged.
func (v *visit) writes(who *synthetic.Typist) {
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
	v.accessible()
	v.screenshot("try-1-welcome")
	otto, hugo := typist("otto"), typist("hugo")
	v.enrols(otto)

	v.writes(otto)
	v.writes(otto)
	v.see("There you are.")
	require.Regexp(t, "confirmed|likely", v.text("#verdict"))
	v.pays("allow")
	v.click("#decision .proof .button")
	v.see("Valid, and now used up")
	v.click("#decision .proof .button")
	v.see("A proof is good for one payment")
	v.accessible()
	v.screenshot("try-3-recognised-and-paid")

	v.click("#hand-over")
	v.see("Somebody else types now")
	for range 3 {
		v.writes(hugo)
	}
	v.see("this is not the person who enrolled")
	v.pays("challenge")
	v.accessible()
	v.screenshot("try-4-handed-over")
	v.confirms()
	v.see("The bank may send it.")
	v.screenshot("try-5-confirmed")

	v.framesHoldNoContent()
	v.size(360, 740)
	v.dark(true)
	v.fits()
	v.accessible()
	v.screenshot("try-6-phone-dark")

	v.click("#forget")
	v.see("You are forgotten")
	v.accessible()
	v.screenshot("try-7-forgotten")
}

func (v *visit) pays(decision string) {
	v.tab.t.Helper()
	v.click("#pay-button")
	v.until(fmt.Sprintf("document.querySelector('#decision .outcome strong')?.textContent === %q", decision))
}

// confirms opens the hosted page of the challenge, as the link does, and confirms there.
func (v *visit) confirms() {
	v.tab.t.Helper()
	v.see("Confirm on the hosted page")
	var path string
	v.eval("document.querySelector('#decision a[target=_blank]').getAttribute('href')", &path)
	other := v.another()
	other.open(path)
	other.see("Pretended money leaves a pretended account.")
	other.click("[data-confirm]")
	other.see("Your confirmation has gone")
}

// framesHoldNoContent looks at what the page says it sent: enumerated names and numbers, and no word of what was typed.
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
		require.Equal(t, "cs-features-1", frame.Features["schema"])
		for _, trace := range []string{"Key", "transfer", "question", "payment"} {
			require.NotContains(t, text, trace)
		}
	}
}

func TestTryPageSimulatesAStranger(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	emil := typist("emil")
	v.enrols(emil)
	v.writes(emil)
	v.until("!document.querySelector('#stranger').disabled")
	v.click("#stranger")
	v.see("A made-up typist is at your keyboard: frame 3 of 3")
	v.until("document.querySelectorAll('#timeline circle').length >= 4")
	v.see("by a made-up typist")
}

// Coming back the same day finds the same person enrolled; after forgetting there is nobody.
func TestTryPageRemembersAReturningVisitor(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.enrols(typist("greta"))
	again := v.another()
	again.open("/try")
	again.click("#agree")
	again.see("Now just type")
	again.click("#forget")
	again.see("You are forgotten")
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
	post := func(path, body string, header map[string]string) (int, *http.Response) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.baseURL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json")
		for name, value := range header {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode, resp
	}
	status, _ := post("/try/begin", "{}", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"})
	require.Equal(t, 403, status, "another site cannot act for a visitor")
	own := map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": shared.baseURL}
	status, begun := post("/try/begin", "{}", own)
	require.Equal(t, 201, status)
	cookie := begun.Header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict"} {
		require.Contains(t, cookie, part)
	}
	value, _, _ := strings.Cut(cookie, ";")
	id, _, _ := strings.Cut(strings.TrimPrefix(value, "try="), ".")
	for _, forged := range []string{"", "try=" + id, "try=" + id + ".AAAA", "try=try-somebody." + strings.SplitN(value, ".", 2)[1]} {
		header := map[string]string{"Sec-Fetch-Site": "same-origin", "Cookie": forged}
		for _, path := range []string{"/try/token", "/try/session", "/try/pay", "/try/forget"} {
			status, _ := post(path, "{}", header)
			require.Equal(t, 401, status, "%s with %q", path, forged)
		}
	}
	mine := map[string]string{"Sec-Fetch-Site": "same-origin", "Cookie": value}
	foreign := newSandbox(t)
	subject := foreign.subject(t)
	session := foreign.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	for _, path := range []string{"/try/pay", "/try/enroll", "/try/stranger"} {
		status, _ := post(path, `{"session":"`+session+`"}`, mine)
		require.Equal(t, 404, status, "%s with a session of somebody else", path)
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

// Visitors are forgotten after a day, and nobody else is.
func TestTryPageSweepErasesOldVisitors(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	visitor := w.post(t, "/api/v1/subjects", object{"id": "try-" + unique()}).is(201).string("id")
	other := w.subject(t)
	sweep := func(later time.Duration) {
		ahead := clock.Offset(clock.System(), later)
		page := try.New(try.Deps{
			Key: w.key, Clock: ahead, Identity: shared.Identity,
			Subjects: subject.New(shared.Store, shared.Keys, assurance.New(scoring.Default(), shared.Keys), ahead),
		})
		require.NoError(t, page.Sweep(t.Context()))
	}
	sweep(23 * time.Hour)
	w.get(t, "/api/v1/subjects/"+visitor).is(200)
	sweep(25 * time.Hour)
	w.get(t, "/api/v1/subjects/"+visitor).is(404)
	w.get(t, "/api/v1/subjects/"+other).is(200)
}
