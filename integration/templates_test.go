package integration_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// A confirmed session adapts the template by its own run; going back puts the version before in force.
func TestTemplateAdaptationAndRollback(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada := typist("ada")
	subject := w.enrolled(t, ada)
	path := "/api/v1/subjects/" + subject + "/templates"
	first := w.Server.get(t, path).is(200).list()
	require.Len(t, first, 1)
	require.Equal(t, "enrollment", first[0]["origin"])
	rollback := object{"modality": "keystroke", "device_class": "desktop"}
	w.Server.post(t, path+"/rollback", rollback).problem(409, "no_earlier_template")

	session, status := "", ""
	for day := 0; day < 6 && status != "confirmed"; day++ { // not every day of a person is confirmed
		session = w.session(t, subject, "score", ada, 7)
		status = claim(w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200).value("claims"), "operator_continuity")
		ada.NewDay()
	}
	require.Equal(t, "confirmed", status)
	w.Server.post(t, "/api/v1/sessions/"+session+"/end", nil).is(200)
	eventually(t, func() bool { return len(w.Server.get(t, path).is(200).list()) == 2 }, "the run adapts the template")
	newest := w.Server.get(t, path).is(200).list()[0]
	require.Equal(t, "adaptation", newest["origin"])
	require.Equal(t, "active", newest["status"])

	back := w.Server.post(t, path+"/rollback", rollback).is(200)
	require.EqualValues(t, 1, back.value("version"))
	require.Equal(t, "active", back.string("status"))
	require.Equal(t, "retired", w.Server.get(t, path).is(200).list()[0]["status"])
	w.Server.post(t, path+"/rollback", object{"modality": "keystroke", "device_class": "desktop", "version": 2}).problem(409, "no_earlier_template")
	w.Server.get(t, "/api/v1/subjects/nobody/templates").problem(404, "not_found")
}

// Odd input through the door: every answer is an honest acknowledgement, and the profile says what weakens it.
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
	send := func(session string, f any, change object) answer {
		n++
		at = at.Add(20 * time.Second)
		body := object{"frame_id": fmt.Sprint("odd-", n), "timestamp": float64(at.Unix()), "duration_ms": 20_000, "features": f}
		for k, v := range change {
			body[k] = v
		}
		return w.Server.post(t, "/api/v1/sessions/"+session+"/evidence", body).is(200)
	}
	assess := func(session string) answer { return w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200) }
	frame := func(keys int) features.Frame { return ada.Frame(keys) }

	t.Run("never enrolled", func(t *testing.T) {
		other := w.subject(t)
		id := w.Server.post(t, "/api/v1/sessions", object{"subject": other, "device_class": "desktop"}).is(201).string("id")
		require.Equal(t, "accepted", send(id, frame(50), nil).string("status"))
		require.Equal(t, "insufficient_evidence", claim(assess(id).value("claims"), "operator_continuity"))
	})
	t.Run("another class of device", func(t *testing.T) {
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
	t.Run("nothing happened", func(t *testing.T) {
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
	t.Run("longer than it lasted", func(t *testing.T) {
		ack := send(open("desktop"), frame(50), object{"duration_ms": 1000})
		require.Equal(t, "rejected", ack.string("status"))
		require.Contains(t, ack.value("reason_codes"), "frame_contradicts_duration")
	})
	t.Run("a coarse clock", func(t *testing.T) {
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
