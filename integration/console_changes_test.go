package integration_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// resolution is the form of the page of a change request.
func resolution(r string) url.Values { return url.Values{"resolution": {r}} }

// activates requests the activation of a draft in the console. It returns the page of the change request without its query.
func (v *visitor) activates(w world, version string) string {
	v.t.Helper()
	version = strings.NewReplacer("/api/v1/actions/", "/console/"+w.ID+"/policies/", "policy-versions/", "").Replace(version)
	require.Contains(v.t, v.get(version).body, "This environment requires a second approver.")
	out := v.submit(version+"/activate", nil)
	require.Equal(v.t, http.StatusSeeOther, out.status, out.body)
	page, done, _ := strings.Cut(out.location, "?")
	require.Equal(v.t, "done=requested", done)
	return page
}

// waiting returns the number of pending changes in the navigation of a page.
func waiting(t testing.TB, page visit) string {
	t.Helper()
	found := regexp.MustCompile(`data-go="c"[^>]*>Changes<span data-live="count-c"><span class="count[^>]*>(\d+)<`).FindStringSubmatch(page.body)
	require.NotNil(t, found, page.body)
	return found[1]
}

// One member of staff activates a policy version and a different one approves it. The requester and staff without the permission
// are refused.
func TestConsoleSecondApproverActivatesPolicy(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	action, key, version := w.draft(t, allowing)
	olga, oscar := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleOperator)
	list := "/console/" + w.ID + "/changes"
	require.Equal(t, "0", waiting(t, olga.get(list)))
	page := olga.activates(w, version)
	require.Nil(t, w.Server.get(t, action).is(200).value("active_policy_version"), "nothing is changed yet")

	asked := olga.get(page + "?done=requested").body
	require.Contains(t, asked, "It waits for a second approver, and nothing is changed yet.")
	require.Contains(t, asked, `value="withdraw"`)
	require.NotContains(t, asked, `value="approve"`)
	require.Equal(t, "1", waiting(t, olga.get(list)))
	require.Contains(t, olga.get(list).body, "(you)")
	refused := olga.submit(page, resolution("approve"))
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Contains(t, refused.body, "The change requires an approver other than the requester.")
	require.Equal(t, page, oscar.activates(w, version), "a repetition is the same change")
	require.Contains(t, oscar.get(page+"?done=requested").body, "Your request is not an approval")

	reviewer, auditor := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleAuditor)
	require.Equal(t, http.StatusForbidden, reviewer.get(page).status)
	require.NotContains(t, reviewer.get("/console/"+w.ID+"/reviews").body, `data-go="c"`)
	for _, v := range []*visitor{reviewer, auditor} {
		require.Equal(t, http.StatusForbidden, v.submit(page, resolution("approve")).status)
	}
	seen := auditor.get(page).body
	require.Contains(t, seen, "Your roles allow you to view it, not to approve it.")
	require.NotContains(t, seen, `value="approve"`)

	seen = oscar.get(page).body
	for _, text := range []string{"Activate version 1 of " + key, "the current state", "proof_ttl_seconds", "Staff Member", "What it would have decided"} {
		require.Contains(t, seen, text)
	}
	require.NotContains(t, oscar.get(page+"?done=approved").body, "approved and in force", "a URL cannot make up a result")
	require.Equal(t, http.StatusBadRequest, oscar.submit(page, resolution("all")).status)
	done := oscar.submit(page, resolution("approve"))
	require.Equal(t, page+"?done=approved", done.location, done.body)
	require.Contains(t, oscar.get(done.location).body, "The change is approved and has taken effect.")
	require.InDelta(t, 1, w.Server.get(t, action).is(200).value("active_policy_version"), 0)
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'change.approved' and actor = $2", w.ID, "person:"+oscar.person))

	late := olga.submit(page, resolution("withdraw"))
	require.Equal(t, http.StatusConflict, late.status)
	require.Contains(t, late.body, "The change is approved.")
	require.Equal(t, "0", waiting(t, olga.get(list)))
	require.Equal(t, http.StatusNotFound, newSandbox(t).signedIn(t, models.RoleOperator).get(page).status)
}

func TestConsoleSettlesChanges(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	action, _, version := w.draft(t, allowing)
	olga, oscar := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleOperator)
	for _, c := range []struct {
		name, resolution, notice string
		by                       *visitor
	}{
		{"rejected by an approver", "reject", "The change is rejected. Nothing was changed.", oscar},
		{"withdrawn by the requester", "withdraw", "The change is withdrawn. Nothing was changed.", olga},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := olga.activates(w, version)
			done := c.by.submit(page, resolution(c.resolution))
			require.Equal(t, http.StatusSeeOther, done.status, done.body)
			require.Contains(t, c.by.get(done.location).body, c.notice)
			require.Nil(t, w.Server.get(t, action).is(200).value("active_policy_version"))
		})
	}
	t.Run("expired", func(t *testing.T) {
		page := olga.activates(w, version)
		id := page[strings.LastIndex(page, "/")+1:]
		w.exec(t, "update changes set expires_at = created_at where id = '"+id+"'")
		late := oscar.submit(page, resolution("approve"))
		require.Equal(t, http.StatusConflict, late.status)
		require.Contains(t, late.body, "The change expired before it was settled. Request it again.")
		require.Contains(t, late.body, `<span class="tag ">expired</span>`)
		require.NotContains(t, late.body, `value="approve"`)
		require.Contains(t, oscar.get("/console/"+w.ID+"/changes").body, `<span class="tag ">expired</span>`)
	})
	t.Run("superseded", func(t *testing.T) {
		page := olga.activates(w, version)
		w.Server.post(t, action+"/policy-versions", object{"requirements": holding}).is(201)
		newer := olga.activates(w, action+"/policy-versions/2")
		require.Equal(t, http.StatusSeeOther, oscar.submit(newer, resolution("approve")).status)
		require.Contains(t, oscar.get(page).body, "an outdated state")
		old := oscar.submit(page, resolution("approve"))
		require.Equal(t, http.StatusConflict, old.status)
		require.Contains(t, old.body, "so it was not made. Request it again.")
		require.InDelta(t, 2, w.Server.get(t, action).is(200).value("active_policy_version"), 0)
	})
}

// A decision requires a recent use of the passkey.
func TestConsoleChangeRequiresConfirmation(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	_, _, version := w.draft(t, allowing)
	olga, oscar := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleOperator)
	page := olga.activates(w, version)
	w.exec(t, "update console_sessions set confirmed_at = now() - interval '1 hour' where person_id = $1", oscar.person)
	stale := oscar.submit(page, resolution("approve"))
	require.Equal(t, http.StatusForbidden, stale.status)
	require.Contains(t, stale.body, "Confirm this change with your passkey.")
	require.Contains(t, olga.get(page).body, "the current state")
}

// An approver sees who requested a change with a key, and each field of the settings.
func TestConsoleApprovesSettingsRequestedByKey(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	oscar := w.signedIn(t, models.RoleOperator)
	id := w.Admin.patch(t, environmentPath, object{"bar_self_review": true}).is(http.StatusAccepted).string("id")
	page := "/console/" + w.ID + "/changes/" + id
	seen := oscar.get(page).body
	for _, text := range []string{"Change settings of the environment", "bar_self_review", `<del><mark><bdi>false</bdi></mark></del>`, `<ins><mark><bdi>true</bdi></mark></ins>`, "API key"} {
		require.Contains(t, seen, text)
	}
	require.NotContains(t, seen, "What it would have decided")
	require.Equal(t, http.StatusSeeOther, oscar.submit(page, resolution("approve")).status)
	require.Equal(t, true, w.Admin.get(t, environmentPath).is(200).value("bar_self_review"))
}
