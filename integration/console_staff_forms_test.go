package integration_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func TestConsoleIssuesAndRevokesKeys(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleOperator)
	at := "/console/" + w.ID + "/keys"
	issue := func(scope string, permissions ...string) visit {
		return v.submit(at+"/new", url.Values{"name": {"Payments"}, "scope": {scope}, "permissions": permissions})
	}
	key := secretOf(t, issue("server", "decide", "verify"))
	own := caller{base: shared.baseURL, key: key}
	described := own.get(t, "/api/v1/credential").is(200)
	require.Equal(t, []any{"decide", "verify"}, described.value("permissions"))
	id := described.string("credential")
	require.Contains(t, v.get(at).body, "Staff Member", "the issuer is named")
	require.NotContains(t, v.get(at).body, key)
	foreign := w.narrowed(t, models.PermissionDecide).get(t, "/api/v1/credential").is(200).string("credential")
	list := v.get(at).body
	require.Contains(t, list, id+"/rotate")
	require.NotContains(t, list, foreign+"/rotate", "the key of a different principal")
	require.Contains(t, list, foreign+"/revoke")
	refused := v.submit(at+"/"+foreign+"/rotate", overlapping("0"))
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Contains(t, refused.body, "belongs to a different principal")

	for name, c := range map[string]struct {
		out  visit
		want string
	}{
		"a role that the user does not have": {issue("server", "review"), "Your roles do not allow you to give all of these permissions."},
		"everything":                         {issue("server"), "Your roles do not allow you to give all of these permissions."},
		"a permission of a different scope":  {issue("server", "webhooks"), "Remove it or choose a wider scope."},
		"a permission that does not exist":   {issue("server", "everything"), "Permissions must be one of"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, http.StatusUnprocessableEntity, c.out.status)
			require.Contains(t, fault(t, c.out, "permissions"), c.want)
		})
	}
	require.Contains(t, fault(t, v.submit(at+"/new", url.Values{"scope": {"client"}}), "name"), "Name is missing.")
	both := w.signedIn(t, models.RoleOperator, models.RoleReviewer)
	secretOf(t, both.submit(at+"/new", url.Values{"name": {"Desk"}, "scope": {"server"}, "permissions": {"review"}}))

	rotated := secretOf(t, v.submit(at+"/"+id+"/rotate", overlapping("0")))
	require.NotEqual(t, key, rotated)
	require.Equal(t, http.StatusBadRequest, v.submit(at+"/"+id+"/revoke", nil).status)
	require.Equal(t, http.StatusSeeOther, v.submit(at+"/"+id+"/revoke", sure()).status)
	eventually(t, func() bool {
		return caller{base: shared.baseURL, key: rotated}.get(t, "/api/v1/credential").status == http.StatusUnauthorized
	}, "a revoked key is refused")
	full := w.Admin.get(t, "/api/v1/credential").is(200).string("credential")
	require.Equal(t, http.StatusUnprocessableEntity, v.submit(at+"/"+full+"/rotate", overlapping("0")).status, "the user would receive a key that does more than they may")
	for _, kind := range []string{"credential.created", "credential.rotated", "credential.revoked"} {
		w.recorded(t, v, kind)
	}
}

func TestConsoleManagesPeople(t *testing.T) {
	t.Parallel()
	own := newTenant(t)
	w := own.Sandbox
	v, colleague := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleReviewer)
	at := "/console/" + w.ID + "/people"
	require.Contains(t, fault(t, v.submit(at+"/new", url.Values{"name": {"Ann"}, "roles": {"root"}}), "roles"), "Unknown role")
	invited := v.submit(at+"/new", url.Values{"name": {"Ann Example"}, "roles": {"reviewer", "auditor"}})
	link := secretOf(t, invited)
	require.Contains(t, link, "/console/invitation#")
	list := v.get(at).body
	require.Contains(t, list, "Ann Example")
	require.Contains(t, list, "(you)")
	_, rest, _ := strings.Cut(list, at+"/prs_")
	ann := "prs_" + rest[:strings.IndexByte(rest, '"')]
	again := secretOf(t, v.submit(at+"/"+ann+"/invite", sure()))
	require.NotEqual(t, link, again, "the earlier link is void")

	roles := func(of string, all ...string) visit { return v.submit(at+"/"+of, url.Values{"roles": all}) }
	require.Equal(t, http.StatusBadRequest, roles(ann).status, "a person needs a role")
	require.Equal(t, http.StatusSeeOther, roles(colleague.person, "auditor").status)
	require.Equal(t, http.StatusSeeOther, colleague.get("/console/"+w.ID+"/reviews").status, "losing a role ends the session")
	mine := roles(v.person, "operator", "reviewer")
	require.Equal(t, http.StatusConflict, mine.status)
	require.Contains(t, mine.body, "You cannot change your own roles.")
	require.Equal(t, http.StatusConflict, v.submit(at+"/"+v.person+"/remove", sure()).status)
	require.Equal(t, http.StatusConflict, v.submit(at+"/"+colleague.person+"/invite", sure()).status, "they have a passkey")

	live := own.Live.signedIn(t, models.RoleReviewer)
	require.NotContains(t, v.get(at).body, live.person, "staff of the other environment are not shown")
	require.Equal(t, http.StatusNotFound, v.submit(at+"/"+live.person+"/remove", sure()).status)
	require.NoError(t, shared.People.Grant(t.Context(), w.scope(), live.person, []models.Role{models.RoleReviewer}, "cli:test"))
	require.Equal(t, http.StatusSeeOther, v.submit(at+"/"+live.person+"/remove", sure()).status)
	listed, _, err := shared.People.List(t.Context(), w.TenantID, pg.Page{Limit: 200})
	require.NoError(t, err)
	for _, p := range listed {
		if p.ID == live.person {
			require.Nil(t, p.RevokedAt, "a role elsewhere stays")
			require.Len(t, p.Grants, 1)
		}
	}
	require.Equal(t, http.StatusSeeOther, v.submit(at+"/"+ann+"/remove", sure()).status)
	require.Equal(t, http.StatusConflict, v.submit(at+"/"+ann+"/remove", sure()).status, "they are removed")
	for _, kind := range []string{"person.invited", "person.roles_changed", "person.revoked"} {
		w.recorded(t, v, kind)
	}
}

// One person cannot give access to an environment that requires a second approver: they could approve their own changes.
func TestConsoleInvitesNoOneWhereASecondApproverIsRequired(t *testing.T) {
	t.Parallel()
	w, _ := fourEyes(t)
	v, colleague := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleReviewer, models.RoleAuditor)
	at := "/console/" + w.ID + "/people"
	require.NotContains(t, v.get(at).body, at+"/new")
	refused := v.submit(at+"/new", url.Values{"name": {"Puppet"}, "roles": {"operator"}})
	require.Equal(t, http.StatusConflict, refused.status)
	require.Contains(t, refused.body, "one person cannot give access to it")
	require.Equal(t, http.StatusConflict, v.submit(at+"/"+colleague.person, url.Values{"roles": {"reviewer", "operator"}}).status)
	require.Equal(t, http.StatusSeeOther, v.submit(at+"/"+colleague.person, url.Values{"roles": {"reviewer"}}).status, "withdrawing a role is safe")
}

func TestConsoleChangesSettings(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleOperator)
	at := "/console/" + w.ID + "/settings"
	before := w.Admin.get(t, environmentPath).is(200)
	text := func(name string) string {
		list, _ := before.value(name).([]any)
		out := make([]string, len(list))
		for i, x := range list {
			out[i], _ = x.(string)
		}
		return strings.Join(out, "\n")
	}
	form := url.Values{"rp_name": {before.string("rp_name")}, "origins": {text("origins")}, "challenge_ttl_seconds": {"300"}, "hold_ttl_seconds": {"259200"}, "change_ttl_seconds": {"86400"}, "review_notes": {"true"}}
	same := v.submit(at, form)
	require.Equal(t, http.StatusBadRequest, same.status)
	require.Contains(t, same.body, "Nothing was changed: every setting is as before.")

	form.Set("challenge_ttl_seconds", "5")
	form.Set("origins", text("origins")+"\nhttps://elsewhere.example")
	require.Contains(t, fault(t, v.submit(at, form), "challenge_ttl_seconds"), "30")
	form.Set("challenge_ttl_seconds", "120")
	require.Contains(t, fault(t, v.submit(at, form), "origins"), "elsewhere.example")
	form.Set("origins", text("origins"))
	form.Set("brand.accent", "#ffff00")
	require.Contains(t, fault(t, v.submit(at, form), "brand-accent"), "contrast")
	form.Set("brand.accent", "#0f5c5c")
	form.Set("bar_self_review", "true")
	saved := v.submit(at, form)
	require.Equal(t, at+"?done=saved", saved.location, saved.body)
	after := w.Admin.get(t, environmentPath).is(200)
	require.InDelta(t, 120, after.value("challenge_ttl_seconds"), 0)
	require.Equal(t, true, after.value("bar_self_review"))
	require.Equal(t, "#0f5c5c", after.value("brand").(map[string]any)["accent"])
	w.recorded(t, v, "environment.updated")

	form.Set("second_approver_required", "true")
	require.Equal(t, http.StatusSeeOther, v.submit(at, form).status)
	form.Del("second_approver_required")
	require.Contains(t, v.get(at).body, "This environment requires a second approver.")
	asked := v.submit(at, form)
	require.Regexp(t, `/changes/[^/]+\?done=requested$`, asked.location, asked.body)
	page := v.get(asked.location).body
	require.Contains(t, page, "second_approver_required")
	require.NotContains(t, page, "challenge_ttl_seconds", "only what differs is requested")

	auditor := w.signedIn(t, models.RoleAuditor)
	require.Contains(t, auditor.get(at).body, "<fieldset class=\"fields\" disabled>")
	require.Equal(t, http.StatusForbidden, auditor.submit(at, form).status)
}
