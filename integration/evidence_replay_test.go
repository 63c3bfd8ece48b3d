package integration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// recorder sends frames of one environment, each with an id and a time of its own, and keeps what it captured.
type recorder struct {
	world
	mu sync.Mutex
	n  int
	at time.Time
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	return &recorder{world: newSandbox(t), at: time.Now().Add(-24 * time.Hour)}
}

func (r *recorder) open(t testing.TB, subject string) string {
	t.Helper()
	return r.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
}

func (r *recorder) send(t testing.TB, session, purpose string, f features.Frame) answer {
	t.Helper()
	r.mu.Lock()
	r.n++
	n := r.n
	r.mu.Unlock()
	return r.Server.post(t, "/api/v1/sessions/"+session+"/evidence", object{
		"frame_id": fmt.Sprint("frame-", n), "timestamp": float64(r.at.Add(time.Duration(n) * time.Minute).Unix()),
		"duration_ms": 59_000, "features": f, "purpose": purpose,
	}).is(200)
}

func (r *recorder) claim(t testing.TB, session, name string) string {
	t.Helper()
	return claim(r.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200).value("claims"), name)
}

func extracted(keys []features.KeyEvent) features.Frame {
	return features.Extract(features.Raw{Keys: keys, ClockMS: 1})
}

// off is a copy of a recording in which every press and release is off by some milliseconds.
func off(keys []features.KeyEvent, ms float64) []features.KeyEvent {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([]features.KeyEvent, len(keys))
	for i, k := range keys {
		k.Press, k.Release = k.Press+ms*rng.NormFloat64(), k.Release+ms*rng.NormFloat64()
		k.Release = max(k.Release, k.Press+1)
		out[i] = k
	}
	slices.SortStableFunc(out, func(a, b features.KeyEvent) int { return int(a.Press*1000) - int(b.Press*1000) })
	return out
}

// A frame is known again however many frames came after it, in whichever session it comes, and after the frame itself is no
// longer kept. So is its copy with jitter. The person who typed all that is not taken for a replay.
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
			require.Equal(t, "not_detected", r.claim(t, session, "evidence_replay"), "typing much is no replay")

			jittered := r.open(t, subject)
			require.Contains(t, r.send(t, jittered, "score", extracted(off(first, 5))).value("reason_codes"), "replay_near_duplicate")
			require.Equal(t, "detected", r.claim(t, jittered, "evidence_replay"))
			for round, s := range []struct{ session, code string }{
				{session, "replay_exact"}, {r.open(t, subject), "replay_other_session"}, {r.open(t, other), "replay_other_session"},
				{r.open(t, subject), "replay_other_session"},
			} {
				if round == 3 { // what the retention of frames does
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

// A capture is known again when it is cut to frames too short to be compared by themselves, cut elsewhere than it was
// captured, with frames left out, and with jitter.
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
				copied := off(keys[c.skipped:], ms)
				for at := 0; at+c.sent <= len(copied); at += c.sent {
					r.send(t, session, "score", extracted(copied[at:at+c.sent]))
				}
				require.Equal(t, "detected", r.claim(t, session, "evidence_replay"))
				require.NotContains(t, []string{"confirmed", "likely"}, r.claim(t, session, "operator_continuity"))
			})
		}
	}
}

// Of many sessions that are sent one frame at once, one takes it.
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

// Two people's frames of a few keys may be the same. Neither is taken for a replay.
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

// A frame dated ahead says so and puts no later frame out of order; one that ends before it begins is refused.
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
			send := func(id string, at float64, change object) answer {
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

// Whether an enrollment is ready is counted as it ever was, from what was stored with each frame and not from the frames:
// over sessions, after a completed enrollment, and with frames that an earlier release stored.
func TestEnrollmentReadyMatchesStoredFrames(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ada := typist("ada who is counted")
	subject := r.subject(t)
	scope := store.Scope{Tenant: r.TenantID, Environment: r.ID}
	v, err := shared.Store.Subjects().Get(t.Context(), scope, subject)
	require.NoError(t, err)
	byFrames := func() bool {
		stored, err := shared.Store.Enrollments().Frames(t.Context(), v.UID, "desktop")
		require.NoError(t, err)
		keys := map[string]int{}
		for _, s := range stored {
			var f features.Frame
			require.NoError(t, f.UnmarshalBinary(s.Vector))
			keys[s.SessionID] += f.Keys()
		}
		var amounts []scoring.SessionAmount
		for _, n := range keys {
			amounts = append(amounts, scoring.SessionAmount{Keys: n})
		}
		ready := scoring.Ready(amounts)
		return ready.Ready || ready.Provisional
	}
	seen := map[bool]int{}
	for round := range 2 {
		last := ""
		for session := range 3 {
			last = r.open(t, subject)
			for frame := range 3 {
				ack := r.send(t, last, "enroll", ada.Frame(30+10*frame))
				require.Equal(t, "accepted", ack.string("status"))
				require.Equal(t, byFrames(), ack.value("enrollment_ready"), "round %d, session %d, frame %d", round, session, frame)
				seen[byFrames()]++
			}
			if session == 0 {
				_, err := shared.Store.Pool().Exec(t.Context(), "update frames set keys = null where session_id = $1", last)
				require.NoError(t, err)
			}
			ada.NewDay()
		}
		done := r.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": last}).is(200)
		require.Equal(t, "completed", done.string("status"), "answered: %s", done.body)
	}
	require.Positive(t, seen[true])
	require.Positive(t, seen[false])
}
