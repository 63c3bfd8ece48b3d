package integration_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A recovery in sandbox ends after a day. From then on it does not block the next one, although its timer has not fired.
func TestRecoveryPastItsEndDoesNotBlockTheNext(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	path := w.recover(t, subject)
	first := w.Server.get(t, path).is(200).string("id")
	body := object{"anchor": "none"}
	w.Server.at(replicaAhead(t, 24*time.Hour-time.Minute)).post(t, path, body).problem(409, "recovery_in_progress")
	later := w.Server.at(replicaAhead(t, 24*time.Hour+time.Minute))
	ended := later.get(t, path).is(200)
	require.Equal(t, []string{first, "expired"}, []string{ended.string("id"), ended.string("status")})
	second := later.post(t, path, body).is(201).string("id")
	require.NotEqual(t, first, second)
	later.post(t, path, body).problem(409, "recovery_in_progress")
	require.Equal(t, 1, count(t, "select count(*) from recoveries where id = $1 and status = 'expired'", first))
	require.Equal(t, 1, count(t, "select count(*) from events where type = 'recovery.expired' and data->>'recovery' = $1", first))
}

// An impostor who waits until an unanchored recovery has expired, and enrolls then, is capped like one who completes it.
func TestEnrollmentAfterAnExpiredRecoveryIsCapped(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	user, ada := "user-"+unique(), typist("ada after the end")
	w.Server.post(t, "/enrol", withConsent(phraseTimings(user, ada))).is(200)
	path := "/api/v1/subjects/" + user + "/recovery"
	w.Server.post(t, path, object{"anchor": "none"}).is(201)

	expired := w.Server.at(replicaAhead(t, 25*time.Hour))
	for range 8 {
		expired.post(t, "/enrol", withConsent(phraseTimings(user, ada))).is(200)
	}
	require.Equal(t, "expired", expired.get(t, path).is(200).string("status"))
	over := w.Server.at(replicaAhead(t, 25*time.Hour+15*time.Minute))
	matched, accepted := 0, 0
	for range 10 {
		capped := expired.post(t, "/auth", phraseTimings(user, ada)).is(200)
		require.NotEqual(t, "accept", capped.string("decision"))
		if slices.Contains(capped.strings("reason_codes"), "recovery_cap") {
			matched++
		}
		if over.post(t, "/auth", phraseTimings(user, ada)).is(200).string("decision") == "accept" {
			accepted++
		}
	}
	require.Positive(t, matched, "a match is challenged while claims are capped")
	require.Positive(t, accepted, "a match is accepted after the cap ends")
}
