package integration_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

func TestConsoleMakesAndEditsTeams(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v, ann := w.signedIn(t, models.RoleOperator), w.signedIn(t, models.RoleReviewer)
	key := actors(t, w.reviewer(t))[0].(string)
	at := "/console/" + w.ID + "/teams"
	form := v.get(at + "/new").body
	require.Contains(t, form, "data-confirmed")
	require.Contains(t, form, `value="person:`+ann.person+`"`)
	require.NotContains(t, form, v.person, "an operator may not review")

	wrong := v.submit(at+"/new", url.Values{"key": {"Finance"}, "name": {""}, "members": {"person:prs_unknown"}})
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.NotEmpty(t, fault(t, wrong, "key"))
	require.NotEmpty(t, fault(t, wrong, "name"))
	unknown := v.submit(at+"/new", url.Values{"key": {"finance"}, "name": {"Finance"}, "members": {"person:prs_unknown"}})
	require.Contains(t, fault(t, unknown, "members"), "cannot review in this environment")
	made := v.submit(at+"/new", url.Values{"key": {"finance"}, "name": {"Finance"}, "members": {"person:" + ann.person, key}})
	require.Equal(t, at+"?done=saved", made.location, made.body)
	team := w.Server.get(t, "/api/v1/teams").is(200).list()[0]
	require.Len(t, team["members"], 2)
	again := v.submit(at+"/new", url.Values{"key": {"finance"}, "name": {"Again"}})
	require.Equal(t, http.StatusConflict, again.status)
	require.Contains(t, again.body, "has a team with the key")

	page := at + "/" + team["id"].(string)
	require.Contains(t, v.get(page).body, "Save the team")
	saved := v.submit(page, url.Values{"name": {"Money"}, "members": {key}})
	require.Equal(t, at+"?done=saved", saved.location, saved.body)
	changed := w.Server.get(t, "/api/v1/teams").is(200).list()[0]
	require.Equal(t, "Money", changed["name"])
	require.Len(t, changed["members"], 1)

	id, _ := w.action(t, "enforce", holding)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": with(holding, object{"review": []any{object{"group": "finance", "approvals": 1}}})}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/2/activate", nil).is(200)
	list := ann.get(at).body
	require.Contains(t, list, "1 approval")
	require.NotContains(t, list, at+"/new", "a reviewer changes no team")
	require.Equal(t, http.StatusForbidden, ann.submit(page, url.Values{"name": {"Mine"}}).status)
	require.Equal(t, http.StatusBadRequest, v.submit(page+"/delete", nil).status)
	required := v.submit(page+"/delete", sure())
	require.Equal(t, http.StatusConflict, required.status)
	require.Contains(t, required.body, "is required by 1 active policies")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": holding}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/3/activate", nil).is(200)
	require.Equal(t, at+"?done=deleted", v.submit(page+"/delete", sure()).location)
	require.Equal(t, http.StatusNotFound, v.get(page).status)
	for _, kind := range []string{"team.created", "team.updated", "team.deleted"} {
		w.recorded(t, v, kind)
	}
}

func TestConsoleNamesDeputies(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, bob, operator := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleOperator)
	teams, at := "/console/"+w.ID+"/teams", "/console/"+w.ID+"/deputies"
	require.Contains(t, ann.get(teams).body, at+"/new")
	require.NotContains(t, operator.get(teams).body, at+"/new")
	until := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format("2006-01-02T15:04") }
	name := func(deputy, end string) visit {
		return ann.submit(at+"/new", url.Values{"deputy": {deputy}, "ends_at": {end}})
	}
	require.Contains(t, fault(t, name(bob.person, ""), "ends_at"), "missing")
	require.Contains(t, fault(t, name(bob.person, until(-1)), "ends_at"), "in the future")
	require.Contains(t, fault(t, name(bob.person, until(91)), "ends_at"), "at most 90 days")
	require.Contains(t, fault(t, name(ann.person, until(7)), "deputy"), "must not be the absent person")
	require.Contains(t, fault(t, name(operator.person, until(7)), "deputy"), "must be reviewers")
	require.Equal(t, teams+"?done=named", name(bob.person, until(7)).location)
	require.Equal(t, http.StatusConflict, name(bob.person, until(7)).status, "there is one")

	rows, err := shared.Teams.Deputies(t.Context(), w.scope())
	require.NoError(t, err)
	require.Len(t, rows, 1)
	withdraw := at + "/" + rows[0].ID + "/withdraw"
	require.Contains(t, ann.get(teams).body, withdraw)
	require.NotContains(t, bob.get(teams).body, withdraw)
	require.Equal(t, http.StatusConflict, bob.submit(withdraw, sure()).status, "only the absent person")
	require.Equal(t, http.StatusForbidden, operator.submit(withdraw, sure()).status)
	require.Equal(t, teams+"?done=withdrawn", ann.submit(withdraw, sure()).location)
	require.Contains(t, ann.get(teams).body, "No one is absent.")
	w.recorded(t, ann, "deputy.named")
	w.recorded(t, ann, "deputy.withdrawn")
}

// Teams decide who may approve: their changes wait where a second approver is required.
func TestTeamChangesWaitForASecondApprover(t *testing.T) {
	t.Parallel()
	w, second := fourEyes(t)
	ann := actors(t, w.reviewer(t))
	requested := w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance", "members": ann}).is(202)
	require.Equal(t, "team.create", requested.string("kind"))
	require.Equal(t, "finance", requested.string("team"))
	require.Nil(t, requested.value("action"))
	require.Empty(t, w.Server.get(t, "/api/v1/teams").is(200).list())
	approve := func(id string) { second.post(t, "/api/v1/changes/"+id+"/approve", nil).is(200) }
	w.Admin.post(t, "/api/v1/changes/"+requested.string("id")+"/approve", nil).problem(403, "self_approval")
	approve(requested.string("id"))
	path := "/api/v1/teams/" + w.Server.get(t, "/api/v1/teams").is(200).list()[0]["id"].(string)

	v := w.signedIn(t, models.RoleOperator)
	page := "/console/" + w.ID + "/teams/" + path[len("/api/v1/teams/"):]
	asked := v.submit(page, url.Values{"name": {"Finance"}})
	require.Regexp(t, `/changes/[^/]+\?done=requested$`, asked.location, asked.body)
	require.Contains(t, v.get(asked.location).body, "Change the team finance")
	require.Len(t, w.Server.get(t, path).is(200).value("members"), 1)
	same := w.Admin.patch(t, path, object{"members": []any{}}).is(202)
	approve(same.string("id"))
	require.Empty(t, w.Server.get(t, path).is(200).value("members"))
	w.Admin.patch(t, path, object{"members": []any{}}).is(200)

	deleted := w.Admin.delete(t, path).is(202)
	require.Equal(t, "team.delete", deleted.string("kind"))
	approve(deleted.string("id"))
	w.Server.get(t, path).is(404)
}
