package integration_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// jittered is a copy of a recording whose every time is off by a millisecond or so, as a program would send it that knows
// identical copies are found out.
func jittered(keys []features.KeyEvent) []features.KeyEvent {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]features.KeyEvent, len(keys))
	for i, k := range keys {
		k.Press, k.Release = k.Press+rng.NormFloat64(), k.Release+rng.NormFloat64()
		out[i] = k
	}
	return out
}

// What somebody captured of a person's typing is worth nothing when it is sent again: not under another frame's id, not
// shifted by a millisecond a key, not in another session, not for another person.
func TestReplayOfCapturedEvidenceIsDetected(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("ada who is recorded")
	extract := func(keys []features.KeyEvent) features.Frame {
		return features.Extract(features.Raw{Keys: keys, ClockMS: 1})
	}
	subject, other := w.subject(t), w.enrolled(t, typist("somebody else who is recorded"))
	n := 0
	open := func(subject string) string {
		return w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
	}
	send := func(session, purpose string, f features.Frame) answer {
		n++
		at := time.Now().Add(-time.Hour).Add(time.Duration(n) * frameMS * time.Millisecond)
		return w.Server.post(t, "/api/v1/sessions/"+session+"/evidence", object{
			"frame_id": fmt.Sprint("frame-", n), "timestamp": float64(at.Unix()), "duration_ms": frameMS - 500, "features": f, "purpose": purpose,
		}).is(200)
	}
	var enrolling []features.KeyEvent
	session := ""
	for range 3 {
		session = open(subject)
		for range 4 {
			enrolling = ada.Type(frameKeys)
			require.Equal(t, "accepted", send(session, "enroll", extract(enrolling)).string("status"))
		}
		ada.NewDay()
	}
	w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session}).is(200)

	own := open(subject)
	captured := ada.Type(frameKeys)
	first := send(own, "score", extract(captured))
	require.Equal(t, "accepted", first.string("status"))
	require.NotContains(t, first.value("reason_codes"), "replay_near_duplicate", "typing twice is no replay")
	windows := func() any {
		return w.Server.get(t, "/api/v1/sessions/"+own+"/status").is(200).value("evidence_windows")
	}
	before := windows()
	n--
	require.Equal(t, string(first.body), string(send(own, "score", extract(captured)).body), "the very same frame, lost on the way and sent again, is no replay")
	require.Equal(t, before, windows(), "and counts once")
	for _, r := range []struct {
		name, session string
		frame         features.Frame
		code          string
	}{
		{"again under another id", own, extract(captured), "replay_exact"},
		{"again, each key a millisecond off", own, extract(jittered(captured)), "replay_near_duplicate"},
		{"in another session", open(subject), extract(captured), "replay_other_session"},
		{"in another person's session", open(other), extract(captured), "replay_other_session"},
		{"what was enrolled with, each key a millisecond off", open(subject), extract(jittered(enrolling)), "replay_near_duplicate"},
	} {
		again := send(r.session, "score", r.frame)
		require.Contains(t, again.value("reason_codes"), r.code, r.name)
		claims := w.Server.get(t, "/api/v1/sessions/"+r.session+"/assessment").is(200).value("claims")
		require.Equal(t, "detected", claim(claims, "evidence_replay"), r.name)
	}
}
