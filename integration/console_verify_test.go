package integration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// An auditor verifies the whole log in the console, and the pages of a record say that it contradicts the log.
func TestConsoleVerifiesTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, allows := w.action(t, "enforce", allowing)
	id := w.authorize(t, w.subject(t), allows, "allow").string("id")
	auditor := w.signedIn(t, models.RoleAuditor, models.RoleReviewer)
	home := "/console/" + w.ID
	require.Contains(t, auditor.get(home+"/audit").body, `href="`+home+`/audit/verify"`)

	const altered = "contradicts the sealed audit log"
	require.NotContains(t, auditor.get(home+"/decisions/"+id).body, altered)
	page := auditor.get(home + "/audit/verify")
	require.Equal(t, 200, page.status)
	require.Contains(t, page.body, "Nothing was changed.")
	require.Contains(t, page.body, "signature", "the signed head")
	require.Contains(t, page.body, "</html>", "the page is complete")

	_, err := shared.Store.Pool().Exec(t.Context(), "update authorizations set decision = 'deny' where id = $1 and environment_id = $2", id, w.ID)
	require.NoError(t, err)
	require.Contains(t, auditor.get(home+"/decisions/"+id).body, altered)
	page = auditor.get(home + "/audit/verify")
	require.Contains(t, page.body, "were changed outside of the service")
	require.Contains(t, page.body, id)

	require.Equal(t, 403, w.signedIn(t, models.RoleReviewer).get(home+"/audit/verify").status, "of auditors only")
}

// A row of the audit log is one line that says what changed, by whom, and opens to the whole entry. An actor is found by name.
func TestConsoleAuditSaysWhatChanged(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	auditor := w.signedIn(t, models.RoleAuditor)
	for _, seconds := range []int{7200, 600} {
		w.Admin.patch(t, "/api/v1/environment", object{"hold_ttl_seconds": seconds}).is(200)
	}
	at := "/console/" + w.ID + "/audit"
	var page string
	eventually(t, func() bool {
		page = auditor.get(at + "?type=environment.updated").body
		return strings.Count(page, "<details>") == 2
	}, "the changes are sealed")
	require.Contains(t, page, `changed settings of the environment`)
	require.Contains(t, page, `<bdi>Time limit of a review</bdi>:</span> <bdi>2 h</bdi> → <bdi>10 min</bdi></span>`)
	require.Contains(t, page, `<del><bdi>2 h</bdi></del> → <ins><bdi>10 min</bdi></ins>`)

	own := auditor.get(at + "?actor=staff+member").body
	require.Contains(t, own, "registered a passkey of")
	require.NotContains(t, own, "changed settings")
	require.Contains(t, auditor.get(at+"?actor=stranger").body, "Actor is not the name of one person.")
}
