package integration_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

var mailedLink = regexp.MustCompile(`/console/invitation#([A-Za-z0-9_-]{43})`)

// A person joins by the link in their mail, which no page showed. Their author cannot confirm them, another operator can.
func TestOperatorInvitesByMail(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	box := mailbox(t)
	box.open()
	author, second := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleOperator)
	at, address := "/console/"+w.ID+"/people", "bob+"+w.ID+"@example.com"
	form := url.Values{"name": {"Bob By Mail"}, "roles": {"reviewer"}, "address": {"bob"}}
	require.Contains(t, fault(t, author.submit(at+"/new", form), "address"), "one e-mail address")
	form.Set("address", address)
	done := author.submit(at+"/new", form)
	require.Equal(t, http.StatusSeeOther, done.status, done.body)
	require.Equal(t, at+"?done=mailed", done.location)
	require.NotRegexp(t, mailedLink, author.get(done.location).body)
	form.Set("address", "BOB@example.com")
	require.Contains(t, fault(t, second.submit(at+"/new", form), "address"), "another person")

	eventually(t, func() bool { return len(box.to(address)) > 0 }, "the invitation is mailed")
	link := mailedLink.FindStringSubmatch(box.to(address)[0].Text)
	require.Len(t, link, 2)
	bob := anonymous(t)
	bob.register(link[1])
	var id string
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select id from people where tenant_id = $1 and name = 'Bob By Mail'", w.TenantID).Scan(&id))
	require.Contains(t, author.get(at).body, "not confirmed")
	refused := author.submit(at+"/"+id+"/confirm", url.Values{"sure": {"yes"}})
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Contains(t, refused.body, "chose the address")
	require.Equal(t, http.StatusSeeOther, second.submit(at+"/"+id+"/confirm", url.Values{"sure": {"yes"}}).status)
	require.NotContains(t, author.get(at).body, "not confirmed")
}
