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
	require.Equal(t, "insufficient_evidence", claim(profile.value("claims"), "operator_continuity"), "nobody is enrolled")
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
	require.Empty(t, w.Server.get(t, "/api/v1/sessions?subject=nobody").is(200).list())
}

func TestSessionExpiresWhenIdle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	replica := w.Server.at(later(t, 30*time.Minute))
	require.Equal(t, "expired", replica.get(t, "/api/v1/sessions/"+id).is(200).string("status"))
	replica.post(t, "/api/v1/sessions/"+id+"/evidence", evidence(typist("late"), "score", time.Now(), 0)).problem(409, "session_closed")
	require.Equal(t, "active", w.Server.get(t, "/api/v1/sessions/"+id).is(200).string("status"))
}

func TestSessionRequiresAnActiveSubject(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/sessions", object{"subject": "nobody"}).problem(404, "not_found")
	w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", nil).is(200)
	w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).problem(409, "subject_revoked")
	w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example.com"}).problem(409, "subject_revoked")
	w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": "ses_x"}).problem(409, "subject_revoked")
}

// A frame that could carry content is acknowledged as rejected, and nothing of it is kept.
func TestSubmitEvidenceRejectsContent(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id := w.Server.post(t, "/api/v1/sessions", object{"subject": w.subject(t)}).is(201).string("id")
	for name, features := range map[string]object{
		"text":      {"schema": "cs-features-1", "typed": "hunter2"},
		"no schema": {},
		"another":   {"schema": "cs-features-99"},
	} {
		a := w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", object{
			"frame_id": "f-" + name, "timestamp": now(), "duration_ms": 1000, "features": features,
		}).is(200)
		require.Equal(t, "rejected", a.string("status"), name)
		require.NotEmpty(t, a.strings("reason_codes"), name)
		require.Equal(t, "none", a.string("coverage"), name)
	}
	require.Zero(t, count(t, "select count(*) from frames where session_id = $1 and vector is not null", id))
}

func TestSubmitEvidenceDefaultsToScoring(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	frame := evidence(typist("plain"), "score", time.Now().Add(-time.Minute), 0)
	delete(frame, "purpose")
	w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", frame).is(200)
	require.Equal(t, "none", w.Server.get(t, "/api/v1/subjects/"+subject).is(200).string("enrollment"))
	require.Equal(t, 1, count(t, "select count(*) from frames where session_id = $1 and purpose = 'score'", id))
}

func TestClientTokenSubmitsOnlyItsSubjectsEvidence(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	const origin = "https://app.example.com"
	mine, other := w.subject(t), w.subject(t)
	made := w.Server.post(t, "/api/v1/client-tokens", object{"subject": mine, "origin": origin}).is(201)
	require.InDelta(t, 900, made.value("ttl_seconds"), 0)
	require.InDelta(t, time.Now().Unix()+900, made.value("expires_at"), 60)
	page := caller{base: shared.baseURL, key: made.string("client_token")}.with("Origin", origin)

	own := w.Server.post(t, "/api/v1/sessions", object{"subject": mine}).is(201).string("id")
	foreign := w.Server.post(t, "/api/v1/sessions", object{"subject": other}).is(201).string("id")
	frame := evidence(typist("page"), "score", time.Now().Add(-time.Minute), 0)
	page.post(t, "/api/v1/sessions/"+own+"/evidence", frame).is(200)
	page.post(t, "/api/v1/sessions/"+foreign+"/evidence", frame).problem(404, "not_found")
	page.with("Origin", "https://evil.example.com").post(t, "/api/v1/sessions/"+own+"/evidence", frame).problem(403, "origin_not_allowed")
	page.with("Origin", "").post(t, "/api/v1/sessions/"+own+"/evidence", frame).problem(403, "origin_not_allowed")
	for _, op := range operations() {
		if op.ID == "submitEvidence" || op.ID == "streamEvents" || op.Scope == "none" {
			continue
		}
		page.do(t, op.Method, concrete(op), nil).problem(403, "insufficient_scope")
	}
	expired := page.at(later(t, 901*time.Second))
	expired.post(t, "/api/v1/sessions/"+own+"/evidence", frame).problem(401, "unauthenticated")
	w.Server.post(t, "/api/v1/subjects/"+mine+"/revoke", nil).is(200)
	eventually(t, func() bool {
		a, err := page.send("POST", "/api/v1/sessions/"+own+"/evidence", frame)
		return err == nil && a.status == 401
	}, "the tokens of a revoked subject are void")
}
