package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
)

func TestEnrollmentCompletes(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada := w.subject(t), typist("ada enrolls")
	path := "/api/v1/subjects/" + subject
	require.Equal(t, "none", w.Server.get(t, path).is(200).string("enrollment"))
	var last string
	ready := false
	for range 3 {
		last = w.Server.post(t, "/api/v1/sessions", object{"subject": subject, "device_class": "desktop"}).is(201).string("id")
		start := time.Now().Add(-2 * time.Minute)
		for n := range 4 {
			ack := w.Server.post(t, "/api/v1/sessions/"+last+"/evidence", evidence(ada, "enroll", start, n)).is(200)
			require.Equal(t, "accepted", ack.string("status"))
			ready, _ = ack.value("enrollment_ready").(bool)
		}
		require.Equal(t, "collecting", w.Server.get(t, path).is(200).string("enrollment"))
		ada.NewDay()
	}
	require.True(t, ready)

	complete := object{"session": last}
	done := w.Server.post(t, path+"/enrollments/complete", complete).is(200)
	require.Equal(t, "completed", done.string("status"))
	require.InDelta(t, 12, done.value("windows_accepted"), 0)
	require.Equal(t, "none", done.string("anchor"))
	require.NotEmpty(t, done.string("completed_at"))
	again := w.Server.post(t, path+"/enrollments/complete", complete).is(200)
	require.JSONEq(t, string(done.body), string(again.body), "the same session completes one enrollment")
	require.Equal(t, "enrolled", w.Server.get(t, path).is(200).string("enrollment"))
	listed := w.Server.get(t, path+"/enrollments").is(200).list()
	require.Len(t, listed, 1)
	require.Equal(t, done.string("id"), listed[0]["id"])
}

func TestEnrollmentFailsOnTooLittleEvidence(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	path := "/api/v1/subjects/" + subject + "/enrollments/complete"
	session := w.session(t, subject, "enroll", typist("in a hurry"), 1)
	failed := w.Server.post(t, path, object{"session": session}).is(200)
	require.Equal(t, "failed", failed.string("status"))
	require.NotEmpty(t, failed.strings("limitations"), "the response names the limitation")
	require.Nil(t, failed.value("completed_at"))
	require.NotEqual(t, "enrolled", w.Server.get(t, "/api/v1/subjects/"+subject).is(200).string("enrollment"))

	forced := w.Server.post(t, path, object{"session": session, "force": true}).is(200)
	require.NotEqual(t, failed.string("id"), forced.string("id"), "a retry after a failure is a new enrollment")
	require.NotEmpty(t, forced.strings("limitations"))
}

func TestEnrollmentRequiresASessionOfTheSubject(t *testing.T) {
	t.Parallel()
	mine, others := newTenant(t), newTenant(t)
	w := mine.Sandbox
	subject, other := w.subject(t), w.subject(t)
	theirs := w.session(t, other, "enroll", typist("other"), 1)
	path := "/api/v1/subjects/" + subject + "/enrollments/complete"
	w.Server.post(t, path, object{"session": theirs}).problem(404, "not_found")
	w.Server.post(t, path, object{"session": "ses_01jqx3k5v8e2sbyk0c4m7t9wzd"}).problem(404, "not_found")
	own := w.session(t, subject, "enroll", typist("own"), 1)
	others.Sandbox.Server.post(t, path, object{"session": own}).problem(404, "not_found")
	mine.Live.Server.post(t, path, object{"session": own}).problem(404, "not_found")
	others.Sandbox.Server.get(t, "/api/v1/subjects/"+subject+"/enrollments").problem(404, "not_found")
	require.Empty(t, w.Server.get(t, "/api/v1/subjects/"+subject+"/enrollments").is(200).list())
}

func TestListTemplates(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.enrolled(t, typist("ada of the templates"))
	path := "/api/v1/subjects/" + subject + "/templates"
	listed := w.Server.get(t, path).is(200).list()
	require.NotEmpty(t, listed)
	w.Server.post(t, path+"/rollback", object{"modality": "keystroke", "device_class": "desktop"}).problem(409, "no_earlier_template")
	newSandbox(t).Server.get(t, path).problem(404, "not_found")
}

// enrollment_ready is computed from the key counts stored with each frame. It matches what the frames themselves contain:
// across sessions, after a completed enrollment, and with frames that an earlier release stored without counts.
func TestEnrollmentReadyMatchesStoredFrames(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ada := typist("ada who is counted")
	subject := r.subject(t)
	scope := r.scope()
	v, err := subjectrow.Get(t.Context(), shared.Store.Q, scope, subject)
	require.NoError(t, err)
	byFrames := func() bool {
		stored, err := enrollment.FramesOfEnrollment(t.Context(), shared.Store.Q, scope.Environment, v.UID, "desktop", time.Now())
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
			ada.NewDay()
		}
		done := r.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": last}).is(200)
		require.Equal(t, "completed", done.string("status"), "response: %s", done.body)
	}
	require.Positive(t, seen[true])
	require.Positive(t, seen[false])
}
