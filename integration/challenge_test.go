package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
	require.JSONEq(t, string(receipt.body), string(again.body), "a repeated completion returns the same receipt")
	w.Server.post(t, "/api/v1/challenges/"+id+"/cancel", nil).problem(409, "challenge_closed")

	child := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200)
	require.Equal(t, "allow", child.string("decision"))
	require.Equal(t, asked.string("id"), child.string("parent"))
	require.Equal(t, "active", child.string("proof.status"))
	require.NotEmpty(t, child.string("proof.compact"))
	parent := w.Server.get(t, "/api/v1/authorizations/"+asked.string("id")).is(200)
	require.Equal(t, "challenge", parent.string("decision"), "the decision of the parent is unchanged")
	require.Equal(t, "completed", parent.string("challenge.status"))
	require.Equal(t, "sandbox", parent.string("challenge.strength"))
}

func TestChallengeCancellation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	id := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
	for range 2 { // a retry returns the same
		require.Equal(t, "cancelled", w.Server.post(t, "/api/v1/challenges/"+id+"/cancel", nil).is(200).string("status"))
	}
	w.Server.post(t, "/api/v1/challenges/"+id+"/complete", object{"method": "sandbox_confirm"}).problem(409, "challenge_closed")
	require.Equal(t, "cancelled", w.Server.get(t, "/api/v1/challenges/"+id).is(200).string("status"))
}

func TestChallengeExpires(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	// 30 seconds is the shortest TTL of a challenge.
	w.exec(t, "update environments set challenge_ttl_seconds = 30 where id = $1", w.ID)
	_, action := w.action(t, "enforce", challenging)
	id := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")

	// A replica whose clock is past the deadline reports expired before the timer fires.
	replica := w.Server.at(replicaAhead(t, 31*time.Second))
	require.Equal(t, "expired", replica.get(t, "/api/v1/challenges/"+id).is(200).string("status"))
	require.Equal(t, "open", w.Server.get(t, "/api/v1/challenges/"+id).is(200).string("status"))

	// The workflow's timer expires the record.
	eventually(t, func() bool {
		var status string
		err := shared.Store.Pool().QueryRow(t.Context(), "select status from challenges where id = $1", id).Scan(&status)
		return err == nil && status == "expired"
	}, "the timer expires the challenge")
	w.Server.post(t, "/api/v1/challenges/"+id+"/complete", object{"method": "sandbox_confirm"}).problem(409, "challenge_expired")
}

func TestChallengeLinkIsCreated(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	challenge := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
	require.NotEmpty(t, w.Server.post(t, "/api/v1/challenges/"+challenge+"/link", nil).is(201).string("url"))
	_, onlyPasskeys := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
	w.authorize(t, w.subject(t), onlyPasskeys, "hold")
}

func TestSandboxConfirmIsRefusedInLive(t *testing.T) {
	t.Parallel()
	live := newTenant(t).Live
	id := live.Server.post(t, "/api/v1/actions", object{"key": "pay.live", "name": "n", "consequence": "c", "allowed_audiences": []string{"a"}}).is(201).string("id")
	policies := "/api/v1/actions/" + id + "/policy-versions"
	for _, methods := range [][]string{{"sandbox_confirm"}, {"passkey", "sandbox_confirm"}} {
		a := live.Server.post(t, policies, object{"requirements": object{"challenge_methods": methods}})
		require.Contains(t, strings.Join(a.faults(), " "), "method_not_available")
	}

	// A challenge cannot be completed by a method that it does not offer.
	live.Server.post(t, policies, object{"requirements": object{"coverage_min": "partial", "insufficient_evidence": "challenge"}}).is(201)
	live.Server.post(t, policies+"/1/activate", nil).is(200)
	live.Server.patch(t, "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200)
	subject := live.subject(t)
	live.device(t, subject)
	body := request(subject, "pay.live")
	body["audience"] = "a"
	asked := live.Server.post(t, "/api/v1/authorize", body).is(200)
	require.Equal(t, "challenge", asked.string("decision"))
	require.Equal(t, []string{"passkey"}, asked.strings("challenge.methods"))
	forced := live.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"})
	forced.problem(403, "sandbox_only")
	require.Equal(t, "open", live.Server.get(t, "/api/v1/challenges/"+asked.string("challenge.id")).is(200).string("status"))
}
