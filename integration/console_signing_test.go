package integration_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// cannotSign is on the pages of a reviewer while an approval would be refused.
const cannotSign = "The service cannot sign proofs at present"

// loseKeys makes the service unable to sign for the environment, until the returned function restores its keys.
func (w world) loseKeys(t *testing.T) (restore func()) {
	t.Helper()
	rows, err := shared.Store.Pool().Query(t.Context(), "select kid, sealed from signing_keys where environment_id = $1", w.ID)
	require.NoError(t, err)
	kept := map[string][]byte{}
	for rows.Next() {
		var kid string
		var sealed []byte
		require.NoError(t, rows.Scan(&kid, &sealed))
		kept[kid] = sealed
	}
	require.NoError(t, rows.Err())
	w.damageKeys(t, "active", "next")
	return func() {
		t.Helper()
		for kid, sealed := range kept {
			_, err := shared.Store.Pool().Exec(t.Context(), "update signing_keys set sealed = $2 where kid = $1", kid, sealed)
			require.NoError(t, err)
		}
		require.NoError(t, shared.Store.Notify(t.Context(), pg.ChannelSigningKey, w.ID))
	}
}

// While no proof can be signed, reviewers read so before they approve. A refused approval keeps its note and its selection, and a review that was
// given before says until when the service tries. Rejections go on.
func TestConsoleSaysThatApprovalsCannotBeSigned(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	_, twice := w.action(t, "enforce", with(holding, object{"approvals_required": 2}))
	_, tested := w.action(t, "test", holding)
	ann := w.signedIn(t, models.RoleReviewer)
	desk := "/console/" + w.ID + "/reviews"
	hold := func(action string) string { return w.authorize(t, w.subject(t), action, "hold").string("id") }
	page := func(id string) string { return ann.get(desk + "/" + id).body }
	one, two, three, half, test, rejected := hold(action), hold(action), hold(action), hold(twice), hold(tested), hold(action)
	require.NotContains(t, page(one), cannotSign)
	ann.give(w, three, "approve")

	restore := w.loseKeys(t)
	eventually(t, func() bool { return ann.get(desk+"/"+one).status == 200 && strings.Contains(page(one), cannotSign) }, "the page says so before the click")
	require.NotContains(t, page(half), cannotSign, "one more approval is required after this one")
	require.NotContains(t, page(test), cannotSign, "test mode has no proof")
	refused := ann.submit(desk+"/"+one, url.Values{"resolution": {"approve"}, "note": {"Called back."}})
	require.Equal(t, 503, refused.status)
	require.Contains(t, refused.body, "Nothing was changed; try again.")
	require.Contains(t, refused.body, cannotSign)
	require.Regexp(t, `<textarea id="note"[^>]*>Called back\.</textarea>`, refused.body)

	chosen := url.Values{"resolution": {"approve"}, "hold": {one, two, half}, "note": {"Called back."}}
	require.Contains(t, ann.submit(desk+"/selected", chosen).body, cannotSign)
	_, again, _ := strings.Cut(ann.submit(desk+"/settle", chosen).body, `<form class="selection"`) // after what can be undone
	require.Contains(t, again, "Approve 2 holds again")
	require.Contains(t, again, `name="hold" value="`+one+`"`)
	require.Contains(t, again, `name="hold" value="`+two+`"`)
	require.NotContains(t, again, `name="hold" value="`+half+`"`, "it is given")
	require.Regexp(t, `<textarea id="note"[^>]*>Called back\.</textarea>`, again)

	ann.give(w, rejected, "reject")
	eventually(t, func() bool {
		return w.Server.get(t, "/api/v1/authorizations/"+rejected).is(200).string("review_status") == "rejected"
	}, "a rejection needs no proof")
	eventually(t, func() bool { return strings.Contains(page(three), "tries again until") }, "the review that was given before")

	restore()
	eventually(t, func() bool { return !strings.Contains(page(one), cannotSign) }, "the service signs again")
	require.Contains(t, ann.submit(desk+"/settle", url.Values{"resolution": {"approve"}, "hold": {one, two}, "note": {"Called back."}}).body, "Approve: done")
	for _, id := range []string{one, two, three} {
		eventually(t, func() bool {
			return w.Server.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status") == "approved"
		}, "the review is made")
	}
}
