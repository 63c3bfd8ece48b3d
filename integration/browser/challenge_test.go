package browser_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// openChallenge is an open challenge with the path of its page.
type openChallenge struct {
	authorization, challenge, subject, path, ticket string
}

// challenge requests a decision that requires a challenge, and creates a link to the challenge page.
func (w world) challenge(t testing.TB, subject, action string, link object) openChallenge {
	t.Helper()
	a := w.authorize(t, subject, action, "challenge")
	out := openChallenge{authorization: a.string("id"), challenge: a.string("challenge.id"), subject: subject}
	out.path = w.link(t, out.challenge, link)
	var path string
	path, out.ticket, _ = strings.Cut(out.path, "#")
	require.Equal(t, "/challenge/"+out.challenge, path, "the path does not contain the ticket")
	return out
}

// link creates a link to the challenge's page and returns its path with the ticket.
func (w world) link(t testing.TB, challenge string, body object) string {
	t.Helper()
	var sent any
	if body != nil {
		sent = body
	}
	made, err := url.Parse(w.post(t, "/api/v1/challenges/"+challenge+"/link", sent).is(201).string("url"))
	require.NoError(t, err)
	require.Len(t, made.Fragment, 43)
	shared.secret(made.Fragment)
	return made.Path + "#" + made.Fragment
}

// newChallenge creates an environment with an open challenge.
func newChallenge(t *testing.T) (world, openChallenge) {
	t.Helper()
	w := newSandbox(t)
	return w, w.challenge(t, w.subject(t), w.payment(t), nil)
}

// seeEnding waits until the challenge page shows the text of an ending. If the page reports that the service is busy, it retries
// as a user would. The page may be navigating at any time.
func (b *tab) seeEnding(text string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		if b.shows(text) {
			return true
		}
		_ = b.try(chromedp.Evaluate(`document.querySelector("[data-retry]:enabled")?.click()`, nil))
		return false
	}, patience, 200*time.Millisecond, "waiting for %q; the artefacts include a final screenshot", text)
}

// payment creates the action that most challenges confirm.
func (w world) payment(t testing.TB) string {
	t.Helper()
	return w.action(t, "enforce", "Release a payment of 12,400.00 EUR", "The money leaves your account at once and cannot be called back.", challenging)
}

// status returns the challenge's status from the API.
func (w world) status(t testing.TB, a openChallenge) string {
	t.Helper()
	return w.get(t, "/api/v1/challenges/"+a.challenge).is(200).string("status")
}

// requireAllowed requires a follow-up decision that allows, with a proof that is consumed once.
func (w world) requireAllowed(t testing.TB, a openChallenge, strength string) {
	t.Helper()
	children := w.get(t, "/api/v1/authorizations?decision=allow&subject="+url.QueryEscape(a.subject)).is(200).list()
	require.Len(t, children, 1)
	child := w.get(t, "/api/v1/authorizations/"+children[0]["id"].(string)).is(200)
	require.Equal(t, a.authorization, child.string("parent"))
	parent := w.get(t, "/api/v1/authorizations/"+a.authorization).is(200)
	require.Equal(t, "completed", parent.string("challenge.status"))
	require.Equal(t, strength, parent.string("challenge.strength"))
	proof := object{"proof": child.string("proof.compact"), "audience": audience, "consume": true}
	require.Equal(t, true, w.post(t, "/api/v1/verify", proof).is(200).object()["valid"])
	require.Equal(t, false, w.post(t, "/api/v1/verify", proof).is(200).object()["valid"], "a proof is consumed once")
}

func TestChallengePageConfirms(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	b := newTab(t)
	b.open(a.path)
	b.see("Release a payment of 12,400.00 EUR")
	for _, text := range []string{"Alder Bank asks you to confirm", "The money leaves your account", "Test mode", "Time left"} {
		require.Contains(t, b.text("body"), text)
	}
	for range 2 { // the page removes the ticket from the address, and a reload keeps it
		b.until(`location.pathname === "/challenge/` + a.challenge + `" && location.href === location.origin + location.pathname`)
		b.run(reload)
		b.see("Release a payment of 12,400.00 EUR")
	}
	b.until(`/^[0-4]:[0-5][0-9]$/.test(document.querySelector("[data-left]").textContent.trim())`) // it counts down
	b.requireAccessible()
	b.screenshot("challenge-open")
	b.dark(true)
	b.requireAccessible()
	b.screenshot("challenge-open-dark")
	b.size(360, 740)
	b.requireFits()
	b.screenshot("challenge-open-phone-dark")
	b.dark(false)
	b.click("summary")
	b.see("applies to these values only")
	b.requireFits()
	b.requireAccessible()
	b.screenshot("challenge-details-phone")

	b.click("[data-confirm]")
	b.seeEnding("You confirmed the request of Alder Bank")
	b.until(`document.activeElement.textContent === "Confirmed"`)
	b.requireAccessible()
	b.screenshot("challenge-confirmed-phone")
	w.requireAllowed(t, a, "sandbox")
	b.size(1100, 800)
	b.screenshot("challenge-confirmed")
	b.open(a.path)
	b.see("Confirmed")
}

func TestChallengePageCancels(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	b := newTab(t)
	b.open(a.path)
	b.click("[data-cancel]")
	b.seeEnding("Nothing was confirmed. If you did not make this request, contact Alder Bank.")
	b.requireAccessible()
	b.screenshot("challenge-cancelled")
	require.Equal(t, "cancelled", w.status(t, a))
	b.open(a.path)
	b.see("Cancelled")
	require.NotContains(t, b.text("body"), "(test mode)")
}

// The page can be used by keyboard, with the focus in the expected order.
func TestChallengePageKeyboardNavigation(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	b := newTab(t)
	b.open(a.path)
	b.until(`!document.querySelector("[data-confirm]").disabled`)
	b.press(kb.Tab)
	b.until(`document.activeElement.className === "skip"`)
	b.screenshot("challenge-skip-link")
	b.press(kb.Enter)
	for _, stop := range []string{"[data-confirm]", "[data-cancel]", "summary"} {
		b.press(kb.Tab)
		b.until("document.activeElement.matches('" + stop + "')")
	}
	b.press(kb.Enter)
	b.see("applies to these values only")
	b.eval(`document.querySelector("[data-confirm]").focus()`, nil)
	b.screenshot("challenge-focus")
	b.press(kb.Enter)
	b.seeEnding("You confirmed the request of Alder Bank")
	require.Equal(t, "completed", w.status(t, a))
}

// Repeated clicks in several tabs make one completion, and every page shows the result.
func TestChallengePageCompletesOnceAcrossTabs(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	first := newTab(t)
	second := first.newTab()
	first.open(a.path)
	second.open(a.path)
	for _, b := range []*tab{first, second} {
		b.until(`!document.querySelector("[data-confirm]").disabled`)
	}
	first.eval(`document.querySelector("[data-confirm]").click(), document.querySelector("[data-confirm]").click(), document.querySelector("[data-cancel]").click()`, nil)
	first.seeEnding("You confirmed the request of Alder Bank")
	second.see("You confirmed the request of Alder Bank") // it polls the status
	w.requireAllowed(t, a, "sandbox")

	first.open("/assets/none")
	first.expect("status of 404")
	first.see("Page not found")
	first.leave("history.back()")
	first.seeEnding("You confirmed the request of Alder Bank")
	require.NotContains(t, first.text("body"), "Time left", "going back does not show an open challenge")
}

func TestChallengePageExpires(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	_, err := shared.Core.Store.Pool().Exec(t.Context(), `with soon as (select clock_timestamp() + interval '20 seconds' as at),
		c as (update challenges set expires_at = (select at from soon) where id = $1)
		update challenge_links set expires_at = (select at from soon) where challenge_id = $1`, a.challenge)
	require.NoError(t, err)
	testenv.Attest(t, shared.Core.Store, pg.Scope{Tenant: w.TenantID, Environment: w.ID})
	b := newTab(t)
	b.open(a.path)
	b.see("Time left")
	b.until(`document.querySelector("[data-announce]").textContent === "10 seconds left"`)
	b.see("Time ran out")
	b.requireAccessible()
	b.screenshot("challenge-expired")
	require.Equal(t, "expired", w.status(t, a))
	b.expect("status of 410")
	b.open(a.path)
	b.see("This link has expired")
	b.see("start over at Alder Bank to get a new link")
	b.requireAccessible()
	b.screenshot("challenge-link-expired")
}

// A link that has ended says what became of its request, to the holder of the ticket only.
func TestChallengePageExplainsEndedLinks(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, action := w.subject(t), w.payment(t)
	b := newTab(t)
	b.expect("status of 410")
	b.expect("status of 404")
	for end, shown := range map[string]string{"complete": "This link has been used", "cancel": "This request was cancelled"} {
		a := w.challenge(t, subject, action, nil)
		var body any
		if end == "complete" {
			body = object{"method": "sandbox_confirm"}
		}
		w.post(t, "/api/v1/challenges/"+a.challenge+"/"+end, body).is(200)
		_, err := shared.Core.Store.Pool().Exec(t.Context(), "update challenge_links set expires_at = now() - interval '1 minute' where challenge_id = $1", a.challenge)
		require.NoError(t, err)
		b.open(a.path)
		b.see(shown)
		require.Contains(t, b.text("main"), "Alder Bank", "it says whom to ask")
		b.requireAccessible()
		other := w.challenge(t, subject, action, nil)
		b.open("/challenge/" + other.challenge + "#" + a.ticket)
		b.see("This link is incomplete or mistyped")
	}
}

// Every link that is not known shows the same text.
func TestChallengePageRefusesInvalidLinks(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	b := newTab(t)
	b.expect("status of 404")
	other := w.challenge(t, w.subject(t), w.payment(t), nil)
	swapped := a.challenge + "#" + a.ticket[1:] + a.ticket[:1]
	var texts []string
	for _, bad := range []string{
		swapped, a.challenge + "#short", a.challenge + "#%3Cscript%3Ealert(1)%3C", a.challenge + "#" + strings.Repeat("A", 43), a.challenge,
		a.ticket, other.challenge + "#" + a.ticket, "chl_none#" + a.ticket,
	} {
		b.open("/challenge/" + bad)
		b.see("This link is incomplete or mistyped")
		texts = append(texts, b.text("main"))
	}
	for _, text := range texts {
		require.Equal(t, texts[0], text)
	}
	b.requireAccessible()
	b.screenshot("challenge-bad-link")
	b.open("/challenge")
	b.see("Page not found")
	require.Equal(t, "open", w.status(t, a))
}

func TestChallengePageReturnsToTheRelyingParty(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payment(t)
	open := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
	for _, bad := range []string{"https://evil.example/", "javascript:alert(1)", shared.baseURL + "@evil.example/", "//evil.example"} {
		w.post(t, "/api/v1/challenges/"+open+"/link", object{"return_url": bad}).is(422)
	}
	a := w.challenge(t, w.subject(t), action, object{"return_url": shared.baseURL + "/try?step=2"})
	b := newTab(t)
	b.open(a.path)
	require.NotContains(t, b.text("body"), "Go back to", "there is no link back while the challenge is open")
	b.click("[data-confirm]")
	b.seeEnding("Go back to localhost")
	var href string
	b.eval(`[...document.querySelectorAll("[data-back]")].find((a) => a.offsetParent).href`, &href)
	require.Equal(t, shared.baseURL+"/try?step=2&challenge="+a.challenge+"&status=completed", href)
	b.requireAccessible()
	b.screenshot("challenge-go-back")
}

// A lost request can be sent again. If only the response was lost, the challenge has been completed, once.
func TestChallengePageSurvivesALostConnection(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payment(t)
	a := w.challenge(t, w.subject(t), action, nil)
	b := newTab(t)
	b.lose("*/complete*", 1, fetch.RequestStageRequest)
	b.open(a.path)
	b.click("[data-confirm]")
	b.see("You are offline.")
	b.requireAccessible()
	b.screenshot("challenge-lost-connection")
	require.Equal(t, "open", w.status(t, a))
	b.click("[data-retry]")
	b.seeEnding("You confirmed the request of Alder Bank")
	w.requireAllowed(t, a, "sandbox")

	a = w.challenge(t, w.subject(t), action, nil)
	b = newTab(t)
	b.lose("*/complete*", 1, fetch.RequestStageResponse)
	b.open(a.path)
	b.click("[data-confirm]")
	b.seeEnding("You confirmed the request of Alder Bank")
	w.requireAllowed(t, a, "sandbox")
}

// The page retries a busy service, and the user can retry if that fails.
func TestChallengePageRetriesABusyService(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payment(t)
	a := w.challenge(t, w.subject(t), action, nil)
	b := newTab(t)
	b.busy("*/complete*", 2)
	b.open(a.path)
	b.click("[data-confirm]")
	b.seeEnding("You confirmed the request of Alder Bank")
	w.requireAllowed(t, a, "sandbox")

	a = w.challenge(t, w.subject(t), action, nil)
	b = newTab(t)
	b.busy("*/complete*", 3)
	b.open(a.path)
	b.click("[data-confirm]")
	b.see("The service is unavailable. Try again.")
	b.screenshot("challenge-busy")
	b.click("[data-retry]")
	b.seeEnding("You confirmed the request of Alder Bank")
	w.requireAllowed(t, a, "sandbox")
}

func TestChallengePageShowsOutsideCancellation(t *testing.T) {
	t.Parallel()
	w, a := newChallenge(t)
	b := newTab(t)
	b.open(a.path)
	b.see("Time left")
	w.post(t, "/api/v1/challenges/"+a.challenge+"/cancel", nil).is(200)
	b.see("Cancelled")
	require.Eventually(t, func() bool { return w.status(t, a) == "cancelled" }, patience, 50*time.Millisecond)
}
