package integration_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// A note is stored unless the environment's setting says otherwise. A colleague reads it, it is sealed, exported and erased with the
// subject, and neither events nor responses have it.
func TestReviewNotesAreStoredUnlessTheEnvironmentSaysOtherwise(t *testing.T) {
	t.Parallel()
	const note = "called back on the known number"
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	ann, bob := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
	reviewed := func(v *visitor) (subject, held, page string) {
		subject = w.subject(t)
		held = w.authorize(t, subject, action, "hold").string("id")
		page = "/console/" + w.ID + "/reviews/" + held
		done := v.submit(page, url.Values{"resolution": {"reject"}, "note": {note}})
		require.Equal(t, 303, done.status, done.body)
		v.made(page)
		return subject, held, page
	}
	stored := func(held string) (n int) {
		require.NoError(t, shared.Store.Pool().QueryRow(context.Background(), "select count(*) from review_notes where authorization_id = $1", held).Scan(&n))
		return n
	}
	require.Equal(t, true, w.Admin.get(t, environmentPath).is(200).value("review_notes"))
	w.Admin.patch(t, environmentPath, object{"review_notes": false}).is(200)
	_, held, page := reviewed(ann)
	require.Zero(t, stored(held))
	require.NotContains(t, bob.get(page).body, note)

	require.Equal(t, true, w.Admin.patch(t, environmentPath, object{"review_notes": true}).is(200).value("review_notes"))
	subject, held, page := reviewed(ann)
	require.Contains(t, bob.get(page).body, note)
	require.Contains(t, bob.get("/console/"+w.ID+"/decisions/"+held).body, note)
	var sealed []byte
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select note from review_notes where authorization_id = $1", held).Scan(&sealed))
	require.NotContains(t, string(sealed), "called back")
	require.NotContains(t, fmt.Sprint(w.events(t, "hold.rejected", held)), note)
	require.NotContains(t, string(w.Server.get(t, "/api/v1/authorizations/"+held).is(200).body), note)

	export := w.Server.post(t, "/api/v1/subjects/"+subject+"/export", nil).is(200)
	require.Equal(t, note, export.value("data.review_notes").([]any)[0].(map[string]any)["note"])
	w.Server.delete(t, "/api/v1/subjects/"+subject).is(202)
	eventually(t, func() bool { return stored(held) == 0 }, "the note is erased with its subject")
}

// A note that colleagues will read may have several lines, and nothing that changes how it is read: of any other only the digest is stored, and the
// form of the console refuses it.
func TestStoredReviewNotesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	review := func(held, note string) response {
		return w.Server.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "reject", "note": note})
	}
	const misread = "do not pay \u202e100 of 1\u202c"
	ann := w.signedIn(t, models.RoleReviewer)
	hold := func() string { return w.authorize(t, w.subject(t), action, "hold").string("id") }
	waiting := hold()
	for _, note := range []string{misread, "form\ffeed", "next\u0085line", "p\u0430ypal"} {
		refused := ann.submit("/console/"+w.ID+"/reviews/"+waiting, url.Values{"resolution": {"reject"}, "note": {note}})
		require.Equal(t, 422, refused.status)
		require.Contains(t, refused.body, "The note must not contain")
		held := hold()
		review(held, note).is(200)
		page := ann.get("/console/" + w.ID + "/reviews/" + held).body
		require.Contains(t, page, "digest of the note")
		require.NotContains(t, page, "said-note")
	}
	held := hold()
	review(held, "called back\r\non the known number\n").is(200)
	require.Contains(t, ann.get("/console/"+w.ID+"/reviews/"+held).body, "on the known number")
}

// The pages of a hold and of its decision link to the customer's case system.
func TestConsoleLinksToTheCaseSystem(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	ann := w.signedIn(t, models.RoleReviewer)
	require.NotContains(t, ann.get("/console/"+w.ID+"/reviews/"+held).body, "case system")
	refused := w.Admin.patch(t, environmentPath, object{"case_link": "http://cases.example/{decision_id}"}).is(422)
	require.Contains(t, string(refused.body), "case_link must be an https URL")
	w.Admin.patch(t, environmentPath, object{"case_link": "https://cases.example/find?q={decision_id}"}).is(200)
	for _, page := range []string{"reviews", "decisions"} {
		require.Contains(t, ann.get("/console/"+w.ID+"/"+page+"/"+held).body, `href="https://cases.example/find?q=`+held+`"`)
	}
}
