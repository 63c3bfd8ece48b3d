package integration_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// broken is the request of a break-glass.
var broken = object{"resolution": "break_glass", "note": "The team is on the night train, and the payroll is due at six."}

// glass are requirements under which one of the team incident approves alone.
func glass(approvals int) object {
	return with(holding, object{"review": stepped, "break_glass": object{"group": "incident", "after_review": object{"approvals": approvals, "within_seconds": 3600}}})
}

// One member of the team approves alone: the proof says so, and until two others have reviewed it, that person breaks no glass again.
func TestBreakGlass(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, cat, dan, eve := w.reviewer(t), w.reviewer(t), w.reviewer(t), w.reviewer(t)
	w.team(t, "finance", ann)
	w.team(t, "leads", cat)
	w.team(t, "incident", dan, eve)
	_, action := w.action(t, "enforce", glass(2))
	held := func() string {
		return "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id")
	}
	first := held()
	require.Contains(t, ann.post(t, first+"/review", broken).problem(403, "forbidden").string("detail"), `"incident"`)
	dan.post(t, first+"/review", object{"resolution": "break_glass", "note": " "}).is(422)
	receipt := dan.post(t, first+"/review", broken).is(200)
	require.Equal(t, true, receipt.value("break_glass"))
	require.Equal(t, "allow", receipt.string("decision.decision"))
	require.Equal(t, "approve", receipt.string("resolution"))
	require.Equal(t, "approved", w.Server.get(t, first).is(200).string("review_status"))
	verified := w.Server.post(t, "/api/v1/verify", object{"proof": proofOf(t, w, receipt)}).is(200)
	require.Equal(t, []any{"break_glass"}, verified.value("claims.amr"))
	require.Equal(t, receipt.string("decision.id"), dan.post(t, first+"/review", broken).is(200).string("decision.id"), "a repetition returns the receipt")
	eve.post(t, first+"/review", broken).is(200)

	second := held()
	dan.post(t, second+"/review", broken).problem(409, "conflict")
	after := dan.get(t, "/api/v1/after-reviews?status=open").is(200).list()
	require.Len(t, after, 1)
	require.Equal(t, broken["note"], after[0]["reason"])
	verdict := "/api/v1/after-reviews/" + after[0]["authorization"].(string) + "/verdict"
	justified, not := object{"verdict": "justified", "note": "The log of the train agrees."}, object{"verdict": "not_justified", "note": "It was not urgent."}
	dan.post(t, verdict, justified).problem(403, "self_review")
	w.Server.post(t, verdict, justified).problem(403, "self_review")
	require.Equal(t, "open", ann.post(t, verdict, justified).is(200).string("status"))
	ann.post(t, verdict, justified).is(200)
	ann.post(t, verdict, not).problem(409, "conflict")
	require.Equal(t, "not_justified", cat.post(t, verdict, not).is(200).string("status"))
	eve.post(t, verdict, justified).problem(409, "conflict")
	dan.post(t, second+"/review", broken).is(200)
	for typ, n := range map[string]int{"hold.glass_broken": 2, "after_review.given": 2, "after_review.closed": 1} {
		require.Equal(t, n, count(t, "select count(*) from events where environment_id = $1 and type = $2", w.ID, typ), typ)
	}
	w.intact(t)
}

// proofOf returns the proof of the follow-up decision of a receipt, as its requester reads it.
func proofOf(t *testing.T, w world, receipt response) string {
	t.Helper()
	return w.Server.get(t, "/api/v1/authorizations/"+receipt.string("decision.id")).is(200).string("proof.compact")
}

// A break-glass that is not reviewed in time is an event, and no one can break the glass of the policy until it is reviewed.
func TestOverdueAfterReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	dan, eve := w.reviewer(t), w.reviewer(t)
	w.team(t, "finance", w.reviewer(t))
	w.team(t, "leads", w.reviewer(t))
	w.team(t, "incident", dan, eve)
	_, action := w.action(t, "enforce", glass(1))
	held := func(action string) string {
		return "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
	}
	dan.post(t, held(action), broken).is(200)
	id := dan.get(t, "/api/v1/after-reviews").is(200).list()[0]["authorization"].(string)
	_, err := shared.Core.Store.Exec(t.Context(), "update after_reviews set due_at = now() - interval '1 minute' where environment_id = $1 and authorization_id = $2", w.ID, id)
	require.NoError(t, err)
	testenv.Attest(t, shared.Core.Store, w.scope())
	require.Equal(t, true, dan.get(t, "/api/v1/after-reviews").is(200).list()[0]["overdue"])
	require.Contains(t, eve.post(t, held(action), broken).problem(409, "conflict").string("detail"), "not reviewed in time")
	_, other := w.action(t, "enforce", glass(1))
	eve.post(t, held(other), broken).is(200)
	reviews := afterreview.New(shared.Core.Store, clock.System(), reviewnote.NewVault(testenv.Keys()))
	for range 2 {
		require.NoError(t, reviews.MarkOverdue(t.Context(), w.ID, id, time.Now().UTC(), "upkeep/overdue-after-reviews"))
	}
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'after_review.overdue'", w.ID))
	eve.post(t, "/api/v1/after-reviews/"+id+"/verdict", object{"verdict": "justified", "note": "Late, and right."}).is(200)
	dan.post(t, held(action), broken).is(200)
}

// No one breaks the glass for a request of their own, and a policy has none unless it says so.
func TestGlassIsForOthers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.team(t, "incident", w.Server)
	w.team(t, "finance", w.reviewer(t))
	w.team(t, "leads", w.reviewer(t))
	id, action := w.action(t, "enforce", glass(1))
	path := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
	w.Server.post(t, path, broken).problem(403, "self_review")
	_, plain := w.action(t, "enforce", holding)
	w.reviewer(t).post(t, "/api/v1/authorizations/"+w.authorize(t, w.subject(t), plain, "hold").string("id")+"/review", broken).problem(403, "forbidden")
	unknown := with(holding, object{"break_glass": object{"group": "nobody", "after_review": object{"approvals": 1, "within_seconds": 3600}}})
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": unknown}).is(422)
}

// brokenGlass breaks the glass of a policy. It returns a second request of the same person, and where verdicts are given.
func (w world) brokenGlass(t *testing.T, approvals int) (again func() response, verdict string) {
	t.Helper()
	dan := w.reviewer(t)
	w.team(t, "finance", w.reviewer(t))
	w.team(t, "leads", w.reviewer(t))
	w.team(t, "incident", dan)
	_, action := w.action(t, "enforce", glass(approvals))
	held := func() string { return w.authorize(t, w.subject(t), action, "hold").string("id") }
	first, second := held(), held()
	dan.post(t, "/api/v1/authorizations/"+first+"/review", broken).is(200)
	return func() response { return dan.post(t, "/api/v1/authorizations/"+second+"/review", broken) }, "/api/v1/after-reviews/" + first + "/verdict"
}

// In the console a member of the team breaks the glass on the page of a hold, and colleagues give their verdicts on that of after-reviews.
func TestConsoleBreaksTheGlass(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	dan, eve := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
	w.Admin.post(t, "/api/v1/teams", object{"key": "incident", "name": "Incident", "members": []string{"person:" + dan.person}}).is(201)
	_, action := w.action(t, "enforce", with(holding, object{"break_glass": object{"group": "incident", "after_review": object{"approvals": 1, "within_seconds": 3600}}}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	page, after := "/console/"+w.ID+"/reviews/"+held, "/console/"+w.ID+"/after-reviews"
	require.Contains(t, dan.get(page).body, "Break the glass")
	require.NotContains(t, eve.get(page).body, "Break the glass")
	require.Equal(t, 422, dan.submit(page, resolution("break_glass")).status)
	require.Equal(t, 303, dan.submit(page, url.Values{"resolution": {"break_glass"}, "note": {"The team is on the night train."}}).status)
	eventually(t, func() bool { return strings.Contains(dan.get(after).body, "The team is on the night train.") }, "the glass is broken")
	require.NotContains(t, dan.get(after).body, "<textarea")
	require.Contains(t, eve.get("/console/"+w.ID+"/reviews").body, "wait for a review")
	require.Equal(t, 422, eve.submit(after+"/"+held, url.Values{"verdict": {"justified"}}).status)
	require.Equal(t, 303, eve.submit(after+"/"+held, url.Values{"verdict": {"justified"}, "note": {"It was urgent."}}).status)
	require.Contains(t, eve.get(after).body, "It was urgent.")
	require.Contains(t, w.signedIn(t, models.RoleAuditor).get("/console/"+w.ID+"/health").body, "Break-glass")
}
