package integration_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The evidence of a closed session carries no decision: the person may have left.
func TestClosedSessionCarriesNoDecision(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", cautious)
	ada := typist("ada who logs out")
	subject := w.enrolled(t, ada)
	session := w.session(t, subject, "score", ada, 5)
	require.Equal(t, session, w.authorize(t, subject, action, "allow").string("assurance.session"))

	carriesNothing := func(t *testing.T, c caller, ahead time.Duration, code string) {
		t.Helper()
		asked := func(o object) object {
			return with(o, object{"requested_at": time.Now().Add(ahead).Unix()})
		}
		profile := c.get(t, "/api/v1/sessions/"+session+"/assessment").is(200)
		require.Equal(t, true, profile.value("insufficient_evidence"))
		require.Equal(t, "none", profile.string("coverage"))
		require.Nil(t, profile.value("freshness_ms"))
		require.Contains(t, claimReasons(profile.value("claims"), "operator_continuity"), any(code))

		named := c.post(t, "/api/v1/authorize", asked(pinned(subject, action, session))).is(200)
		require.Equal(t, "challenge", named.string("decision"), "response: %s", named.body)
		require.Equal(t, session, named.string("assurance.session"), "the response names the pinned session")
		require.Contains(t, named.strings("reason_codes"), "insufficient_evidence")
		require.Contains(t, claimReasons(named.value("assurance.claims"), "operator_continuity"), any(code))
		require.Nil(t, named.value("proof"))

		latest := c.post(t, "/api/v1/authorize", asked(request(subject, action))).is(200)
		require.Equal(t, "challenge", latest.string("decision"), "no earlier session is used instead: %s", latest.body)
		require.Equal(t, session, latest.string("assurance.session"))
	}

	t.Run("expired", func(t *testing.T) {
		carriesNothing(t, w.Server.at(replicaAhead(t, 31*time.Minute)), 31*time.Minute, "session_expired")
	})
	t.Run("ended", func(t *testing.T) {
		w.Server.post(t, "/api/v1/sessions/"+session+"/end", nil).is(200)
		carriesNothing(t, w.Server, 0, "session_ended")
		trust := w.Server.get(t, "/v2/trust/"+session).is(200)
		require.Equal(t, "ENDED", trust.string("state"))
		require.Contains(t, trust.strings("reason_codes"), "session_ended")
		require.EqualValues(t, .5, trust.value("score"), "nothing is known about the current user")
	})
	t.Run("a policy may deny on it", func(t *testing.T) {
		_, strict := w.action(t, "enforce", with(cautious, object{"deny_on": []string{"session_ended"}}))
		denied := w.Server.post(t, "/api/v1/authorize", pinned(subject, strict, session)).is(200)
		require.Equal(t, "deny", denied.string("decision"), "response: %s", denied.body)
	})
	t.Run("a later session is used", func(t *testing.T) {
		next := w.session(t, subject, "score", ada, 5)
		require.Equal(t, next, w.authorize(t, subject, action, "allow").string("assurance.session"))
	})
}

// A follow-up decision uses the session that the request named, even if there are newer ones.
func TestFollowUpDecisionUsesThePinnedSession(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(cautious, object{
		"explicit_approval_required": true, "challenge_compensates": []string{}, "hold_on": []string{"continuity_mismatch", "continuity_recent_mismatch", "challenge_satisfied"},
	}))
	ada := typist("ada whose session is named")
	subject := w.enrolled(t, ada)
	own := w.session(t, subject, "score", ada, 5)
	asked := w.Server.post(t, "/api/v1/authorize", pinned(subject, action, own)).is(200)
	require.Equal(t, "challenge", asked.string("decision"), "response: %s", asked.body)
	loose := w.authorize(t, subject, action, "challenge")
	newest := w.session(t, subject, "score", ada, 5)

	follow := func(challenge string) response {
		id := w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"}).is(200).string("authorization")
		return w.Server.get(t, "/api/v1/authorizations/"+id).is(200)
	}
	held := follow(asked.string("challenge.id"))
	require.Equal(t, "hold", held.string("decision"), "response: %s", held.body)
	require.Equal(t, own, held.string("assurance.session"), "after the challenge")
	allowed := w.Server.post(t, "/api/v1/authorizations/"+held.string("id")+"/review", object{"resolution": "approve"}).is(200)
	require.Equal(t, own, allowed.string("decision.assurance.session"), "after the hold that followed the challenge")
	require.Equal(t, newest, follow(loose.string("challenge.id")).string("assurance.session"), "without a pin the latest session is used")
}

// A hold that is approved after the session ended rests on the review alone.
func TestFollowUpDecisionIgnoresAnEndedSession(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", with(cautious, object{"hold_on": []string{"continuity_match", "continuity_weak_match"}}))
	ada := typist("ada who leaves before the review")
	subject := w.enrolled(t, ada)
	own := w.session(t, subject, "score", ada, 5)
	held := w.Server.post(t, "/api/v1/authorize", pinned(subject, action, own)).is(200)
	require.Equal(t, "hold", held.string("decision"), "response: %s", held.body)
	w.Server.post(t, "/api/v1/sessions/"+own+"/end", nil).is(200)
	w.session(t, subject, "score", ada, 5)

	decision := w.Server.post(t, "/api/v1/authorizations/"+held.string("id")+"/review", object{"resolution": "approve"}).is(200)
	require.Equal(t, "allow", decision.string("decision.decision"))
	require.Equal(t, own, decision.string("decision.assurance.session"))
	require.Equal(t, true, decision.value("decision.assurance.insufficient_evidence"))
	require.True(t, slices.Contains(claimReasons(decision.value("decision.assurance.claims"), "operator_continuity"), any("session_ended")))
}
