package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/proof"
)

// The policy of the tests with evidence: themselves are allowed, others held, no evidence is challenged.
var cautious = object{
	"claims": object{"operator_continuity": "likely"}, "coverage_min": "partial", "freshness_max_ms": 3_600_000,
	"hold_on": []string{"continuity_mismatch", "continuity_recent_mismatch"},
}

func TestAuthorizeDistinguishesTypists(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", cautious)
	ada := typist("ada")
	subject := w.enrolled(t, ada)
	require.Equal(t, "enrolled", w.Server.get(t, "/api/v1/subjects/"+subject).is(200).string("enrollment"))

	own := w.session(t, subject, "score", ada, 5)
	profile := w.Server.get(t, "/api/v1/sessions/"+own+"/assessment").is(200)
	require.Contains(t, []string{"confirmed", "likely"}, claim(profile.value("claims"), "operator_continuity"))
	allowed := w.authorize(t, subject, action, "allow")
	require.NotEmpty(t, allowed.string("proof"))
	require.NotEmpty(t, allowed.string("proof_id"))
	require.Equal(t, own, allowed.string("assurance.session"))

	w.session(t, subject, "score", typist("mallory"), 5)
	other := w.Server.post(t, "/api/v1/authorize", request(subject, action)).is(200)
	require.NotEqual(t, "allow", other.string("decision"), "answered: %s", other.body)
	require.Nil(t, other.value("proof"))
}

func claim(claims any, name string) string {
	list, _ := claims.([]any)
	for _, c := range list {
		if o, ok := c.(object); ok && o["claim"] == name {
			s, _ := o["status"].(string)
			return s
		}
	}
	return ""
}

func TestChallengeCompletionMakesAFollowUpDecision(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	asked := w.authorize(t, subject, action, "challenge")
	require.Nil(t, asked.value("proof"))
	id := asked.string("challenge.id")
	view := w.Server.get(t, "/api/v1/challenges/"+id).is(200)
	require.Equal(t, "open", view.string("status"))
	require.Equal(t, action, view.string("display.action_key"))

	complete := object{"method": "sandbox_confirm"}
	receipt := w.Server.post(t, "/api/v1/challenges/"+id+"/complete", complete).is(200)
	require.Equal(t, "completed", receipt.string("status"))
	again := w.Server.post(t, "/api/v1/challenges/"+id+"/complete", complete).is(200)
	require.JSONEq(t, string(receipt.body), string(again.body), "the same completion has the same receipt")
	w.Server.post(t, "/api/v1/challenges/"+id+"/cancel", nil).problem(409, "challenge_closed")

	child := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200)
	require.Equal(t, "allow", child.string("decision"))
	require.Equal(t, asked.string("id"), child.string("parent"))
	require.Equal(t, "active", child.string("proof.status"))
	require.NotEmpty(t, child.string("proof.compact"))
	parent := w.Server.get(t, "/api/v1/authorizations/"+asked.string("id")).is(200)
	require.Equal(t, "challenge", parent.string("decision"), "the parent stays as it was decided")
	require.Equal(t, "completed", parent.string("challenge.status"))
	require.Equal(t, "sandbox", parent.string("challenge.strength"))
}

func TestChallengeCancellation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	id := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
	require.Equal(t, "cancelled", w.Server.post(t, "/api/v1/challenges/"+id+"/cancel", nil).is(200).string("status"))
	w.Server.post(t, "/api/v1/challenges/"+id+"/complete", object{"method": "sandbox_confirm"}).problem(409, "challenge_closed")
	require.Equal(t, "cancelled", w.Server.get(t, "/api/v1/challenges/"+id).is(200).string("status"))
}

func TestChallengeExpires(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	// The shortest life an environment may give a challenge, in seconds.
	_, err := shared.Store.Pool().Exec(t.Context(), "update environments set challenge_ttl_seconds = 30 where id = $1", w.ID)
	require.NoError(t, err)
	_, action := w.action(t, "enforce", challenging)
	id := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")

	// A replica whose clock is past the end shows expired before any timer has fired.
	replica := w.Server.at(later(t, 31*time.Second))
	require.Equal(t, "expired", replica.get(t, "/api/v1/challenges/"+id).is(200).string("status"))
	require.Equal(t, "open", w.Server.get(t, "/api/v1/challenges/"+id).is(200).string("status"))

	// The durable timer settles the record itself.
	eventually(t, func() bool {
		var status string
		err := shared.Store.Pool().QueryRow(t.Context(), "select status from challenges where id = $1", id).Scan(&status)
		return err == nil && status == "expired"
	}, "the timer expires the challenge")
	w.Server.post(t, "/api/v1/challenges/"+id+"/complete", object{"method": "sandbox_confirm"}).problem(409, "challenge_expired")
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
	answers := make([]answer, n)
	errs := make([]error, n)
	together(n, func(i int) {
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
			require.Equal(t, 409, a.status, "answered: %s", a.body)
		}
	}
	require.Len(t, won, 1, "approve and reject must not both win: %v", won)
	var children int
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select count(*) from authorizations where parent_id = $1", held).Scan(&children))
	require.LessOrEqual(t, children, 1)
}

func TestAuthorizeDenialHasNoProof(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", denying)
	denied := w.authorize(t, w.subject(t), action, "deny")
	require.Nil(t, denied.value("proof"))
	require.Contains(t, denied.strings("reason_codes"), "insufficient_evidence")
}

func TestProofVerifiesOfflineAndIsConsumedOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	allowed := w.authorize(t, subject, action, "allow")
	compact := allowed.string("proof")

	keys, err := proof.ParseJWKS(caller{base: shared.baseURL}.get(t, "/.well-known/service-proof-keys.json").is(200).body)
	require.NoError(t, err)
	claims, err := proof.Verify(compact, keys, time.Now(), proof.Expect{
		Audience: audience, Action: action, Environment: w.ID, Issuer: w.Server.get(t, "/api/v1/credential").is(200).string("proof_issuer"),
	})
	require.NoError(t, err)
	require.Equal(t, subject, claims.Subject)
	require.Equal(t, allowed.string("id"), claims.Authorization)
	require.Equal(t, allowed.string("action_hash"), claims.Action.Hash)

	jti := allowed.string("proof_id")
	require.Equal(t, "active", w.Server.get(t, "/api/v1/proofs/"+jti+"/status").is(200).string("status"))
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": compact}).is(200).value("valid"))
	consume := object{"proof": compact, "audience": audience, "action": action, "consume": true}
	const n = 100
	valid := make([]bool, n)
	errs := make([]error, n)
	together(n, func(i int) {
		a, err := w.Server.send("POST", "/api/v1/verify", consume)
		a.t, errs[i] = t, err
		valid[i] = err == nil && a.status == 200 && a.value("valid") == true
	})
	wins := 0
	for i := range n {
		require.NoError(t, errs[i])
		if valid[i] {
			wins++
		}
	}
	require.Equal(t, 1, wins, "one of %d consumers wins", n)
	spent := w.Server.post(t, "/api/v1/verify", consume).is(200)
	require.Equal(t, false, spent.value("valid"))
	require.Equal(t, "consumed", spent.string("status"))
	require.Equal(t, "consumed", w.Server.get(t, "/api/v1/proofs/"+jti+"/status").is(200).string("status"))
}

func TestReportOutcomeIsRecorded(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	id := w.authorize(t, w.subject(t), action, "allow").string("id")
	receipt := w.Server.post(t, "/api/v1/authorizations/"+id+"/outcome", object{"outcome": "executed", "note": "done"}).is(200)
	require.Equal(t, id, receipt.string("authorization"))
	trace := w.Server.get(t, "/api/v1/authorizations/"+id).is(200)
	require.Equal(t, "executed", trace.string("outcome"))
	require.NotEmpty(t, trace.string("outcome_reported_at"))
}

func TestAuthorizeObeysTheActionMode(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	_, tested := w.action(t, "test", allowing)
	require.Nil(t, w.authorize(t, subject, tested, "allow").value("proof"), "mode test gives no proof")
	_, shadowed := w.action(t, "shadow", challenging)
	require.Nil(t, w.authorize(t, subject, shadowed, "challenge").value("challenge"), "mode shadow bothers nobody")
	_, held := w.action(t, "shadow", holding)
	w.authorize(t, subject, held, "hold")
	require.Empty(t, w.Server.get(t, "/api/v1/reviews?status=pending").is(200).list())
}
