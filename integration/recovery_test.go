package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recover begins a recovery and returns its path.
func (w world) recover(t *testing.T, subject string) string {
	t.Helper()
	path := "/api/v1/subjects/" + subject + "/recovery"
	w.Server.post(t, path, object{"anchor": "customer_session", "anchor_evidence_ref": "case-4711"}).is(201)
	return path
}

func TestRecoveryRevokesOpenProofs(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	proofID := w.authorize(t, subject, action, "allow").string("proof_id")
	path := "/api/v1/subjects/" + subject + "/recovery"
	w.Server.get(t, path).problem(404, "not_found")
	w.Server.post(t, path, object{"anchor": "passkey", "anchor_evidence_ref": "12345678"}).problem(409, "anchor_unavailable")
	require.Equal(t, []string{`["body","anchor_evidence_ref"] missing_for_anchor`}, w.Server.post(t, path, object{"anchor": "idp"}).faults())
	begun := w.Server.post(t, path, object{"anchor": "none"})
	require.Contains(t, []int{201, 202}, begun.status, "response: %s", begun.body)
	require.Equal(t, "pending", begun.string("status"))
	w.Server.post(t, path, object{"anchor": "none"}).problem(409, "recovery_in_progress")
	require.Equal(t, begun.string("id"), w.Server.get(t, path).is(200).string("id"))
	require.Equal(t, "revoked", w.Server.get(t, "/api/v1/proofs/"+proofID+"/status").is(200).string("status"))
	session := w.session(t, subject, "enroll", typist("recovering"), 1)
	w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session}).problem(409, "recovery_not_ready")
}

// The attacker who made a recovery necessary may have a token and an open session. The recovery ends both, and evidence from
// before it is ready is never used for enrollment.
func TestRecoveryEndsTokensAndSessions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada, eve := typist("ada recovers"), typist("eve stays")
	subject := w.enrolled(t, ada)
	held := w.open(t, subject)
	page := w.page(t, subject, nil)
	page.sendFrame(t, held, "score", eve, 0).is(200)

	path := w.recover(t, subject)
	require.Equal(t, "ended", w.Server.get(t, "/api/v1/sessions/"+held).is(200).string("status"))
	w.Server.post(t, "/api/v1/sessions/"+held+"/evidence", evidence(eve, "enroll", time.Now().Add(-time.Minute), 1)).problem(409, "session_closed")
	eventually(t, func() bool {
		a, err := page.send("POST", "/api/v1/sessions/"+held+"/evidence", evidence(eve, "enroll", time.Now().Add(-time.Minute), 1))
		return err == nil && a.status == 401
	}, "the token is invalid")

	cooling := w.open(t, subject)
	early := w.page(t, subject, object{"purposes": []string{"enroll"}})
	for n := range 5 {
		ack := early.sendFrame(t, cooling, "enroll", eve, n).is(200)
		require.Contains(t, ack.strings("reason_codes"), "recovery_cooling_down")
		require.Equal(t, false, ack.value("enrollment_ready"))
	}
	require.Zero(t, count(t, "select count(*) from frames where session_id = $1 and vector is not null", cooling))
	eventually(t, func() bool { return w.Server.get(t, path).is(200).string("status") == "ready" }, "the cool-down period ends")

	failed := w.complete(t, subject, cooling)
	require.Equal(t, "failed", failed.string("status"), "earlier evidence is not used")
	require.InDelta(t, 0, failed.value("windows_accepted"), 0)
	var last string
	for range 3 {
		last = w.enrollmentSession(t, early, subject, ada)
	}
	done := w.complete(t, subject, last)
	require.Equal(t, "completed", done.string("status"), "response: %s", done.body)
	require.InDelta(t, 12, done.value("windows_accepted"), 0)
	require.Empty(t, done.value("refused_sessions"))
	require.Equal(t, "completed", w.Server.get(t, path).is(200).string("status"))
}

func TestRevocationEndsTokensAndSessions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada revoked")
	session := w.open(t, subject)
	page := w.page(t, subject, nil)
	page.sendFrame(t, session, "score", ada, 0).is(200)
	w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(200)
	require.Equal(t, "ended", w.Server.get(t, "/api/v1/sessions/"+session).is(200).string("status"))
	eventually(t, func() bool {
		a, err := page.send("POST", "/api/v1/sessions/"+session+"/evidence", evidence(ada, "score", time.Now(), 1))
		return err == nil && a.status == 401
	}, "the token is invalid")
}
