package integration_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

var rowIDs = regexp.MustCompile(`data-id="(azn_[0-9a-z]+)"`)

// heldPayment is a hold with the subject of its request.
type heldPayment struct{ id, subject string }

// pays requests a payment that is held.
func (w world) pays(t *testing.T, action string, amount float64, payee string) heldPayment {
	t.Helper()
	subject := w.subject(t)
	body := with(payment(subject, action), object{"context": object{"amount": amount, "currency": "EUR", "payee": payee}})
	return heldPayment{w.Server.post(t, "/api/v1/authorize", body).is(200).string("id"), subject}
}

// give submits a review in the console and returns the page that follows.
func (v *visitor) give(w world, held, resolution string) visit {
	v.t.Helper()
	done := v.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {resolution}, "note": {"Not expected."}})
	require.Equal(v.t, 303, done.status, done.body)
	return v.get(done.location)
}

// made waits until no review of the visitor waits, and returns the page.
func (v *visitor) made(path string) string {
	v.t.Helper()
	var page string
	require.Eventually(v.t, func() bool {
		page = v.get(path).body
		return !strings.Contains(page, "unless you undo it") && !strings.Contains(page, "taking effect")
	}, patience, 100*time.Millisecond)
	return page
}

// review submits a review in the console and returns the page that follows, once the time to undo has passed and it is made.
func (v *visitor) review(w world, held, resolution string) string {
	v.t.Helper()
	v.give(w, held, resolution)
	return v.made("/console/" + w.ID + "/reviews/" + held + "?of=" + held)
}

// After a review the page says what became of the request. It says what is recorded, whatever the URL claims.
func TestConsoleSaysWhatBecameOfAReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	_, twice := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	_, tested := w.action(t, "test", holding)
	ann, bob := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
	hold := func(action string) string { return w.authorize(t, w.subject(t), action, "hold").string("id") }
	t.Run("approved", func(t *testing.T) {
		require.Contains(t, ann.review(w, hold(action), "approve"), "Approved: allowed, proof issued.")
	})
	t.Run("approved in test mode", func(t *testing.T) {
		require.Contains(t, ann.review(w, hold(tested), "approve"), "Approved: allowed. No proof is issued in mode test.")
	})
	t.Run("rejected", func(t *testing.T) {
		require.Contains(t, ann.review(w, hold(action), "reject"), "Rejected: the request is denied.")
	})
	t.Run("one of two", func(t *testing.T) {
		held := hold(twice)
		require.Contains(t, ann.review(w, held, "approve"), "Approved: 1 of 2 approvals.")
		require.NotContains(t, ann.get("/console/"+w.ID+"/reviews/"+held+"?of=").body, "allowed", "a URL cannot make up a result")
		require.Contains(t, bob.review(w, held, "approve"), "Approved: allowed, proof issued.")
	})
	t.Run("approved and denied", func(t *testing.T) {
		subject := w.subject(t)
		held := w.authorize(t, subject, twice, "hold").string("id")
		ann.review(w, held, "approve")
		w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", object{"reason": "fraud"})
		page := bob.review(w, held, "approve")
		require.Contains(t, page, "Approved, but denied")
		require.Contains(t, page, "subject_revoked")
	})
}

// The queue is searched by subject, action and the details that are shown, and sorted by amount.
func TestConsoleSearchesTheQueue(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	key := w.showing(t, holding)
	small, large := w.pays(t, key, 40, "Alder & Sons"), w.pays(t, key, 12500, "Birch Ltd")
	ann := w.signedIn(t, models.RoleReviewer)
	rows := func(query string) []string {
		var ids []string
		for _, m := range rowIDs.FindAllStringSubmatch(ann.get("/console/"+w.ID+"/reviews"+query).body, -1) {
			ids = append(ids, m[1])
		}
		return ids
	}
	for name, c := range map[string]struct {
		query string
		want  []string
	}{
		"due soonest":            {"", []string{small.id, large.id}},
		"newest":                 {"?sort=opened", []string{large.id, small.id}},
		"largest amount":         {"?sort=amount", []string{large.id, small.id}},
		"the start of a subject": {"?q=" + large.subject[:len(large.subject)-1], []string{large.id}},
		"a detail":               {"?q=birch", []string{large.id}},
		"the action's name":      {"?q=send+a&sort=amount", []string{large.id, small.id}},
		"part of the amount":     {"?q=12%2C500", []string{large.id}},
		"the amount as typed":    {"?q=12500", []string{large.id}},
		"with a comma":           {"?q=12.500,00", []string{large.id}},
		"something else":         {"?q=oak", nil},
		"assigned to me":         {"?mine=1", nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, rows(c.query)) })
	}
	require.Contains(t, ann.get("/console/"+w.ID+"/reviews/"+small.id+"?sort=amount").body, "2 of 2")
	require.Contains(t, ann.get("/console/"+w.ID+"/reviews/"+small.id+"?q=birch").body, `aria-current="true"`, "the open hold stays in the list")
}

// Amounts of different currencies are not compared: each currency has its own order.
func TestConsoleOrdersAmountsByCurrency(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	key := w.showing(t, holding)
	in := func(currency string, amount float64) string {
		body := with(payment(w.subject(t), key), object{"context": object{"amount": amount, "currency": currency, "payee": "Birch Ltd"}})
		return w.Server.post(t, "/api/v1/authorize", body).is(200).string("id")
	}
	yen, small, large := in("JPY", 90000), in("EUR", 40), in("EUR", 1250.5)
	var got []string
	for _, m := range rowIDs.FindAllStringSubmatch(w.signedIn(t, models.RoleReviewer).get("/console/"+w.ID+"/reviews?sort=amount").body, -1) {
		got = append(got, m[1])
	}
	require.Equal(t, []string{large, small, yen}, got)
}

// A reviewer takes a hold, a colleague sees it and takes it over, and the stale form of the first changes nothing.
func TestConsoleAssignsAHold(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	ann, bob := w.signedIn(t, models.RoleReviewer, models.RoleAuditor), w.signedIn(t, models.RoleReviewer)
	page := "/console/" + w.ID + "/reviews/" + held
	take := func(v *visitor, form url.Values) visit { return v.submit(page+"/assign", form) }
	require.Contains(t, ann.get(page).body, "Not assigned.")
	require.NotContains(t, ann.get(page).body, "this hold open")
	require.Contains(t, bob.get(page).body, "has this hold open.")
	require.Equal(t, 303, take(ann, url.Values{}).status)
	require.Contains(t, ann.get(page).body, "Assigned to you.")
	require.Contains(t, ann.get("/console/"+w.ID+"/reviews?mine=1").body, held)
	require.Contains(t, bob.get(page).body, "Assigned to")
	require.NotContains(t, bob.get("/console/"+w.ID+"/reviews?mine=1").body, held)

	late := take(bob, url.Values{})
	require.Equal(t, 409, late.status)
	require.Contains(t, late.body, "A colleague was assigned this hold in the meantime.")
	require.Equal(t, 303, take(bob, url.Values{"previous": {"person:" + ann.person}}).status)
	require.Equal(t, 409, take(ann, url.Values{"release": {"1"}}).status)
	require.Eventually(t, func() bool {
		return strings.Contains(ann.get("/console/"+w.ID+"/audit?type=hold.assigned").body, "person:"+bob.person)
	}, patience, 50*time.Millisecond, "the audit log has the assignment")
	require.Equal(t, 303, take(bob, url.Values{"release": {"1"}}).status)

	ann.review(w, held, "reject")
	settled := take(ann, url.Values{})
	require.Equal(t, 409, settled.status)
	require.Contains(t, settled.body, "The hold is settled. Nothing was changed.")
}
