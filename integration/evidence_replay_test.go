package integration_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Captured typing is detected when it is submitted again: under another frame id, with jitter, in another session, or for
// another person.
func TestReplayOfCapturedEvidenceIsDetected(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ada := typist("ada who is recorded")
	subject, other := r.subject(t), r.enrolled(t, typist("another recorded typist"))
	var enrolling []features.KeyEvent
	session := ""
	for range 3 {
		session = r.open(t, subject)
		for range 4 {
			enrolling = ada.Type(frameKeys)
			require.Equal(t, "accepted", r.send(t, session, "enroll", extracted(enrolling)).string("status"))
		}
		ada.NewDay()
	}
	r.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session}).is(200)

	own := r.open(t, subject)
	captured := ada.Type(frameKeys)
	first := r.send(t, own, "score", extracted(captured))
	require.Equal(t, "accepted", first.string("status"))
	require.NotContains(t, first.value("reason_codes"), "replay_near_duplicate", "new typing is no replay")
	windows := func() any {
		return r.Server.get(t, "/api/v1/sessions/"+own+"/status").is(200).value("evidence_windows")
	}
	before := windows()
	require.Equal(t, string(first.body), string(r.again(t, own, "score", extracted(captured)).body), "a retry of the same frame is no replay")
	require.Equal(t, before, windows(), "the frame counts once")
	for _, c := range []struct {
		name, session string
		frame         features.Frame
		code          string
	}{
		{"under another id", own, extracted(captured), "replay_exact"},
		{"with jitter", own, extracted(jittered(captured, 1)), "replay_near_duplicate"},
		{"in another session", r.open(t, subject), extracted(captured), "replay_other_session"},
		{"in another person's session", r.open(t, other), extracted(captured), "replay_other_session"},
		{"an enrollment frame with jitter", r.open(t, subject), extracted(jittered(enrolling, 1)), "replay_near_duplicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			again := r.send(t, c.session, "score", c.frame)
			require.Contains(t, again.value("reason_codes"), c.code, c.name)
			require.Equal(t, "detected", r.claim(t, c.session, "evidence_replay"), c.name)
		})
	}
}

// A repeated frame is detected after any number of other frames, in any session, and after the original frame is deleted. So
// is a copy with jitter. The typing itself is not reported as a replay.
func TestReplayIsDetectedAfterManyFrames(t *testing.T) {
	t.Parallel()
	for _, frames := range []int{65, 1000} {
		t.Run(fmt.Sprint(frames), func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t)
			ada := typist(fmt.Sprint("ada of many frames ", frames))
			subject, other := r.enrolled(t, ada), r.subject(t)
			session := r.open(t, subject)
			first := ada.Type(frameKeys)
			require.Equal(t, "accepted", r.send(t, session, "score", extracted(first)).string("status"))
			for range frames {
				require.Equal(t, "accepted", r.send(t, session, "score", extracted(ada.Type(frameKeys))).string("status"))
			}
			require.Equal(t, "not_detected", r.claim(t, session, "evidence_replay"), "long typing is no replay")

			copied := r.open(t, subject)
			require.Contains(t, r.send(t, copied, "score", extracted(jittered(first, 5))).value("reason_codes"), "replay_near_duplicate")
			require.Equal(t, "detected", r.claim(t, copied, "evidence_replay"))
			for round, s := range []struct{ session, code string }{
				{session, "replay_exact"}, {r.open(t, subject), "replay_other_session"}, {r.open(t, other), "replay_other_session"},
				{r.open(t, subject), "replay_other_session"},
			} {
				if round == 3 { // as the retention of frames does
					_, err := shared.Store.Pool().Exec(t.Context(), "delete from frames where session_id = $1", session)
					require.NoError(t, err)
				}
				again := r.send(t, s.session, "score", extracted(first))
				require.Equal(t, "neutral", again.string("status"))
				require.Contains(t, again.value("reason_codes"), s.code)
				require.Equal(t, "detected", r.claim(t, s.session, "evidence_replay"))
			}
		})
	}
}

// A captured recording is detected if its frames are too short to compare individually, cut at other positions, incomplete or
// jittered.
func TestReplayIsDetectedInFramesCutDifferently(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ada := typist("ada who is cut")
	subject := r.enrolled(t, ada)
	capture := func(keys int) []features.KeyEvent {
		var all []features.KeyEvent
		session := r.open(t, subject)
		for range 600 / keys {
			part := ada.Type(keys)
			require.NotContains(t, r.send(t, session, "score", extracted(part)).value("reason_codes"), "replay_near_duplicate")
			start := 0.
			if len(all) > 0 {
				start = all[len(all)-1].Release + 200 - part[0].Press
			}
			for _, k := range part {
				k.Press, k.Release = k.Press+start, k.Release+start
				all = append(all, k)
			}
		}
		require.Equal(t, "not_detected", r.claim(t, session, "evidence_replay"))
		return all
	}
	for _, c := range []struct {
		name                    string
		captured, sent, skipped int
	}{
		{"frames of 39 keys", 39, 39, 0},
		{"frames of 39 keys without the first", 39, 39, 39},
		{"frames of 50 keys cut to 39", 50, 39, 0},
		{"frames of 15 keys", 15, 15, 0},
	} {
		keys := capture(c.captured)
		for _, ms := range []float64{1, 5, 10} {
			t.Run(fmt.Sprintf("%s, %g ms", c.name, ms), func(t *testing.T) {
				session := r.open(t, subject)
				copied := jittered(keys[c.skipped:], ms)
				for at := 0; at+c.sent <= len(copied); at += c.sent {
					r.send(t, session, "score", extracted(copied[at:at+c.sent]))
				}
				require.Equal(t, "detected", r.claim(t, session, "evidence_replay"))
				require.NotContains(t, []string{"confirmed", "likely"}, r.claim(t, session, "operator_continuity"))
			})
		}
	}
}

// If one frame is sent to many sessions at once, one session accepts it.
func TestSubmitEvidenceAcceptsAFrameInOneSessionOnly(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ada := typist("ada at once")
	frame := extracted(ada.Type(frameKeys))
	const sessions = 8
	statuses := make([]string, sessions)
	var ids []string
	for range sessions {
		ids = append(ids, r.open(t, r.subject(t)))
	}
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() { statuses[i] = r.send(t, ids[i], "score", frame).string("status") })
	}
	wg.Wait()
	slices.Sort(statuses)
	require.Equal(t, append([]string{"accepted"}, slices.Repeat([]string{"neutral"}, sessions-1)...), statuses)
}

// Short frames of two people may be identical. They are not reported as replays.
func TestReplayIgnoresFramesTooShortToDistinguish(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	frame := extracted(typist("anyone").Keys([]string{"a"}))
	require.False(t, frame.Distinctive())
	for range 2 {
		session := r.open(t, r.subject(t))
		for range 2 {
			ack := r.send(t, session, "score", frame)
			require.Equal(t, "accepted", ack.string("status"))
			require.NotContains(t, ack.value("reason_codes"), "replay_exact")
		}
		require.Equal(t, "not_detected", r.claim(t, session, "evidence_replay"))
	}
}
