package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// paced is a frame of the typist with every time multiplied by factor.
func paced(who *synthetic.Typist, factor float64) features.Frame {
	keys := who.Type(frameKeys)
	start := keys[0].Press
	for i := range keys {
		keys[i].Press, keys[i].Release = start+factor*(keys[i].Press-start), start+factor*(keys[i].Release-start)
	}
	return features.Extract(features.Raw{Keys: keys, ClockMS: 1})
}

// pacedSession submits a session of another day at a pace.
func (w world) pacedSession(t *testing.T, subject, purpose string, who *synthetic.Typist, factor float64, frames int) string {
	t.Helper()
	who.NewDay()
	id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
	start := time.Now().Add(-time.Duration(frames) * frameMS * time.Millisecond)
	for n := range frames {
		body := evidence(who, purpose, start, n)
		body["features"] = paced(who, factor)
		w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", body).is(200)
	}
	return id
}

// notTrusted counts how many of four sessions at a pace are neither confirmed nor likely.
func (w world) notTrusted(t *testing.T, subject string, who *synthetic.Typist, factor float64) int {
	t.Helper()
	n := 0
	for range 4 {
		id := w.pacedSession(t, subject, "score", who, factor, 4)
		status := claim(w.Server.get(t, "/api/v1/sessions/"+id+"/assessment").is(200).value("claims"), "operator_continuity")
		if status != "confirmed" && status != "likely" {
			n++
		}
	}
	return n
}

// A typist enrolls while learning a text and becomes 30 % faster. A second enrollment lowers the error rate again, since it uses
// only the evidence since the first one. The previous template remains for a rollback. An enrollment of one session is
// provisional, and every profile that uses it says so.
func TestReenrollmentFollowsALearningCurve(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada learns")
	path := "/api/v1/subjects/" + subject
	enroll := func(frames int, factors ...float64) response {
		last := ""
		for _, f := range factors {
			last = w.pacedSession(t, subject, "enroll", ada, f, frames)
		}
		done := w.Server.post(t, path+"/enrollments/complete", object{"session": last}).is(200)
		require.Equal(t, "completed", done.string("status"), "response: %s", done.body)
		return done
	}
	enroll(4, 1, .97, .94)
	early := w.notTrusted(t, subject, ada, .7)
	again := enroll(4, .7, .7, .7)
	require.InDelta(t, 12, again.value("windows_accepted"), 0, "evidence of an earlier enrollment is not used again")
	later := w.notTrusted(t, subject, ada, .7)
	require.Greater(t, early, later)
	require.LessOrEqual(t, later, 1)

	listed := w.Server.get(t, path+"/templates").is(200).list()
	require.Len(t, listed, 2)
	require.Equal(t, "active", listed[0]["status"])
	require.Equal(t, "superseded", listed[1]["status"])

	short := enroll(6, .7)
	require.Contains(t, short.strings("limitations"), "provisional_enrollment")
	id := w.pacedSession(t, subject, "score", ada, .7, 4)
	profile := w.Server.get(t, "/api/v1/sessions/"+id+"/assessment").is(200)
	require.Contains(t, profile.strings("limitations"), "provisional_enrollment")
	require.NotEqual(t, "confirmed", claim(profile.value("claims"), "operator_continuity"))

	back := w.Server.post(t, path+"/templates/rollback", object{"modality": "keystroke", "device_class": "desktop"}).is(200)
	require.EqualValues(t, 2, back.value("version"))
	require.Equal(t, "active", back.string("status"))
}

// A session of ten thousand frames works like any other, for enrollment and for scoring. Most frames are copied in the
// database; internal/behavior/scoring tests how frames change the state of a session.
func TestSessionOfTenThousandFrames(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for _, purpose := range []string{"enroll", "score"} {
		t.Run(purpose, func(t *testing.T) {
			t.Parallel()
			ada := typist("quick " + purpose)
			subject := w.enrolled(t, ada)
			ada.NewDay()
			id := w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
			start := time.Now().Add(-10 * frameMS * time.Millisecond)
			for n := range 5 {
				w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", evidence(ada, purpose, start, n)).is(200)
			}
			_, err := shared.Store.Pool().Exec(t.Context(), `insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status,
				reason_codes, received_at, at, duration_ms, digest, vector)
				select session_id, 'copy-' || n || '-' || frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at - n * interval '1 us',
				at, duration_ms, digest, vector from frames, generate_series(1, 1999) n where session_id = $1`, id)
			require.NoError(t, err)
			require.Equal(t, 10_000, count(t, "select count(*) from frames where session_id = $1", id))
			for n := range 5 {
				body := evidence(ada, purpose, start, 5+n)
				ack := w.Server.post(t, "/api/v1/sessions/"+id+"/evidence", body).is(200)
				require.Equal(t, "accepted", ack.string("status"), "response: %s", ack.body)
			}
			profile := w.Server.get(t, "/api/v1/sessions/"+id+"/assessment").is(200)
			require.Contains(t, []string{"confirmed", "likely", "uncertain"}, claim(profile.value("claims"), "operator_continuity"))
			if purpose == "enroll" {
				done := w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": id}).is(200)
				require.Equal(t, "completed", done.string("status"))
				require.LessOrEqual(t, done.value("windows_accepted"), 1000.)
				require.Contains(t, done.strings("limitations"), "single_session_enrollment")
			}
		})
	}
}
