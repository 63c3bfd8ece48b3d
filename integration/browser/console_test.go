package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// invited invites a staff member to the environment's console.
func (w world) invited(t testing.TB, name string, roles ...models.Role) staff.Invited {
	t.Helper()
	in, err := shared.People.Create(t.Context(), pg.Scope{Tenant: w.TenantID, Environment: w.ID}, staff.Invitee{Name: name, Roles: roles}, "cli:test")
	require.NoError(t, err)
	return in
}

// console returns the path of a page of the environment's console.
func (w world) console(parts ...string) string {
	return "/console/" + strings.Join(append([]string{w.ID}, parts...), "/")
}

// enter registers a staff member with the roles and opens their first page.
func (b *tab) enter(w world, name string, roles ...models.Role) staff.Invited {
	b.t.Helper()
	in := w.invited(b.t, name, roles...)
	b.authenticator(true)
	b.open(in.URL)
	b.click("[data-start]")
	b.until(`document.querySelector("[data-console]")`)
	require.NoError(b.t, shared.People.ConfirmIdentity(b.t.Context(), pg.Scope{Tenant: w.TenantID, Environment: w.ID}, in.Person.ID, "test:second operator"))
	return in
}

// waitForStream waits until the page is connected to the stream.
func (b *tab) waitForStream() {
	b.t.Helper()
	b.until(`document.documentElement.dataset.stream === "open"`)
}

// holdOf creates a hold and returns the ids of its authorization and its subject.
func (w world) holdOf(t testing.TB, action string) (authorization, subject string) {
	t.Helper()
	subject = w.subject(t)
	return w.authorize(t, subject, action, "hold").string("id"), subject
}

func (w world) payments(t testing.TB, requirements object) string {
	t.Helper()
	return w.action(t, "enforce", "Release a payment", "Money leaves the account and cannot be called back.", requirements)
}

// review clicks the button until the page shows the text. If the workflow does not respond in time, as on a loaded machine, the
// page reports that nothing was changed and review retries.
func (b *tab) review(button, shown string) {
	b.t.Helper()
	b.waitForStream()
	b.click(button)
	b.seeSettled(button, shown)
}

func (b *tab) seeSettled(button, shown string) {
	b.t.Helper()
	b.expect("status of 503")
	b.until(fmt.Sprintf(`document.body.innerText.includes(%q) || (document.body.innerText.includes("The service is unavailable") &&
		document.documentElement.dataset.stream === "open" && (document.querySelector("[data-notice]").remove(), document.querySelector(%q).click()), false)`, shown, button))
}

func (b *tab) address() string {
	b.t.Helper()
	var path string
	b.eval("location.pathname", &path)
	return path
}

// An invited reviewer registers a passkey, sees a new hold appear and approves it, which makes a follow-up decision.
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
	require.Empty(t, hash, "the token is removed from the address")
	b.requireAccessible()
	b.screenshot("console-invitation")
	b.run(reload)
	b.click("[data-start]")
	b.see("Nothing needs you now.")
	require.Equal(t, w.console("reviews"), b.address())
	b.requireAccessible()
	b.screenshot("console-desk-empty")

	b.waitForStream()
	id, subject := w.holdOf(t, action)
	b.see(subject)
	b.until(`document.querySelector("[data-announce]").textContent === "1 new hold."`)
	b.until(`document.querySelector(".count").textContent.startsWith("1")`)

	b.press("j")
	b.press(kb.Enter)
	b.see("Why it is held")
	require.Equal(t, w.console("reviews", id), b.address())
	b.waitForStream()
	for _, shown := range []string{"There is too little evidence to know who is acting.", "Money leaves the account", "Colleagues can read it", "Codes, digests and log"} {
		b.see(shown)
	}
	b.requireAccessible()
	b.screenshot("console-review")
	b.press("n")
	b.press("Called back on the known number.")
	b.press(kb.Escape)
	b.press("a")
	b.until(`document.activeElement.matches("[data-approve]")`)
	b.press(kb.Enter)
	b.seeSettled("[data-approve]", "This hold is approved")
	b.see("after review")
	b.requireAccessible()
	b.screenshot("console-approved")

	trace := w.get(t, "/api/v1/authorizations/"+id).is(200).object()
	require.Equal(t, "approved", trace["review_status"])
	require.Equal(t, "person:"+in.Person.ID, trace["reviewed_by"])
	child := w.get(t, "/api/v1/authorizations/"+trace["review_authorization_id"].(string)).is(200)
	require.Equal(t, "allow", child.string("decision"))
	require.NotContains(t, string(child.body), "known number")
	b.see("Called back on the known number.")

	b.waitForStream()
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
	b.waitForStream()
	b.press("r")
	b.until(`document.activeElement.matches("[data-reject]")`)
	b.write("note", "Not expected.")
	b.review("[data-reject]", "This hold is rejected")
	trace := w.get(t, "/api/v1/authorizations/"+id).is(200)
	require.Equal(t, "rejected", trace.string("review_status"))
	require.Equal(t, "manually_rejected", trace.string("outcome"))
	b.open(w.console("reviews") + "?status=rejected")
	b.see("you: reject")
	b.requireAccessible()
}

// Two reviewers open the same hold. The slower one is notified and keeps their note.
func TestConsoleReportsAConcurrentReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	first, second := newTab(t), newTab(t)
	first.enter(w, "Ann", models.RoleReviewer)
	second.enter(w, "Bob", models.RoleReviewer)
	first.open(w.console("reviews", id))
	second.open(w.console("reviews", id))
	second.waitForStream()
	second.press("n")
	second.press("I am still writing")
	first.write("note", "Not expected.")
	first.review("[data-reject]", "This hold is rejected")
	second.see("This hold was settled in the meantime")
	second.expect("status of 409")
	second.click("[data-approve]")
	second.see("A different reviewer settled this hold first")
	second.see("Your review changed nothing")
	second.requireAccessible()
	second.screenshot("console-race")
	require.Equal(t, "rejected", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))
}

// If several approvals are required, a person counts once, and the page shows how many are missing.
func TestConsoleCountsApprovalsPerPerson(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	wanted := object{"coverage_min": "partial", "insufficient_evidence": "hold", "approvals_required": 2}
	first, second := newTab(t), newTab(t)
	first.enter(w, "Ann", models.RoleReviewer)
	second.enter(w, "Bob", models.RoleReviewer)
	id, _ := w.holdOf(t, w.payments(t, wanted))
	first.open(w.console("reviews", id))
	first.see("0 of 2")
	first.review("[data-approve]", "You approved this hold.")
	first.see("1 of 2")
	first.waitForStream()
	first.until(`document.querySelector("[data-approve]").matches(":disabled")`) // a second approval would not count
	first.see("The remaining approvals must come from others.")
	for _, width := range widths { // the reason stands below the form, which keeps its shape
		first.size(width, 800)
		first.until(`document.querySelector("#note").offsetWidth > 240 && document.querySelector("[data-approve]").offsetHeight < 60`)
		first.requireAccessible()
		first.screenshot("console-partly-approved-" + widthName(width))
	}
	first.size(1100, 800)
	first.open(w.console("reviews"))
	first.see("Nothing needs you now.")
	first.open(w.console("reviews", id))
	second.open(w.console("reviews", id))
	second.see("1 of 2")
	second.review("[data-approve]", "This hold is approved")
	first.see("This hold is approved") // live
}

// An ended session redirects to the sign-in page, and signing in returns to the previous page.
func TestConsoleReturnsAfterSignIn(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	b := newTab(t)
	in := b.enter(w, "Ann", models.RoleReviewer)
	b.open(w.console("reviews", id))
	b.see("Why it is held")
	b.waitForStream()
	require.NoError(t, shared.Store.Write(t.Context(), func(q *pg.Q) error {
		_, err := staff.EndConsoleSessions(t.Context(), q, in.Person.ID, shared.Clock.Now())
		return err
	}))
	b.expect("status of 401")
	b.click("[data-approve]") // the script goes to the sign-in page
	b.see("Sign in to the console")
	b.requireAccessible()
	b.screenshot("console-signin")
	b.click("[data-start]")
	b.see("Why it is held")
	require.Equal(t, w.console("reviews", id), b.address())
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))

	b.click(`[popovertarget="account"]`)
	b.click(`form[action="/console/sign-out"] button`)
	b.see("Sign in to the console")
	b.open(w.console("reviews"))
	b.see("Sign in to the console")
	b.size(360, 740)
	b.dark(true)
	b.requireFits()
	b.requireAccessible()
}

// A change requires the passkey again if it was used long ago. Without it nothing changes.
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
	testenv.Exec(t, shared.Store, "update console_sessions set confirmed_at = confirmed_at - interval '1 hour' where person_id = $1", in.Person.ID)
	b.open(w.console("reviews", id))
	device.verifies(false)
	b.click("[data-approve]")
	b.see("No passkey was used")
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))
	device.verifies(true)
	b.review("[data-approve]", "This hold is approved")
	require.Equal(t, int64(2), device.credentials()[0].SignCount)
}

// A form of another site changes nothing, even if the user is signed in.
func TestConsoleRefusesCrossSiteRequests(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.holdOf(t, w.payments(t, holding))
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	cookie := b.cookie("console_session")
	require.True(t, cookie.HTTPOnly)
	require.Equal(t, "Strict", cookie.SameSite.String())
	send := func(name, value string) int {
		header := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Cookie": "console_session=" + cookie.Value}
		if name != "" {
			header[name] = value
		}
		return submit(t, w.console("reviews", id), "resolution=approve", header).Status
	}
	require.Equal(t, http.StatusForbidden, send("", ""))
	require.Equal(t, http.StatusForbidden, send("Sec-Fetch-Site", "cross-site"))
	require.Equal(t, http.StatusForbidden, send("Sec-Fetch-Site", "same-site"))
	require.Equal(t, http.StatusForbidden, send("Origin", "https://elsewhere.example"))
	require.Equal(t, "pending", w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status"))
}
