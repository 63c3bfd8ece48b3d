package integration_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

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

// The times of a hold whose policy counts working hours follow the calendar of the environment as a step opens. A policy needs one.
func TestReviewInWorkingHours(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, cat := w.reviewer(t), w.reviewer(t)
	id, action := w.action(t, "enforce", holding)
	versions := "/api/v1/actions/" + id + "/policy-versions"
	w.team(t, "finance", ann)
	w.team(t, "leads", cat)
	body := object{"requirements": with(holding, object{"hours": "working", "review": object{"steps": []any{
		object{"name": "team", "entries": []any{object{"group": "finance"}}, "within_seconds": 3600},
		object{"name": "board", "entries": []any{object{"group": "leads", "escalate": object{"after_seconds": 600, "group": "finance"}}}, "within_seconds": 7200},
	}}})}
	refused := w.Server.post(t, versions, body).is(422)
	require.Contains(t, string(refused.body), "hours is working, and the environment has no calendar; set working_zone and working_hours")
	settings := func(in object) response { return w.Admin.patch(t, environmentPath, in).is(200) }
	file := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20990101\r\nDTEND;VALUE=DATE:20990103\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	after := settings(object{
		"working_zone": "Australia/Lord_Howe", "working_hours": []any{"MON-SUN 0:00-24:00"}, "holidays_file": base64.StdEncoding.EncodeToString([]byte(file)),
	})
	require.Equal(t, []any{"mon-sun 00:00-24:00"}, after.value("working_hours"))
	require.Equal(t, []any{"2099-01-01", "2099-01-02"}, after.value("holidays"))
	w.Server.post(t, versions, body).is(201)
	settings(object{"working_hours": []any{}})
	w.Server.post(t, versions+"/2/activate", nil).problem(409, "conflict")
	today := time.Now().UTC()
	holidays := []any{}
	for i := -1; i < 9; i++ {
		holidays = append(holidays, today.AddDate(0, 0, i).Format(time.DateOnly))
	}
	settings(object{"working_zone": "Asia/Kolkata", "working_hours": []any{"mon-sun 09:00-17:00"}, "holidays": holidays})
	w.Server.post(t, versions+"/2/activate", nil).is(200)

	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	day := today.AddDate(0, 0, 9)
	due := func(hour, minute int) string {
		return time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, time.UTC).Format("2006-01-02T15:04:05.000Z")
	}
	row := ann.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]
	require.Equal(t, due(4, 30), row["due_at"], "an hour of the first working day, 09:00 to 10:00 in Kolkata")
	steps := ann.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve"}).is(202).value("steps").([]any)
	require.Equal(t, due(5, 30), steps[1].(object)["due_at"])
	trace := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.Contains(t, string(trace.body), "within 2h0m0s; times count working hours")
	require.Equal(t, 1, count(t, `select count(*) from events where environment_id = $1 and type = 'hold.step_opened' and data->'escalations'->>0 = $2`,
		w.ID, "leads: "+strings.Replace(due(3, 40), ".000Z", "Z", 1)))
	w.intact(t)
	cat.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve"}).is(200)
	settings(object{"working_hours": []any{}})
	held = w.authorize(t, w.subject(t), action, "hold").string("id")
	opened := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.NotEmpty(t, opened.body)
	row = ann.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]
	until, err := time.Parse(time.RFC3339, row["due_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), until, 10*time.Minute, "without a calendar all hours count")
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

	execSQL(t, "update holds set resolved_at = now() - interval '8 days', opened_at = now() - interval '8 days' where authorization_id = '"+held.string("id")+"'")
	ended, unknown := page(404, link), page(404, link[:len(link)-1]+string('A'+link[len(link)-1]%2))
	require.Equal(t, unknown, ended, "a link that has ended looks like one that never existed")
	_, allowed := w.action(t, "enforce", allowing)
	require.NotContains(t, string(w.Server.post(t, "/api/v1/authorize", request(subject, allowed)).is(200).body), "status_url")
}

// intact requires that the environment's log and its records agree.
func (w world) intact(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		return count(t, `select count(*) from events e where environment_id = $1 and not exists (select from audit_chain c where c.event_id = e.id and c.environment_id = $1)`, w.ID) == 0
	}, "every entry is sealed")
	result := w.verified(t)
	require.True(t, result.Intact(), "%+v", result.Findings)
}
