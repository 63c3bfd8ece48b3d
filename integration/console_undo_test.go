package integration_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
)

// A review of the console is made five seconds after it was given, without the page that gave it, and can be undone until then.
func TestConsoleReviewCanBeUndone(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	held := func() string { return w.authorize(t, w.subject(t), action, "hold").string("id") }
	status := func(id string) string {
		return w.Server.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status")
	}
	worked := func(t *testing.T, id string) {
		eventually(t, func() bool {
			var n int
			require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select count(*) from outbox where topic = 'hold.review' and ref = $1", id).Scan(&n))
			return n == 0
		}, "the time to undo has passed")
	}
	desk := "/console/" + w.ID + "/reviews"
	t.Run("the tab is closed", func(t *testing.T) { // before the others, whose holds would be the next ones
		id, ann := held(), w.signedIn(t, models.RoleReviewer)
		began := time.Now()
		page := ann.give(w, id, "approve").body
		require.Regexp(t, `Approved: <a href="[^"]+">.+</a>\. This takes effect at \d\d:\d\d:\d\d UTC, unless you undo it first\.`, page)
		require.Regexp(t, `<button [^>]*data-undo[^>]*>Undo<span data-left="[1-5]"> \([1-5] s\)</span>`, page, "a form, which needs no script")
		require.NotContains(t, page, "data-approve", "there is no other hold, and this one is reviewed")
		require.Equal(t, "pending", status(id))
		eventually(t, func() bool { return status(id) == "approved" }, "the review is made")
		require.GreaterOrEqual(t, time.Since(began), hold.UndoTime)
	})
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		id, ann, bob := held(), w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
		ann.give(w, id, "reject")
		require.NotContains(t, ann.get(desk).body, `data-id="`+id+`"`, "the hold does not need her")
		require.Contains(t, bob.get(desk).body, `data-id="`+id+`"`)
		require.Equal(t, 409, bob.submit(desk+"/"+id+"/undo", nil).status, "the review is not his")
		undone := ann.submit(desk+"/"+id+"/undo", nil)
		require.Equal(t, 200, undone.status)
		require.Contains(t, undone.body, "Undone: your review was not made.")
		require.Regexp(t, `<textarea id="note"[^>]*>Not expected\.</textarea>`, undone.body)
		worked(t, id)
		require.Equal(t, "pending", status(id))
		ann.give(w, id, "approve")
		eventually(t, func() bool { return status(id) == "approved" }, "the later review is made")
	})
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		id, ann := held(), w.signedIn(t, models.RoleReviewer)
		require.Contains(t, ann.review(w, id, "approve"), "Approved: allowed, proof issued.")
		late := ann.submit(desk+"/"+id+"/undo", nil)
		require.Equal(t, 409, late.status)
		require.Contains(t, late.body, "Too late to undo: your review is made.")
		require.Contains(t, late.body, "This hold is <strong>approved</strong>")
	})
	t.Run("given twice", func(t *testing.T) {
		t.Parallel()
		id, ann := held(), w.signedIn(t, models.RoleReviewer)
		ann.give(w, id, "approve")
		require.Equal(t, 1, strings.Count(ann.give(w, id, "approve").body, "data-undo"))
		eventually(t, func() bool { return status(id) == "approved" }, "the review is made")
		var made int
		require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select count(*) from events where type = 'hold.approved' and authorization_id = $1", id).Scan(&made))
		require.Equal(t, 1, made)
	})
	t.Run("a colleague is faster", func(t *testing.T) {
		t.Parallel()
		id, ann := held(), w.signedIn(t, models.RoleReviewer)
		ann.give(w, id, "approve")
		w.Server.post(t, "/api/v1/authorizations/"+id+"/review", object{"resolution": "reject"}).is(200)
		page := ann.made(desk)
		require.Contains(t, page, "Your review was not made. The hold is rejected.")
		require.Equal(t, 303, ann.submit(desk+"/undo", url.Values{"hold": {id}}).status)
		require.NotContains(t, ann.get(desk).body, "was not made", "dismissed")
	})
	t.Run("several together", func(t *testing.T) {
		t.Parallel()
		ids, ann := []string{held(), held(), held()}, w.signedIn(t, models.RoleReviewer)
		done := ann.submit(desk+"/settle", url.Values{"resolution": {"approve"}, "hold": ids})
		require.Equal(t, 200, done.status)
		require.Contains(t, done.body, "Approved 3 holds. This takes effect at")
		require.Equal(t, 1, strings.Count(ann.get(desk).body, "data-undo"), "one undo for all")
		undone := ann.submit(desk+"/undo", url.Values{"hold": ids})
		require.Equal(t, 200, undone.status)
		require.Contains(t, undone.body, "Undone: your 3 reviews were not made.")
		for _, id := range ids {
			worked(t, id)
			require.Equal(t, "pending", status(id))
		}
		require.Equal(t, 409, ann.submit(desk+"/undo", url.Values{"hold": ids}).status)
	})
}
