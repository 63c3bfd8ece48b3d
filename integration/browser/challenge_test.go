package browser_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// asked is a challenge that waits for its person, with the path of its page.
type asked struct {
	authorization, challenge, subject, path, ticket string
}

// challenge asks for a challenged authorization of the subject and makes a link to its page.
func (w world) challenge(t testing.TB, subject, action string, link object) asked {
	t.Helper()
	a := w.authorize(t, subject, action, "challenge")
	out := asked{authorization: a.string("id"), challenge: a.string("challenge.id"), subject: subject}
	var body any
	if link != nil {
		body = link
	}
	made, err := url.Parse(w.post(t, "/api/v1/challenges/"+out.challenge+"/link", body).is(201).string("url"))
	require.NoError(t, err)
	require.Equal(t, "/challenge/"+out.challenge, made.Path, "the ticket is in no path")
	out.ticket = made.Fragment
	require.Len(t, out.ticket, 43)
	out.path = made.Path + "#" + out.ticket
	shared.secret(out.ticket)
	return out
}

// ends waits until the challenge page shows the text of an ending. Where the page says that the service was too busy, it does
// what a person would: try again.
func (b *tab) ends(text string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		if strings.Contains(b.text("body"), text) {
			return true
		}
		b.eval(`document.querySelector("[data-retry]:enabled")?.click()`, nil)
		return false
	}, patience, 200*time.Millisecond, "waiting for %q; a screenshot of the end is among the artefacts", text)
}

// payment is the action that most of these tests ask for.
func (w world) payment(t testing.TB) string {
	t.Helper()
	return w.action(t, "enforce", "Release a payment of 12,400.00 EUR", "The money leaves your account at once and cannot be called back.", challenging)
}

// status is where the API says the challenge stands.
func (w world) status(t testing.TB, a asked) string {
	t.Helper()
	return w.get(t, "/api/v1/challenges/"+a.challenge).is(200).string("status")
}

// allowed requires the child authorization that followed and its proof, which verifies once.
func (w world) allowed(t testing.TB, a asked, strength string) {
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
	require.Equal(t, false, w.post(t, "/api/v1/verify", proof).is(200).object()["valid"], "a proof is spent once")
}

func TestChallengePageConfirms(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	b := newTab(t)
	b.open(a.path)
	b.see("Release a payment of 12,400.00 EUR")
	for _, text := range []string{"Alder Bank asks you to confirm", "The money leaves your account", "payments", "Sandbox: not for real", "Time left"} {
		require.Contains(t, b.text("body"), text)
	}
	for range 2 { // the ticket leaves the address at once, and a reload still knows it
		b.until(`location.pathname === "/challenge/` + a.challenge + `" && location.href === location.origin + location.pathname`)
		b.run(reload)
		b.see("Release a payment of 12,400.00 EUR")
	}
	b.until(`/^[0-4]:[0-5][0-9]$/.test(document.querySelector("[data-left]").textContent.trim())`) // it counts down
	b.accessible()
	b.screenshot("challenge-open")
	b.dark(true)
	b.accessible()
	b.screenshot("challenge-open-dark")
	b.size(360, 740)
	b.fits()
	b.screenshot("challenge-open-phone-dark")
	b.dark(false)
	b.click("summary")
	b.see("bound to these values")
	b.fits()
	b.accessible()
	b.screenshot("challenge-details-phone")

	b.click("[data-confirm]")
	b.ends("Your confirmation has gone to Alder Bank")
	b.until(`document.activeElement.textContent === "Confirmed"`)
	b.accessible()
	b.screenshot("challenge-confirmed-phone")
	w.allowed(t, a, "sandbox")
	b.size(1100, 800)
	b.screenshot("challenge-confirmed")
	b.open(a.path)
	b.see("Confirmed")
}

func TestChallengePageCancels(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	b := newTab(t)
	b.open(a.path)
	b.click("[data-cancel]")
	b.ends("Nothing was confirmed. If you did not ask for this, tell Alder Bank.")
	b.accessible()
	b.screenshot("challenge-cancelled")
	require.Equal(t, "cancelled", w.status(t, a))
	b.open(a.path)
	b.see("Cancelled")
	require.NotContains(t, b.text("body"), "(sandbox)")
}

// A keyboard is enough, and the focus is where a person expects it.
func TestChallengePageKeyboardNavigation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	b := newTab(t)
	b.open(a.path)
	b.until(`!document.querySelector("[data-confirm]").disabled`)
	b.press(kb.Tab)
	b.until(`document.activeElement.className === "skip"`)
	b.screenshot("challenge-skip-link")
	b.press(kb.Enter)
	b.press(kb.Tab)
	b.until(`document.activeElement.tagName === "SUMMARY"`)
	b.press(kb.Enter)
	b.see("bound to these values")
	b.press(kb.Tab)
	b.until(`document.activeElement.matches("[data-confirm]")`)
	b.screenshot("challenge-focus")
	b.press(kb.Enter)
	b.ends("Your confirmation has gone to Alder Bank")
	require.Equal(t, "completed", w.status(t, a))
}

// However often and wherever the person clicks, one completion comes of it and every page shows how it ended.
func TestChallengePageCompletesOnceAcrossTabs(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	first := newTab(t)
	second := first.another()
	first.open(a.path)
	second.open(a.path)
	for _, b := range []*tab{first, second} {
		b.until(`!document.querySelector("[data-confirm]").disabled`)
	}
	first.eval(`document.querySelector("[data-confirm]").click(), document.querySelector("[data-confirm]").click(), document.querySelector("[data-cancel]").click()`, nil)
	first.ends("Your confirmation has gone to Alder Bank")
	second.see("Your confirmation has gone to Alder Bank") // it asked where the challenge stands
	w.allowed(t, a, "sandbox")

	first.open("/assets/none")
	first.expect("status of 404")
	first.see("Page not found")
	first.eval("history.back()", nil)
	first.ends("Your confirmation has gone to Alder Bank")
	require.NotContains(t, first.text("body"), "Time left", "the way back does not lead to a page that can still be answered")
}

func TestChallengePageExpires(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	_, err := shared.Core.Store.Pool().Exec(t.Context(), `with soon as (select clock_timestamp() + interval '20 seconds' as at),
		c as (update challenges set expires_at = (select at from soon) where id = $1)
		update challenge_links set expires_at = (select at from soon) where challenge_id = $1`, a.challenge)
	require.NoError(t, err)
	b := newTab(t)
	b.open(a.path)
	b.see("Time left")
	b.see("Time ran out")
	b.accessible()
	b.screenshot("challenge-expired")
	require.Equal(t, "expired", w.status(t, a))
	b.expect("status of 404")
	b.open(a.path)
	b.see("This link does not work")
}

// A link that opens nothing says the same, whatever is wrong with it.
func TestChallengePageRefusesInvalidLinks(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
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
		b.see("This link does not work")
		texts = append(texts, b.text("main"))
	}
	for _, text := range texts {
		require.Equal(t, texts[0], text)
	}
	b.accessible()
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
	require.NotContains(t, b.text("body"), "Go back to", "not before it is over")
	b.click("[data-confirm]")
	b.ends("Go back to localhost")
	var href string
	b.eval(`[...document.querySelectorAll("[data-back]")].find((a) => a.offsetParent).href`, &href)
	require.Equal(t, shared.baseURL+"/try?step=2&challenge="+a.challenge+"&status=completed", href)
	b.accessible()
	b.screenshot("challenge-go-back")
}

// A confirmation that was lost on the way is sent again as it was; one whose answer was lost has been given, once.
func TestChallengePageSurvivesALostConnection(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payment(t)
	a := w.challenge(t, w.subject(t), action, nil)
	b := newTab(t)
	b.lose("*/complete", 1, fetch.RequestStageRequest)
	b.open(a.path)
	b.click("[data-confirm]")
	b.see("The connection is lost.")
	b.accessible()
	b.screenshot("challenge-lost-connection")
	require.Equal(t, "open", w.status(t, a))
	b.click("[data-retry]")
	b.ends("Your confirmation has gone to Alder Bank")
	w.allowed(t, a, "sandbox")

	a = w.challenge(t, w.subject(t), action, nil)
	b = newTab(t)
	b.lose("*/complete", 1, fetch.RequestStageResponse)
	b.open(a.path)
	b.click("[data-confirm]")
	b.ends("Your confirmation has gone to Alder Bank")
	w.allowed(t, a, "sandbox")
}

// A service that is busy is asked again by the page itself, and by the person where that does not help.
func TestChallengePageRetriesABusyService(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payment(t)
	a := w.challenge(t, w.subject(t), action, nil)
	b := newTab(t)
	b.busy("*/complete", 2)
	b.open(a.path)
	b.click("[data-confirm]")
	b.ends("Your confirmation has gone to Alder Bank")
	w.allowed(t, a, "sandbox")

	a = w.challenge(t, w.subject(t), action, nil)
	b = newTab(t)
	b.busy("*/complete", 3)
	b.open(a.path)
	b.click("[data-confirm]")
	b.see("nothing is lost. Try again.")
	b.screenshot("challenge-busy")
	b.click("[data-retry]")
	b.ends("Your confirmation has gone to Alder Bank")
	w.allowed(t, a, "sandbox")
}

func TestChallengePageShowsOutsideCancellation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	a := w.challenge(t, w.subject(t), w.payment(t), nil)
	b := newTab(t)
	b.open(a.path)
	b.see("Time left")
	w.post(t, "/api/v1/challenges/"+a.challenge+"/cancel", nil).is(200)
	b.see("Cancelled")
	require.Eventually(t, func() bool { return w.status(t, a) == "cancelled" }, patience, 50*time.Millisecond)
}
