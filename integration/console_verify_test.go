package integration_test

import (
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
