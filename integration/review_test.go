package integration_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two reviewers must approve, and the requester is not one of them.
func TestReviewRequiresSeveralReviewers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 2, "self_review": "barred"}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"
	ann, bob, cat := w.reviewer(t), w.reviewer(t), w.reviewer(t)
	approve := object{"resolution": "approve"}

	refused := w.Server.post(t, path, approve).is(http.StatusForbidden)
	require.Equal(t, "self_review", refused.string("code"))
	w.Server.post(t, path, object{"resolution": "reject"}).is(http.StatusForbidden)
	own := w.Server.get(t, "/api/v1/reviews?action="+action).is(200).list()
	require.Len(t, own, 1)
	require.Equal(t, "barred", own[0]["self_review"])
	require.Equal(t, false, own[0]["reviewable"])

	for range 2 {
		pending := ann.post(t, path, approve).is(http.StatusAccepted)
		require.Equal(t, "pending", pending.string("review_status"))
		require.EqualValues(t, 1, pending.value("approvals.given"), "a reviewer counts once")
		require.EqualValues(t, 2, pending.value("approvals.required"))
	}
	queue := ann.get(t, "/api/v1/reviews?action="+action).is(200).list()
	require.Equal(t, object{"given": 1.0, "required": 2.0}, queue[0]["approvals"])
	require.Equal(t, "approve", queue[0]["your_resolution"])
	require.Equal(t, true, queue[0]["reviewable"])
	require.EqualValues(t, 1, ann.get(t, "/api/v1/reviews/counts?action="+action).is(200).value("partly_approved"))

	receipt := bob.post(t, path, approve).is(200)
	require.Equal(t, "allow", receipt.string("decision.decision"))
	require.Equal(t, receipt.body, cat.post(t, path, approve).is(200).body, "the same resolution returns the stored receipt")
	require.Equal(t, "review_resolved", cat.post(t, path, object{"resolution": "reject"}).is(409).string("code"))
	trace := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.Equal(t, "approved", trace.string("review_status"))
	require.Contains(t, trace.string("reviewed_by"), "crd_")
}

// One rejection overrides approvals, including the reviewer's own.
func TestReviewRejectionOverridesApprovals(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(holding, object{"approvals_required": 3}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	path := "/api/v1/authorizations/" + held + "/review"
	w.Server.post(t, path, object{"resolution": "approve"}).is(http.StatusAccepted)
	receipt := w.Server.post(t, path, object{"resolution": "reject", "note": "wrong account"}).is(200)
	require.Equal(t, "manually_rejected", receipt.string("outcome.outcome"))
	require.Equal(t, "review_resolved", w.reviewer(t).post(t, path, object{"resolution": "approve"}).is(409).string("code"))
}

func TestPolicyValidatesReviewRequirements(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.action(t, "test", holding)
	for _, wrong := range []object{{"approvals_required": 0}, {"approvals_required": 6}, {"self_review": "maybe"}, {"self_review": nil}} {
		w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": with(holding, wrong)}).is(422)
	}
	plain := w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": holding}).is(201)
	require.NotContains(t, string(plain.body), "approvals_required", "omitted requirements are neither shown nor hashed")
	given := w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": with(holding, object{"approvals_required": 1})}).is(201)
	require.EqualValues(t, 1, given.value("requirements.approvals_required"))
	require.NotEqual(t, plain.string("content_hash"), given.string("content_hash"))
}

// The queue can be filtered and sorted by due time.
func TestReviewQueueFilters(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, transfer := w.action(t, "enforce", holding)
	_, release := w.action(t, "enforce", holding)
	first, second := w.subject(t), w.subject(t)
	older := w.authorize(t, first, transfer, "hold").string("id")
	newer := w.authorize(t, second, release, "hold").string("id")
	list := func(query string) []string {
		var out []string
		for _, r := range w.Server.get(t, "/api/v1/reviews?"+query).is(200).list() {
			out = append(out, r["authorization"].(string))
		}
		return out
	}
	require.Equal(t, []string{newer, older}, list(""))
	require.Equal(t, []string{older, newer}, list("order=due"))
	require.Equal(t, []string{older}, list("action="+transfer))
	require.Equal(t, []string{newer}, list("subject="+second))
	require.Equal(t, []string{newer, older}, list("risk_class=high"))
	require.Empty(t, list("risk_class=low"))
	opened := w.Server.get(t, "/api/v1/reviews?subject="+second).is(200).list()[0]["opened_at"].(string)
	require.Equal(t, []string{older}, list("opened_before="+opened))
	require.Empty(t, list("due_before="+opened))
	require.Len(t, list("due_before="+time.Now().Add(80*time.Hour).UTC().Format(time.RFC3339)), 2)
	require.Empty(t, list("status=approved"))
	w.Server.get(t, "/api/v1/reviews?order=oldest").is(422)
	w.Server.get(t, "/api/v1/reviews?opened_before=yesterday").is(422)

	counts := w.Server.get(t, "/api/v1/reviews/counts").is(200)
	require.EqualValues(t, 2, counts.value("pending"))
	require.EqualValues(t, 2, counts.value("due.later"))
	require.EqualValues(t, 0, counts.value("due.within_1h"))
	require.EqualValues(t, 1, w.Server.get(t, "/api/v1/reviews/counts?action="+transfer).is(200).value("pending"))
	w.Publishable.get(t, "/api/v1/reviews/counts").is(http.StatusForbidden)

	w.Server.post(t, "/api/v1/authorizations/"+older+"/review", object{"resolution": "reject"}).is(200)
	require.Equal(t, []string{older}, list("status=rejected"))
	require.EqualValues(t, 1, w.Server.get(t, "/api/v1/reviews/counts").is(200).value("pending"))
}

func TestReviewApprovesAHold(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	queue := w.Server.get(t, "/api/v1/reviews?status=pending").is(200).list()
	require.Len(t, queue, 1)
	require.Equal(t, held, queue[0]["authorization"])

	approve := object{"resolution": "approve", "note": "Called back."}
	path := "/api/v1/authorizations/" + held + "/review"
	receipt := w.Server.post(t, path, approve).is(200)
	require.Equal(t, "allow", receipt.string("decision.decision"))
	require.NotEmpty(t, receipt.string("decision.proof"))
	require.JSONEq(t, string(receipt.body), string(w.Server.post(t, path, approve).is(200).body))
	w.Server.post(t, path, object{"resolution": "reject"}).is(409)

	trace := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.Equal(t, "hold", trace.string("decision"))
	require.Equal(t, "approved", trace.string("review_status"))
	require.NotEmpty(t, trace.string("reviewed_by"))
	require.Equal(t, receipt.string("decision.id"), trace.string("review_authorization_id"))
	require.Empty(t, w.Server.get(t, "/api/v1/reviews?status=pending").is(200).list())
}

func TestReviewRejectsAHold(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	receipt := w.Server.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "reject"}).is(200)
	require.Equal(t, "manually_rejected", receipt.string("outcome.outcome"))
	trace := w.Server.get(t, "/api/v1/authorizations/"+held).is(200)
	require.Equal(t, "rejected", trace.string("review_status"))
	require.Equal(t, "manually_rejected", trace.string("outcome"))
}

func TestReviewConcurrentResolutionsHaveOneWinner(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	const n = 12
	answers := make([]response, n)
	errs := make([]error, n)
	concurrently(n, func(i int) {
		resolution := "approve"
		if i%2 == 1 {
			resolution = "reject"
		}
		answers[i], errs[i] = w.Server.send("POST", "/api/v1/authorizations/"+held+"/review", object{"resolution": resolution})
	})
	won := map[string]int{}
	for i, a := range answers {
		require.NoError(t, errs[i])
		a.t = t
		if a.status == 200 {
			won[a.string("resolution")]++
		} else {
			require.Equal(t, 409, a.status, "response: %s", a.body)
		}
	}
	require.Len(t, won, 1, "approve and reject must not both win: %v", won)
	var children int
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select count(*) from authorizations where parent_id = $1", held).Scan(&children))
	require.LessOrEqual(t, children, 1)
}

func TestReviewRejectsResolvedAndExpiredHolds(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	path := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
	w.Server.post(t, path, object{"resolution": "reject"}).is(200)
	w.Server.post(t, path, object{"resolution": "approve"}).problem(409, "review_resolved")
	late := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
	w.Server.at(replicaAhead(t, 73*time.Hour)).post(t, late, object{"resolution": "approve"}).problem(409, "review_expired")
}
