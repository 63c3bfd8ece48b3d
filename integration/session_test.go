package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSessionLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada in a session")
	made := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201)
	id := made.string("id")
	require.Equal(t, "active", made.string("status"))
	require.Equal(t, "unknown", made.string("device_class"))
	require.Nil(t, made.value("last_evidence_at"))

	start := time.Now().Add(-time.Minute)
	first := evidence(ada, "score", start, 0)
	ack := w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", first).is(200)
	require.Equal(t, "accepted", ack.string("status"))
	require.Contains(t, ack.strings("modalities_present"), "keystroke")
	require.InDelta(t, 1, ack.value("evidence_windows"), 0)
	require.Equal(t, false, ack.value("enrollment_ready"))

	again := w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", first).is(200)
	require.JSONEq(t, string(ack.body), string(again.body), "a frame counts once")

	status := w.Server.get(t, "/api/v1/sessions/"+id+"/status").is(200)
	require.InDelta(t, 1, status.value("evidence_windows"), 0)
	require.Greater(t, status.value("active_seconds"), 0.0)
	profile := w.Server.get(t, "/api/v1/sessions/"+id+"/assessment").is(200)
	require.Equal(t, id, profile.string("session"))
	require.Equal(t, subject, profile.string("subject"))
	require.Equal(t, "insufficient_evidence", claim(profile.value("claims"), "operator_continuity"), "the subject is not enrolled")
	require.Equal(t, "unsupported", claim(profile.value("claims"), "agent_mandate"))

	ended := w.Server.post(t, "/api/v1/sessions/"+id+"/end", nil).is(200)
	require.Equal(t, "ended", ended.string("status"))
	require.NotEmpty(t, ended.string("ended_at"))
	require.Equal(t, ended.string("ended_at"), w.Server.post(t, "/api/v1/sessions/"+id+"/end", nil).is(200).string("ended_at"))
	w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", evidence(ada, "score", start, 1)).problem(409, "session_closed")

	other := w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "mobile"}).is(201).string("id")
	listed := w.Server.get(t, "/api/v1/sessions?subject="+subject).is(200).list()
	require.Len(t, listed, 2)
	require.Equal(t, other, listed[0]["id"], "newest first")
	require.Len(t, w.Server.get(t, "/api/v1/sessions?subject="+subject+"&status=active").is(200).list(), 1)
	require.Empty(t, w.Server.get(t, "/api/v1/sessions?subject=unknown").is(200).list())
}

func TestSessionExpiresWhenIdle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	replica := w.Server.at(replicaAhead(t, 30*time.Minute))
	require.Equal(t, "expired", replica.get(t, "/api/v1/sessions/"+id).is(200).string("status"))
	replica.post(t, "/api/v1/sessions/"+id+"/evidence", evidence(typist("late"), "score", time.Now(), 0)).problem(409, "session_closed")
	require.Equal(t, "active", w.Server.get(t, "/api/v1/sessions/"+id).is(200).string("status"))
}

func TestSessionRequiresAnActiveSubject(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/sessions", object{"subject": "unknown-subject"}).problem(404, "not_found")
	w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(200)
	w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).problem(409, "subject_revoked")
	w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example.com"}).problem(409, "subject_revoked")
	w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": "ses_x"}).problem(409, "subject_revoked")
}
