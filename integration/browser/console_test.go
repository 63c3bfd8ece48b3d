package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// invited invites somebody to the console of the world.
func (w world) invited(t testing.TB, name string, roles ...models.Role) staff.Invited {
	t.Helper()
	in, err := shared.People.Create(t.Context(), store.Scope{Tenant: w.TenantID, Environment: w.ID}, name, roles, "cli:test")
	require.NoError(t, err)
	return in
}

// console is the address of a page of the world's console.
func (w world) console(parts ...string) string {
	return "/console/" + strings.Join(append([]string{w.ID}, parts...), "/")
}

// enter has somebody join the console with the roles and leaves the tab on its first page.
func (b *tab) enter(w world, name string, roles ...models.Role) staff.Invited {
	b.t.Helper()
	in := w.invited(b.t, name, roles...)
	b.authenticator(true)
	b.open(in.URL)
	b.click("[data-start]")
	b.until(`document.querySelector("[data-console]")`)
	return in
}

// live waits until the page follows the stream.
func (b *tab) live() {
	b.t.Helper()
	b.until(`document.documentElement.dataset.stream === "open"`)
}

// holdOf makes a hold and answers the id of its authorization.
func (w world) holdOf(t testing.TB, action string) (authorization, subject string) {
	t.Helper()
	subject = w.subject(t)
	return w.authorize(t, subject, action, "hold").string("id"), subject
}

func (w world) payments(t testing.TB, requirements object) string {
	t.Helper()
	return w.action(t, "enforce", "Release a payment", "Money leaves the account and cannot be called back.", requirements)
}

// review clicks until the page shows what comes of it. Where the run does not answer in time, which on a loaded machine it may
// not, the page says that nothing was changed and that one may try again: then it does.
func (b *tab) review(button, shown string) {
	b.t.Helper()
	b.live()
	b.click(button)
	b.settled(button, shown)
}

func (b *tab) settled(button, shown string) {
	b.t.Helper()
	b.expect("status of 503")
	b.until(fmt.Sprintf(`document.body.innerText.includes(%q) || (document.body.innerText.includes("could not be made just now") &&
		document.documentElement.dataset.stream === "open" && (document.querySelector("[data-notice]").remove(), document.querySelector(%q).click()), false)`, shown, button))
}

func (b *tab) address() string {
	b.t.Helper()
	var path string
	b.eval("location.pathname", &path)
	return path
}

// An invited reviewer registers a passkey, is shown a hold as it opens, and approves it: a decision follows.
func TestConsoleReviewerApprovesAHold(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	b := newTab(t)
	in := w.invited(t, "Ann Reviewer", models.RoleReviewer)
	b.authenticator(true)
	b.open(in.URL)
	b.see("Welcome, Ann Reviewer")
	require.Equal(t, "/console/invitation", b.address())
	var hash string
	b.eval("location.hash", &hash)
	require.Empty(t, hash, "the token has left the address")
	b.accessible()
	b.screenshot("console-invitation")
	b.run(reload)
	b.click("[data-start]")
	b.see("Nothing waits for a review")
	require.Equal(t, w.console("reviews"), b.address())
	b.accessible()
	b.screenshot("console-desk-empty")

	b.live()
	id, subject := w.holdOf(t, action)
	b.see(subject)
	b.until(`document.querySelector("[data-announce]").textContent === "A new hold waits."`)
	b.until(`document.querySelector(".count").textContent.startsWith("1")`)

	b.press("j")
	b.press(kb.Enter)
	b.see("Why it is held")
	require.Equal(t, w.console("reviews", id), b.address())
	b.live()
	for _, shown := range []string{"insufficient_evidence", "Money leaves the account", "Only a digest", "coverage"} {
		b.see(shown)
	}
	b.accessible()
	b.screenshot("console-review")
	b.press("n")
	b.press("Called back on the known number.")
	b.press(kb.Escape)
	b.press("a")
	b.until(`document.activeElement.matches("[data-approve]")`)
	b.press(kb.Enter)
	b.settled("[data-approve]", "This hold is approved")
	b.see("after review")
	b.accessible()
	b.screenshot("console-approved")

	trace := w.get(t, "/api/v1/authorizations/"+id).is(200).object()
	require.Equal(t, "approved", trace["review_status"])
	require.Equal(t, "person:"+in.Person.ID, trace["reviewed_by"])
	child := w.get(t, "/api/v1/authorizations/"+trace["review_authorization_id"].(string)).is(200)
	require.Equal(t, "allow", child.string("decision"))
	require.NotContains(t, string(child.body)+b.text("body"), "known number", "the note is kept as a digest")

	b.live()
	b.press("g")
	b.press("d")
	b.until(`location.pathname.endsWith("/decisions")`)
	b.see(subject)
}

func TestConsoleReviewerRejectsAHold(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	b := newTab(t)
	b.enter(w, "Rob Reviewer", models.RoleReviewer)
	b.open(w.console("reviews", id))
	b.live()
	b.press("r")
	b.until(`document.activeElement.matches("[data-reject]")`)
	b.review("[data-reject]", "This hold is rejected")
	trace := w.get(t, "/api/v1/authorizations/"+id).is(200)
	require.Equal(t, "rejected", trace.string("review_status"))
	require.Equal(t, "manually_rejected", trace.string("outcome"))
	b.open(w.console("reviews") + "?status=rejected")
	b.see("you: reject")
	b.accessible()
}

// Two reviewers look at the same hold. The one who is slower is told, and nothing they wrote is lost.
func TestConsoleReportsAConcurrentReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	first, second := newTab(t), newTab(t)
	first.enter(w, "Ann", models.RoleReviewer)
	second.enter(w, "Bob", models.RoleReviewer)
	first.open(w.console("reviews", id))
	second.open(w.console("reviews", id))
	second.live()
	second.press("n")
	second.press("I am still writing")
	first.review("[data-reject]", "This hold is rejected")
	second.see("Somebody settled this hold meanwhile")
	second.expect("status of 409")
	second.click("[data-approve]")
	second.see("Somebody was quicker")
	second.see("Your review changed nothing")
	second.accessible()
	second.screenshot("console-race")
	require.Equal(t, "rejected", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))
}

// Where several must approve, a person counts once, and the hold tells how many are missing.
func TestConsoleCountsApprovalsPerPerson(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	wanted := object{"coverage_min": "partial", "insufficient_evidence": "hold", "approvals_required": 2}
	id, _ := w.holdOf(t, w.payments(t, wanted))
	first, second := newTab(t), newTab(t)
	first.enter(w, "Ann", models.RoleReviewer)
	first.open(w.console("reviews", id))
	first.see("0 of 2")
	first.review("[data-approve]", "You said approve")
	first.see("1 of 2")
	first.live()
	first.eval("window.before = true", nil)
	first.click("[data-approve]") // again: it is counted once
	first.until("!window.before")
	first.see("1 of 2")
	first.live()
	first.accessible()
	first.screenshot("console-partly-approved")
	second.enter(w, "Bob", models.RoleReviewer)
	second.open(w.console("reviews", id))
	second.see("1 of 2")
	second.review("[data-approve]", "This hold is approved")
	first.see("This hold is approved") // live
}

// A session that has ended leads to the sign-in page and from there back to where the person was.
func TestConsoleReturnsAfterSignIn(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	b := newTab(t)
	in := b.enter(w, "Ann", models.RoleReviewer)
	b.open(w.console("reviews", id))
	b.see("Why it is held")
	b.live()
	_, err := shared.Store.ConsoleSessions().EndAll(t.Context(), in.Person.ID, shared.Clock.Now())
	require.NoError(t, err)
	b.expect("status of 401")
	b.click("[data-approve]") // the script finds the session gone and goes to the sign-in page
	b.see("Sign in to the console")
	b.accessible()
	b.screenshot("console-signin")
	b.click("[data-start]")
	b.see("Why it is held")
	require.Equal(t, w.console("reviews", id), b.address())
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))

	b.click(".menu summary")
	b.click(`form[action="/console/sign-out"] button`)
	b.see("Sign in to the console")
	b.open(w.console("reviews"))
	b.see("Sign in to the console")
	b.size(360, 740)
	b.dark(true)
	b.fits()
	b.accessible()
}

// A change asks for the passkey again where it was used long ago; without it nothing changes.
func TestConsoleRequiresAFreshPasskeyConfirmation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	b := newTab(t)
	in := w.invited(t, "Ann", models.RoleReviewer)
	device := b.authenticator(true)
	b.open(in.URL)
	b.click("[data-start]")
	b.until(`document.querySelector("[data-console]")`)
	_, err := shared.Store.Pool().Exec(t.Context(), "update console_sessions set confirmed_at = confirmed_at - interval '1 hour' where person_id = $1", in.Person.ID)
	require.NoError(t, err)
	b.open(w.console("reviews", id))
	device.verifies(false)
	b.click("[data-approve]")
	b.see("No passkey was used")
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))
	device.verifies(true)
	b.review("[data-approve]", "This hold is approved")
	require.Equal(t, int64(2), device.credentials()[0].SignCount)
}

// Another site's form does nothing, however much the person is signed in.
func TestConsoleRefusesCrossSiteRequests(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	cookie := b.cookie("console_session")
	require.True(t, cookie.HTTPOnly)
	require.Equal(t, "Strict", cookie.SameSite.String())
	send := func(header, value string) int {
		req, err := http.NewRequest(http.MethodPost, shared.baseURL+w.console("reviews", id), strings.NewReader("resolution=approve"))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Cookie", "console_session="+cookie.Value)
		if header != "" {
			req.Header.Set(header, value)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusForbidden, send("", ""))
	require.Equal(t, http.StatusForbidden, send("Sec-Fetch-Site", "cross-site"))
	require.Equal(t, http.StatusForbidden, send("Sec-Fetch-Site", "same-site"))
	require.Equal(t, http.StatusForbidden, send("Origin", "https://elsewhere.example"))
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))
}
