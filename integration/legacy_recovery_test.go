package integration_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// The legacy operations do not bypass a recovery: it resets what /enrol learned, nothing is learned before it is ready, and /auth
// accepts no one while claims are capped.
func TestLegacyOperationsObeyRecovery(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	user, ada, eve := "user-"+unique(), typist("ada of the old way"), typist("eve of the old way")
	for range 8 {
		w.Server.post(t, "/enrol", withConsent(phraseTimings(user, eve))).is(200)
	}
	session := w.startLegacy(t, user)
	w.Server.post(t, "/api/v1/subjects/"+user+"/recovery", object{"anchor": "none"}).is(201)

	w.Server.post(t, "/enrol", withConsent(phraseTimings(user, eve))).problem(409, "recovery_not_ready")
	cooling := w.Server.post(t, "/auth", phraseTimings(user, eve)).is(200)
	require.Equal(t, "challenge", cooling.string("decision"))
	require.Equal(t, false, cooling.value("ok"))
	require.Equal(t, []string{"recovery_cooling_down"}, cooling.strings("reason_codes"))
	trust := w.Server.get(t, "/v2/trust/"+session).is(200)
	require.Equal(t, "ENDED", trust.string("state"))
	require.Contains(t, trust.strings("reason_codes"), "recovery_cooling_down")
	w.Server.post(t, "/v2/ingest", object{"session_id": session, "frames": legacyFrames(eve, "enroll", 1)}).problem(409, "session_closed")

	ready := w.Server.at(replicaAhead(t, 2*time.Minute))
	ready.post(t, "/auth", phraseTimings(user, eve)).problem(404, "not_found")
	for range 8 {
		ready.post(t, "/enrol", withConsent(phraseTimings(user, ada))).is(200)
	}
	over := w.Server.at(replicaAhead(t, 15*time.Minute))
	matched, accepted := 0, 0
	for range 10 {
		capped := ready.post(t, "/auth", phraseTimings(user, ada)).is(200)
		require.NotEqual(t, "accept", capped.string("decision"))
		require.Equal(t, false, capped.value("ok"))
		if slices.Equal(capped.strings("reason_codes"), []string{"match:timing", "recovery_cap"}) {
			require.Equal(t, "challenge", capped.string("decision"))
			matched++
		}
		if over.post(t, "/auth", phraseTimings(user, ada)).is(200).string("decision") == "accept" {
			accepted++
		}
	}
	require.Positive(t, matched, "a match is challenged while claims are capped")
	require.Positive(t, accepted, "a match is accepted after the cap ends")
}

func TestLegacyTrustObeysRecoveryCap(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("ada of the capped sessions")
	user := w.enrolledByLegacy(t, ada)
	session := w.startLegacy(t, user)
	require.Equal(t, "STABLE", w.ingestLegacy(t, session, legacyFrames(ada, "score", 10)))
	_, err := shared.Core.Store.Pool().Exec(t.Context(), `update subjects set claim_cap_until = now() + interval '1 hour'
		where environment_id = $1 and external_id = $2`, w.ID, user)
	require.NoError(t, err)
	testenv.Attest(t, shared.Core.Store, w.scope())
	trust := w.Server.get(t, "/v2/trust/"+session).is(200)
	require.Equal(t, "WATCH", trust.string("state"))
	require.LessOrEqual(t, trust.value("score"), 0.5)
	require.Contains(t, trust.strings("reason_codes"), "recovery_cap")
	second := w.startLegacy(t, user)
	require.Equal(t, "WATCH", w.ingestLegacy(t, second, legacyFrames(ada, "score", 10)), "evidence is acknowledged while claims are capped")
}

func TestLegacyOperationsObeyRevocation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("ada before she was revoked")
	user := w.enrolledByLegacy(t, ada)
	for range 8 {
		w.Server.post(t, "/enrol", withConsent(phraseTimings(user, ada))).is(200)
	}
	session := w.startLegacy(t, user)
	require.Equal(t, "STABLE", w.ingestLegacy(t, session, legacyFrames(ada, "score", 10)))
	w.Server.post(t, "/api/v1/subjects/"+user+"/revoke", nil).is(200)
	trust := w.Server.get(t, "/v2/trust/"+session).is(200)
	require.Equal(t, "ENDED", trust.string("state"))
	require.InDelta(t, 0, trust.value("score"), 0)
	require.Equal(t, []string{"subject_revoked"}, trust.strings("reason_codes"))
	auth := w.Server.post(t, "/auth", phraseTimings(user, ada)).is(200)
	require.Equal(t, "reject", auth.string("decision"))
	w.Server.post(t, "/enrol", withConsent(phraseTimings(user, ada))).problem(409, "subject_revoked")
	w.Server.post(t, "/v2/sessions/start", object{"user_id": user, "device_id": "laptop-1"}).problem(409, "subject_revoked")
}
