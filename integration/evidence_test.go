package integration_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// A frame that may contain typed text is rejected, and nothing of it is stored.
func TestSubmitEvidenceRejectsContent(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id := w.Server.post(t, "/api/v1/sessions", object{"subject": w.subject(t)}).is(201).string("id")
	for name, features := range map[string]object{
		"text":      {"schema": "cs-features-2", "typed": "hunter2"},
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

// Unusual evidence is acknowledged with its status, and the profile lists its limitations.
func TestSubmitEvidenceReportsUnusualEvidence(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("odd")
	subject := w.enrolled(t, ada)
	open := func(device string) string {
		return w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": device}).is(201).string("id")
	}
	at := time.Now().Add(-20 * time.Minute)
	n := 0
	send := func(session string, f any, change object) response {
		n++
		at = at.Add(20 * time.Second)
		body := object{"frame_id": fmt.Sprint("odd-", n), "timestamp": float64(at.Unix()), "duration_ms": 20_000, "features": f}
		for k, v := range change {
			body[k] = v
		}
		return w.Server.post(t, "/api/v1/sessions/"+session+"/evidence", body).is(200)
	}
	assess := func(session string) response {
		return w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200)
	}
	frame := func(keys int) features.Frame { return ada.Frame(keys) }

	t.Run("never enrolled", func(t *testing.T) {
		other := w.subject(t)
		id := w.Server.post(t, "/api/v1/sessions", object{"subject": other, "device_class": "desktop"}).is(201).string("id")
		require.Equal(t, "accepted", send(id, frame(50), nil).string("status"))
		require.Equal(t, "insufficient_evidence", claim(assess(id).value("claims"), "operator_continuity"))
	})
	t.Run("another device class", func(t *testing.T) {
		id := open("mobile")
		for range 4 {
			send(id, frame(50), nil)
		}
		require.Equal(t, "insufficient_evidence", claim(assess(id).value("claims"), "operator_continuity"))
		require.Contains(t, string(assess(id).body), "no_template_for_device")
	})
	t.Run("one short frame", func(t *testing.T) {
		id := open("desktop")
		require.Equal(t, "none", send(id, frame(8), nil).string("coverage"))
		require.Equal(t, true, assess(id).value("insufficient_evidence"))
	})
	t.Run("empty frame", func(t *testing.T) {
		ack := send(open("desktop"), object{"schema": features.SchemaVersion}, nil)
		require.Equal(t, "neutral", ack.string("status"))
		require.Contains(t, ack.value("reason_codes"), "features_empty")
	})
	t.Run("raw content", func(t *testing.T) {
		ack := send(open("desktop"), object{"schema": features.SchemaVersion, "keystroke": object{"events": 3, "active_ms": 900, "keys": []string{"s", "e", "c"}}}, nil)
		require.Equal(t, "rejected", ack.string("status"))
		require.Contains(t, ack.value("reason_codes"), "features_raw_content")
	})
	t.Run("the same frame twice", func(t *testing.T) {
		id, f := open("desktop"), frame(50)
		send(id, f, nil)
		again := send(id, f, nil)
		require.Equal(t, "neutral", again.string("status"))
		require.Contains(t, again.value("reason_codes"), "replay_exact")
		require.Equal(t, "detected", claim(assess(id).value("claims"), "evidence_replay"))
	})
	t.Run("longer than its duration", func(t *testing.T) {
		ack := send(open("desktop"), frame(50), object{"duration_ms": 1000})
		require.Equal(t, "rejected", ack.string("status"))
		require.Contains(t, ack.value("reason_codes"), "frame_contradicts_duration")
	})
	t.Run("coarse clock", func(t *testing.T) {
		id := open("desktop")
		for range 4 {
			keys := ada.Type(50)
			for i := range keys {
				keys[i].Press, keys[i].Release = math.Floor(keys[i].Press/100)*100, math.Floor(keys[i].Release/100)*100
			}
			send(id, features.Extract(features.Raw{Keys: keys, ClockMS: 100}), nil)
		}
		require.NotEqual(t, "confirmed", claim(assess(id).value("claims"), "operator_continuity"))
		require.Contains(t, assess(id).value("limitations"), "clock_coarse")
	})
	t.Run("out of order", func(t *testing.T) {
		id := open("desktop")
		send(id, frame(50), nil)
		late := send(id, frame(50), object{"timestamp": float64(at.Add(-5 * time.Minute).Unix())})
		require.Contains(t, late.value("reason_codes"), "frames_out_of_order")
		require.Contains(t, assess(id).value("limitations"), "frames_out_of_order")
	})
}

// A frame with a future timestamp is reported and does not put later frames out of order. A frame that ends before it begins is
// rejected.
func TestSubmitEvidenceReportsInconsistentTimestamps(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ada := typist("ada ahead of her time")
	subject := r.enrolled(t, ada)
	day := float64(24 * 60 * 60)
	now := float64(time.Now().Unix())
	for _, c := range []struct {
		name, status, code  string
		timestamp           float64
		windowStart, wndEnd any
	}{
		{"dated a day ahead", "accepted", "clock_inconsistent", now + day, nil, nil},
		{"dated a day ahead, its window now", "accepted", "clock_inconsistent", now + day, now - 20, now},
		{"its window a day ahead", "accepted", "clock_inconsistent", now, now + day - 20, now + day},
		{"its window ends before it begins", "rejected", "features_contradictory", now, now, now - 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			session := r.open(t, subject)
			send := func(id string, at float64, change object) response {
				body := object{"frame_id": id, "timestamp": at, "duration_ms": 60_000, "features": ada.Frame(frameKeys)}
				for k, v := range change {
					body[k] = v
				}
				return r.Server.post(t, "/api/v1/sessions/"+session+"/evidence", body).is(200)
			}
			odd := send("odd", c.timestamp, object{"window_start": c.windowStart, "window_end": c.wndEnd})
			require.Equal(t, c.status, odd.string("status"))
			require.Contains(t, odd.value("reason_codes"), c.code)
			for i := range 3 {
				later := send(fmt.Sprint("later-", i), now+float64(20*i), nil)
				require.Equal(t, "accepted", later.string("status"))
				require.NotContains(t, later.value("reason_codes"), "frames_out_of_order")
			}
		})
	}
}
