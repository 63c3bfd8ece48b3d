package integration_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// review submits a review in the console and returns the page that follows.
func (v *visitor) review(w world, held, resolution string) string {
	v.t.Helper()
	done := v.submit("/console/"+w.ID+"/reviews/"+held, url.Values{"resolution": {resolution}})
	require.Equal(v.t, 303, done.status, done.body)
	return v.get(done.location).body
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
		require.NotContains(t, ann.get("/console/"+w.ID+"/reviews/"+held+"?done=resolved").body, "allowed", "a URL cannot make up a result")
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
