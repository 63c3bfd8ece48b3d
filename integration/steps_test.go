package integration_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stepped are two steps of a review: the team finance, then any two reviewers.
var stepped = object{"steps": []any{
	object{"name": "team", "entries": []any{object{"group": "finance"}}, "within_seconds": 3600, "on_timeout": object{"group": "leads"}},
	object{"name": "board", "entries": []any{object{"approvals": 2}}, "within_seconds": 7200},
}}

// Approvals are given in the order of the steps, by different people, and the log and the rows agree on each step.
func TestReviewInSteps(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, cat, dan := w.reviewer(t), w.reviewer(t), w.reviewer(t)
	id, action := w.action(t, "enforce", holding)
	versions := "/api/v1/actions/" + id + "/policy-versions"
	w.team(t, "finance", ann)
	leads := w.team(t, "leads", cat)
	made := w.Server.post(t, versions, object{"requirements": with(holding, object{"review": stepped})}).is(201)
	require.Equal(t, "board", made.value("requirements.review.steps").([]any)[1].(object)["name"])
	w.Server.post(t, versions+"/2/activate", nil).is(200)
	w.Admin.delete(t, "/api/v1/teams/"+leads).problem(409, "conflict")

	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"
	approve := object{"resolution": "approve"}
	require.Contains(t, cat.post(t, path, approve).problem(403, "forbidden").string("detail"), `"finance"`)
	pending := ann.post(t, path, approve).is(202)
	require.EqualValues(t, 1, pending.value("approvals.given"))
	steps := pending.value("steps").([]any)
	require.Equal(t, []any{"approved", "open"}, []any{steps[0].(object)["state"], steps[1].(object)["state"]})
	require.NotNil(t, steps[1].(object)["due_at"])
	require.JSONEq(t, string(pending.body), string(ann.post(t, path, approve).is(202).body), "a repetition changes nothing")
	ann.post(t, path, with(approve, object{"step": "board"})).problem(403, "forbidden")
	cat.post(t, path, with(approve, object{"step": "team"})).problem(409, "conflict")

	row := dan.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]
	require.Equal(t, true, row["approvable"])
	require.Len(t, row["steps"], 2)
	cat.post(t, path, with(approve, object{"step": "board"})).is(202)
	receipt := dan.post(t, path, approve).is(200)
	require.Equal(t, "allow", receipt.string("decision.decision"))
	trace := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.Contains(t, string(trace.body), "step team: 1 of team finance, after 1h0m0s of team leads as well, then step board: 2 of any reviewer, within 2h0m0s")
	for _, typ := range []string{"hold.step_approved", "hold.step_opened", "hold.approved"} {
		require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = $2", w.ID, typ), typ)
	}
	w.intact(t)
}

// One rejection in any step rejects the hold.
func TestRejectionEndsEveryStep(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, cat := w.reviewer(t), w.reviewer(t)
	w.team(t, "finance", ann)
	w.team(t, "leads", cat)
	_, action := w.action(t, "enforce", with(holding, object{"review": stepped}))
	path := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
	ann.post(t, path, object{"resolution": "approve"}).is(202)
	require.Equal(t, "reject", cat.post(t, path, object{"resolution": "reject"}).is(200).string("resolution"))
	ann.post(t, path, object{"resolution": "approve"}).problem(409, "review_resolved")
	w.intact(t)
}

// A request that is withdrawn waits for no one, counts for nothing, and its workflow ends.
func TestWithdrawnRequests(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann := w.reviewer(t)
	_, action := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held
	first := w.Server.post(t, path+"/withdraw", nil).is(200)
	require.Equal(t, "withdrawn", first.string("review_status"))
	require.JSONEq(t, string(first.body), string(w.Server.post(t, path+"/withdraw", nil).is(200).body))
	ann.post(t, path+"/review", object{"resolution": "approve"}).problem(409, "review_resolved")
	trace := w.Server.get(t, path).is(200)
	require.Equal(t, "withdrawn", trace.string("review_status"))
	require.Nil(t, trace.value("outcome"))
	require.Empty(t, ann.get(t, "/api/v1/reviews?action="+action).is(200).list())
	require.Len(t, ann.get(t, "/api/v1/reviews?status=withdrawn&action="+action).is(200).list(), 1)
	other := newSandbox(t)
	other.Server.post(t, path+"/withdraw", nil).problem(404, "not_found")
	_, allowed := w.action(t, "enforce", allowing)
	w.Server.post(t, "/api/v1/authorizations/"+w.authorize(t, w.subject(t), allowed, "allow").string("id")+"/withdraw", nil).problem(409, "not_held")
	w.intact(t)
}

// The status page says for which team a hold waits and what became of it, to anyone who has the link, and nothing of the request.
func TestStatusPage(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, cat, dan := w.reviewer(t), w.reviewer(t), w.reviewer(t)
	w.team(t, "finance", ann)
	w.team(t, "leads", cat)
	_, action := w.action(t, "enforce", with(holding, object{"review": stepped}))
	subject := w.subject(t)
	body := request(subject, action)
	held := w.Server.post(t, "/api/v1/authorize", body).is(200)
	link := held.string("hold.status_url")
	require.JSONEq(t, string(held.body), string(w.Server.post(t, "/api/v1/authorize", body).is(200).body), "a repetition has the same link")
	require.Equal(t, 0, count(t, "select count(*) from authorizations where response::text like '%' || $1 || '%'", link[strings.LastIndex(link, "/")+1:]), "no token is stored")
	page := func(status int, link string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
		require.NoError(t, err)
		req.Header.Set("Accept", "text/html")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, status, res.StatusCode, "%s", raw)
		return regexp.MustCompile(`</?bdi>`).ReplaceAllString(string(raw), "")
	}
	text := page(200, link)
	for _, want := range []string{"waiting for approval", "1 of 2", "finance"} {
		require.Contains(t, text, want)
	}
	for _, hidden := range []string{subject, action, "crd_", held.string("action_hash")} {
		require.NotContains(t, text, hidden)
	}
	path := "/api/v1/authorizations/" + held.string("id")
	ann.post(t, path+"/review", object{"resolution": "approve"}).is(202)
	text = page(200, link)
	require.Contains(t, text, "2 of 2")
	require.Contains(t, text, "A reviewer")
	cat.post(t, path+"/review", object{"resolution": "approve"}).is(202)
	dan.post(t, path+"/review", object{"resolution": "approve"}).is(200)
	require.Contains(t, page(200, link), "was approved")

	execSQL(t, "update holds set resolved_at = resolved_at - interval '8 days', opened_at = opened_at - interval '8 days' where authorization_id = '"+held.string("id")+"'")
	ended, unknown := page(404, link), page(404, link[:len(link)-1]+string('A'+link[len(link)-1]%2))
	require.Equal(t, unknown, ended, "a link that has ended looks like one that never existed")
	_, allowed := w.action(t, "enforce", allowing)
	require.NotContains(t, string(w.Server.post(t, "/api/v1/authorize", request(subject, allowed)).is(200).body), "status_url")
}

// intact requires that the environment's log and its records agree.
func (w world) intact(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		return count(t, `select count(*) from events e where environment_id = $1 and not exists (select from audit_chain c where c.event_id = e.id)`, w.ID) == 0
	}, "every entry is sealed")
	result := w.verified(t)
	require.True(t, result.Intact(), "%+v", result.Findings)
}
