package integration_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// both is a policy that needs the subject's approval and a reviewer's.
func both(more object) object {
	return with(object{
		"coverage_min": "none", "explicit_approval_required": true,
		"approval_compensates": []string{"operator_continuity", "human_presence", "coverage", "freshness"},
	}, more)
}

// decided returns the authorization that followed a completed challenge.
func (w world) decided(t *testing.T, challenge string) response {
	t.Helper()
	id := w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
	return w.Server.get(t, "/api/v1/authorizations/"+id).is(200)
}

// amr returns the methods of a compact proof.
func amr(t *testing.T, compact string) []string {
	t.Helper()
	parts := strings.Split(compact, ".")
	require.Len(t, parts, 3)
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var claims struct {
		Methods []string `json:"amr"`
	}
	require.NoError(t, json.Unmarshal(body, &claims))
	return claims.Methods
}

func reviewPath(id string) string { return "/api/v1/authorizations/" + id + "/review" }

// If the hold comes first, its approval leads to the challenge, and the proof follows the challenge.
func TestPasskeyAndReviewerAreBothNeededHoldFirst(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", both(object{"hold_on": []string{"explicit_approval_required"}, "max_challenges": 1}))
	held := w.authorize(t, w.subject(t), action, "hold")
	receipt := w.reviewer(t).post(t, reviewPath(held.string("id")), approve).is(200)
	require.Equal(t, "challenge", receipt.string("decision.decision"))
	require.Nil(t, receipt.value("decision.proof"), "no proof before both")
	require.NotContains(t, string(receipt.body), "self_reviewed")
	between := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("decision.id")).is(200)
	require.Equal(t, held.string("id"), between.string("parent"))

	allowed := w.decided(t, receipt.string("decision.challenge.id"))
	require.Equal(t, "allow", allowed.string("decision"), "response: %s", allowed.body)
	require.Equal(t, receipt.string("decision.id"), allowed.string("parent"))
	require.Equal(t, []any{"challenge_satisfied", "hold_approved"}, allowed.value("reason_codes"))
	require.Equal(t, []string{"sandbox_confirm", "review"}, amr(t, allowed.string("proof.compact")))
}

// If the challenge comes first, its follow-up decision is the hold, and the proof follows the approval.
func TestPasskeyAndReviewerAreBothNeededChallengeFirst(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", both(object{"hold_on": []string{"challenge_satisfied"}, "max_challenges": 1}))
	asked := w.authorize(t, w.subject(t), action, "challenge")
	held := w.decided(t, asked.string("challenge.id"))
	require.Equal(t, "hold", held.string("decision"), "response: %s", held.body)
	require.Nil(t, held.value("proof"), "no proof before both")
	receipt := w.reviewer(t).post(t, reviewPath(held.string("id")), approve).is(200)
	require.Equal(t, "allow", receipt.string("decision.decision"))
	require.Equal(t, []string{"sandbox_confirm", "review"}, amr(t, receipt.string("decision.proof")))
}

// A second step that is refused leaves no proof, whatever came before it.
func TestPasskeyAndReviewerLeaveNoProofWithoutTheSecondStep(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, holdFirst := w.action(t, "enforce", both(object{"hold_on": []string{"explicit_approval_required"}}))
	_, challengeFirst := w.action(t, "enforce", both(object{"hold_on": []string{"challenge_satisfied"}}))
	subject := w.subject(t)

	rejected := w.decided(t, w.authorize(t, subject, challengeFirst, "challenge").string("challenge.id"))
	w.reviewer(t).post(t, reviewPath(rejected.string("id")), object{"resolution": "reject"}).is(200)

	receipt := w.reviewer(t).post(t, reviewPath(w.authorize(t, subject, holdFirst, "hold").string("id")), approve).is(200)
	challenge := receipt.string("decision.challenge.id")
	w.Server.post(t, "/api/v1/challenges/"+challenge+"/cancel", nil).is(200)
	w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"}).problem(http.StatusConflict, "challenge_closed")
	for _, id := range []string{rejected.string("id"), receipt.string("decision.id")} {
		trace := w.Server.get(t, "/api/v1/authorizations/"+id).is(200)
		require.Nil(t, trace.value("proof"), string(trace.body))
		require.Nil(t, trace.value("child_authorization"))
	}
}

// After an approved hold a challenge that cannot be made denies: there is no second hold, which could be approved again.
func TestPasskeyAndReviewerDenyWithoutAPasskey(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", both(object{"challenge_methods": []string{"passkey"}}))
	held := w.authorize(t, w.subject(t), action, "hold")
	receipt := w.reviewer(t).post(t, reviewPath(held.string("id")), approve).is(200)
	require.Equal(t, "deny", receipt.string("decision.decision"))
	require.Equal(t, []any{"explicit_approval_required", "no_challenge_method"}, receipt.value("decision.reason_codes"))
}

// A live environment bars self-review from its creation. A sandbox permits it, and the receipt says so.
func TestSelfReviewByDefault(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	require.Equal(t, true, made.Live.Admin.get(t, environmentPath).is(200).value("bar_self_review"))
	require.Equal(t, false, made.Sandbox.Admin.get(t, environmentPath).is(200).value("bar_self_review"))

	live, sandbox := made.Live, made.Sandbox
	_, action := live.action(t, "enforce", holding)
	held := live.authorize(t, live.subject(t), action, "hold").string("id")
	live.Server.post(t, reviewPath(held), approve).problem(http.StatusForbidden, "self_review")
	require.NotContains(t, string(live.reviewer(t).post(t, reviewPath(held), approve).is(200).body), "self_reviewed")

	_, action = sandbox.action(t, "enforce", holding)
	held = sandbox.authorize(t, sandbox.subject(t), action, "hold").string("id")
	receipt := sandbox.Server.post(t, reviewPath(held), approve).is(200)
	require.Equal(t, "allow", receipt.string("decision.decision"))
	require.Equal(t, true, receipt.value("self_reviewed"))
	require.Equal(t, true, sandbox.Server.post(t, reviewPath(held), approve).is(200).value("self_reviewed"), "the stored receipt")
}
