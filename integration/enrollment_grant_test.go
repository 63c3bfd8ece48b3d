package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// enrollmentSession submits four frames of a new session through the page and returns the session.
func (w world) enrollmentSession(t *testing.T, page caller, subject string, who *synthetic.Typist) string {
	t.Helper()
	who.NewDay()
	id := w.open(t, subject)
	for n := range 4 {
		page.sendFrame(t, id, "enroll", who, n).is(200)
	}
	return id
}

func (w world) complete(t *testing.T, subject, session string) response {
	t.Helper()
	return w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session}).is(200)
}

// If the environment requires it, enrolling needs a token with the purpose enroll, for one enrollment. Earlier frames do not
// count.
func TestEnrollmentRequiresAGrant(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject, ada, eve := w.subject(t), typist("ada by name"), typist("eve before")
	require.Equal(t, false, w.Admin.get(t, "/api/v1/environment").is(200).value("enrollment_grant_required"), "off by default")
	before := w.page(t, subject, nil)
	early := w.enrollmentSession(t, before, subject, eve)
	w.Admin.patch(t, "/api/v1/environment", object{"enrollment_grant_required": true}).is(200)

	before.sendFrame(t, early, "enroll", eve, 9).problem(403, "purpose_not_granted")
	before.sendFrame(t, early, "score", eve, 9).is(200)
	w.page(t, subject, object{"purposes": []string{"score"}}).sendFrame(t, early, "enroll", eve, 9).problem(403, "purpose_not_granted")
	failed := w.complete(t, subject, early)
	require.Equal(t, "failed", failed.string("status"), "frames collected without a grant are not used")
	require.InDelta(t, 0, failed.value("windows_accepted"), 0)
	require.Contains(t, failed.strings("limitations"), "enrollment_not_granted")

	granted := w.page(t, subject, object{"purposes": []string{"enroll"}})
	var last string
	for range 3 {
		last = w.enrollmentSession(t, granted, subject, ada)
	}
	done := w.complete(t, subject, last)
	require.Equal(t, "completed", done.string("status"), "response: %s", done.body)
	require.InDelta(t, 12, done.value("windows_accepted"), 0, "the frames before the grant are not used")

	session := w.open(t, subject)
	granted.sendFrame(t, session, "enroll", ada, 0).problem(403, "purpose_not_granted")
	again := w.page(t, subject, object{"purposes": []string{"score", "enroll"}})
	again.sendFrame(t, session, "enroll", ada, 1).is(200)
	granted.sendFrame(t, session, "enroll", ada, 2).problem(403, "purpose_not_granted")
	w.Server.post(t, "/v2/ingest", object{"session_id": session, "frames": legacyFrames(ada, "enroll", 1)}).is(200)
}

// A server key belongs to the relying party, so its enrollment frames need no grant.
func TestEnrollmentByServerKeyNeedsNoGrant(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.Admin.patch(t, "/api/v1/environment", object{"enrollment_grant_required": true}).is(200)
	subject := w.enrolled(t, typist("ada of the backend"))
	w.session(t, subject, "score", typist("ada of the backend"), 1)
}

func TestEnrollmentRefusesInconsistentSessions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ada, eve := typist("ada who enrolls"), typist("eve who was not asked")
	t.Run("one stranger among three", func(t *testing.T) {
		subject := w.subject(t)
		first := w.session(t, subject, "enroll", ada, 4)
		strange := w.session(t, subject, "enroll", eve, 4)
		last := w.session(t, subject, "enroll", ada, 4)
		require.NotEmpty(t, first)
		done := w.complete(t, subject, last)
		require.Equal(t, "completed", done.string("status"))
		require.Equal(t, []any{object{"session": strange, "reason": "enrollment_inconsistent"}}, done.value("refused_sessions"))
		require.InDelta(t, 8, done.value("windows_accepted"), 0)
		require.Contains(t, done.strings("limitations"), "enrollment_inconsistent")
		require.Contains(t, done.strings("limitations"), "provisional_enrollment", "two sessions remain")
	})
	t.Run("one of each of two", func(t *testing.T) {
		subject := w.subject(t)
		own := w.session(t, subject, "enroll", ada, 4)
		strange := w.session(t, subject, "enroll", eve, 4)
		failed := w.complete(t, subject, strange)
		require.Equal(t, "failed", failed.string("status"), "either session could be the person's")
		require.Equal(t, []any{
			object{"session": own, "reason": "enrollment_inconsistent"}, object{"session": strange, "reason": "enrollment_inconsistent"},
		}, failed.value("refused_sessions"))
		require.Contains(t, failed.strings("limitations"), "enrollment_inconsistent")
		require.Equal(t, failed.value("refused_sessions"), w.Server.get(t, "/api/v1/subjects/"+subject+"/enrollments").is(200).list()[0]["refused_sessions"])
	})
	t.Run("none", func(t *testing.T) {
		subject := w.enrolled(t, typist("grace"))
		listed := w.Server.get(t, "/api/v1/subjects/"+subject+"/enrollments").is(200).list()
		require.Empty(t, listed[0]["refused_sessions"])
	})
}
