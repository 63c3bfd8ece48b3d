package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// team creates a team with callers as its members and returns its id.
func (w world) team(t testing.TB, key string, members ...caller) string {
	t.Helper()
	return w.Admin.post(t, "/api/v1/teams", object{"key": key, "name": "Team " + key, "members": actors(t, members...)}).is(201).string("id")
}

// actors returns callers as members of a team.
func actors(t testing.TB, members ...caller) []any {
	t.Helper()
	out := []any{}
	for _, m := range members {
		out = append(out, "credential:"+m.get(t, "/api/v1/credential").is(200).string("credential"))
	}
	return out
}

func TestTeamLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, bob := w.reviewer(t), w.reviewer(t)
	made := w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance", "members": actors(t, ann)}).is(201)
	require.Equal(t, "finance", made.string("key"))
	path := "/api/v1/teams/" + made.string("id")
	require.JSONEq(t, string(made.body), string(w.Server.get(t, path).is(200).body))
	w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Again"}).problem(409, "conflict")

	changed := w.Admin.patch(t, path, object{"name": "Money", "members": actors(t, ann, bob)}).is(200)
	require.Equal(t, "Money", changed.string("name"))
	require.Len(t, changed.value("members"), 2)
	require.Equal(t, true, changed.value("members").([]any)[0].(object)["reviews"])
	require.Nil(t, changed.value("members").([]any)[0].(object)["deputy"])
	w.Admin.patch(t, path, object{"members": actors(t, bob)}).is(200)
	listed := w.Server.get(t, "/api/v1/teams").is(200).list()
	require.Len(t, listed, 1)
	require.Len(t, listed[0]["members"], 1)

	for _, unknown := range []string{"credential:crd_unknown", "person:prs_unknown", "client_token:tok_1", ""} {
		refused := w.Admin.patch(t, path, object{"members": []any{unknown}}).is(422)
		require.Contains(t, string(refused.body), "cannot review in this environment")
	}
	w.Admin.delete(t, path).is(204)
	w.Server.get(t, path).is(404)
	w.Admin.delete(t, path).is(404)
}

// Each team must approve, and a policy cannot name a team that does not exist.
func TestReviewRequiresTeams(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, cat, dan, lea := w.reviewer(t), w.reviewer(t), w.reviewer(t), w.reviewer(t)
	entries := []any{
		object{"group": "finance", "approvals": 1, "escalate": object{"after_seconds": 3600, "group": "leads"}}, object{"group": "risk", "approvals": 1},
	}
	id, action := w.action(t, "enforce", holding)
	versions := "/api/v1/actions/" + id + "/policy-versions"
	draft := object{"requirements": with(holding, object{"review": entries})}
	refused := w.Server.post(t, versions, draft).is(422)
	require.Contains(t, string(refused.body), `the team \"finance\", which the environment does not have`)

	finance := w.team(t, "finance", ann)
	w.team(t, "risk", cat)
	w.team(t, "leads", lea)
	made := w.Server.post(t, versions, draft).is(201)
	require.Equal(t, entries[1].(object)["group"], made.value("requirements.review").([]any)[1].(object)["group"])
	w.Server.post(t, versions+"/2/activate", nil).is(200)
	w.Admin.delete(t, "/api/v1/teams/"+finance).problem(409, "conflict")

	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"
	approve := object{"resolution": "approve"}
	outsider := dan.post(t, path, approve).problem(403, "forbidden")
	require.Contains(t, outsider.string("detail"), `"finance" or "risk"`)
	lea.post(t, path, approve).is(403)
	row := dan.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]
	require.Equal(t, true, row["reviewable"], "every reviewer may reject")
	require.Equal(t, false, row["approvable"])
	require.Equal(t, object{"given": 0.0, "required": 2.0}, row["approvals"])

	pending := ann.post(t, path, approve).is(202)
	require.EqualValues(t, 1, pending.value("approvals.given"))
	teams := pending.value("teams").([]any)
	require.Len(t, teams, 2)
	require.EqualValues(t, 1, teams[0].(object)["given"])
	require.Equal(t, "leads", teams[0].(object)["escalates_to"])
	require.EqualValues(t, 0, teams[1].(object)["given"], "risk has not approved yet")

	receipt := cat.post(t, path, approve).is(200)
	require.Equal(t, "allow", receipt.string("decision.decision"))
	trace := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.Contains(t, string(trace.body), "1 of team finance, after 1h0m0s of team leads as well; 1 of team risk")
}

func TestTeamsOfAnEnvironmentAreItsOwn(t *testing.T) {
	t.Parallel()
	w, other := newSandbox(t), newSandbox(t)
	id := w.team(t, "finance", w.reviewer(t))
	other.Server.get(t, "/api/v1/teams/"+id).is(404)
	require.Empty(t, other.Server.get(t, "/api/v1/teams").is(200).list())
	other.Admin.patch(t, "/api/v1/teams/"+id, object{"name": "Ours"}).is(404)
	stranger := actors(t, w.reviewer(t))
	refused := other.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance", "members": stranger}).is(422)
	require.Contains(t, string(refused.body), "cannot review in this environment")
}
