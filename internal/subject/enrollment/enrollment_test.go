package enrollment_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// bundle is an unenrolled subject who types.
type bundle struct {
	*enrollment.Service
	store     *pg.Store
	clock     *clock.Fake
	sessions  *session.Service
	principal identity.Principal
	subject   models.Subject
	frames    int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{store: storetest.New(t), clock: clock.NewFake(storetest.Epoch)}
	env := storetest.Environment(t, b.store, models.Sandbox)
	b.subject = storetest.Subject(t, b.store, env, "ada")
	b.principal = identity.Principal{CredentialID: "crd_1", TenantID: env.TenantID, EnvironmentID: env.ID, Kind: models.Sandbox}
	assessor := assurance.New(scoring.Default(), keys)
	b.sessions = session.New(b.store, b.clock, assessor, nil)
	b.Service = enrollment.New(b.store, b.clock, assessor)
	return b
}

// session sends n enrollment frames of a typist in a session of its own, a day later, and returns the session's id.
func (b *bundle) session(t *testing.T, who *synthetic.Typist, n int) string {
	t.Helper()
	return b.sessionOn(t, "desktop", who, n)
}

// full sends what a full enrollment needs, in three sessions of four frames, and returns the last one.
func (b *bundle) full(t *testing.T, who *synthetic.Typist) (last string) {
	t.Helper()
	for range 3 {
		last = b.session(t, who, 4)
	}
	return last
}

func (b *bundle) sessionOn(t *testing.T, device string, who *synthetic.Typist, n int) string {
	t.Helper()
	b.clock.Advance(24 * time.Hour)
	who.NewDay()
	v, err := b.sessions.Start(t.Context(), b.principal, "ada", device)
	require.NoError(t, err)
	for range n {
		b.frames++
		b.clock.Advance(time.Minute)
		ack, err := b.sessions.Evidence(t.Context(), b.principal, v.Session.ID, session.Frame{
			FrameID: strconv.Itoa(b.frames), Timestamp: float64(b.clock.Now().Unix()), DurationMS: 60_000,
			Features: who.Frame(50).Tree(), Purpose: identity.PurposeEnroll,
		})
		require.NoError(t, err)
		require.Equal(t, "accepted", ack.Status, ack.ReasonCodes)
	}
	return v.Session.ID
}

func (b *bundle) begin(t *testing.T, session string) enrollment.View {
	t.Helper()
	e, err := b.Begin(t.Context(), b.principal, "ada", session, false)
	require.NoError(t, err)
	return e
}

func (b *bundle) train(t *testing.T, id string) models.EnrollmentStatus {
	t.Helper()
	return b.trainAt(t, id, b.clock.Now())
}

func (b *bundle) trainAt(t *testing.T, id string, at time.Time) models.EnrollmentStatus {
	t.Helper()
	status, err := b.Train(t.Context(), enrollment.Step{Environment: b.principal.EnvironmentID, ID: id, At: at, WorkflowID: "enrollment/" + id})
	require.NoError(t, err)
	return status
}

func (b *bundle) settled(t *testing.T, id string) models.Enrollment {
	t.Helper()
	e, err := enrollment.ByID(t.Context(), b.store.Q, b.principal.EnvironmentID, id)
	require.NoError(t, err)
	return e
}

func (b *bundle) events(t *testing.T, eventType string) int {
	t.Helper()
	var n int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select count(*) from events where type = $1", eventType).Scan(&n))
	return n
}

func requireProblem(t *testing.T, err error, code problem.Code) {
	t.Helper()
	require.True(t, problem.Is(err, code), "want %s, got %v", code, err)
}

func TestBeginIsIdempotentForASession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.session(t, synthetic.NewTypist(1), 1)
	first := b.begin(t, id)
	require.Equal(t, models.EnrollmentPending, first.Status)
	require.Equal(t, "ada", first.Subject)
	require.Equal(t, first.ID, b.begin(t, id).ID)
	require.Equal(t, 1, b.events(t, "enrollment.requested"))

	input, pending, err := b.WorkflowInput(t.Context(), b.principal.EnvironmentID, first.ID)
	require.NoError(t, err)
	require.True(t, pending)
	require.Equal(t, enrollment.WorkflowInput{Enrollment: first.ID, Environment: b.principal.EnvironmentID}, input)
}

func TestBeginRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.session(t, synthetic.NewTypist(1), 1)
	for name, c := range map[string]struct{ subject, session string }{
		"unknown subject": {"unknown", id},
		"unknown session": {"ada", "ses_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Begin(t.Context(), b.principal, c.subject, c.session, false)
			requireProblem(t, err, problem.NotFound)
		})
	}
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.RevokeSubject(t.Context(), q, b.principal.Store(), b.subject.UID, b.clock.Now())
		return err
	}))
	_, err := b.Begin(t.Context(), b.principal, "ada", id, false)
	requireProblem(t, err, problem.SubjectRevoked)
}

// Too little evidence fails the enrollment. The subject can begin again with the same session.
func TestTrainFailsWithTooLittleEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.session(t, synthetic.NewTypist(1), 1)
	first := b.begin(t, id)
	require.Equal(t, models.EnrollmentFailed, b.train(t, first.ID))
	require.Equal(t, 1, b.events(t, "enrollment.failed"))
	sub, err := subjectrow.GetByUID(t.Context(), b.store.Q, b.principal.Store(), b.subject.UID)
	require.NoError(t, err)
	require.NotEqual(t, models.EnrollmentEnrolled, sub.Enrollment)
	require.NotEqual(t, first.ID, b.begin(t, id).ID)
}

func TestTrainEnrollsTheSubjectOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(1)
	last := b.full(t, who)
	e := b.begin(t, last)
	require.Equal(t, models.EnrollmentCompleted, b.train(t, e.ID))
	require.Equal(t, models.EnrollmentCompleted, b.train(t, e.ID), "a repeated step returns the status")
	require.Equal(t, 1, b.events(t, "enrollment.completed"))

	scope := b.principal.Store()
	sub, err := subjectrow.GetByUID(t.Context(), b.store.Q, scope, b.subject.UID)
	require.NoError(t, err)
	require.Equal(t, models.EnrollmentEnrolled, sub.Enrollment)
	heads, err := template.Heads(t.Context(), b.store.Q, scope, b.subject.UID)
	require.NoError(t, err)
	require.NotEmpty(t, heads)
	for _, h := range heads {
		require.Equal(t, 1, h.Version)
		require.Equal(t, models.OriginEnrollment, h.Origin)
		require.Equal(t, e.ID, h.OriginRef)
	}
	_, pending, err := b.WorkflowInput(t.Context(), b.principal.EnvironmentID, e.ID)
	require.NoError(t, err)
	require.False(t, pending, "a settled enrollment starts no workflow")
	require.Equal(t, e.ID, b.begin(t, last).ID, "the session has enrolled the subject already")
}

// A frame that is received after the time of the step counts for the next enrollment, not for this one: an attempt that is made later
// trains on the same frames.
func TestTrainCountsAFrameOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(1)
	last := b.full(t, who)
	first, at := b.begin(t, last), b.clock.Now()
	later := b.session(t, who, 3)
	require.Equal(t, models.EnrollmentCompleted, b.trainAt(t, first.ID, at))
	require.Equal(t, 12, b.settled(t, first.ID).WindowsAccepted)

	second := b.begin(t, later)
	b.train(t, second.ID)
	require.Equal(t, 3, b.settled(t, second.ID).WindowsAccepted)
}

// The clock of the workflow may be behind that of the API: what was collected before the request counts nevertheless, and only once.
func TestTrainCountsTheFramesBeforeTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(1)
	last := b.full(t, who)
	first := b.begin(t, last)
	require.Equal(t, models.EnrollmentCompleted, b.trainAt(t, first.ID, first.CreatedAt.Add(-90*time.Second)))
	done := b.settled(t, first.ID)
	require.Equal(t, 12, done.WindowsAccepted)
	require.WithinDuration(t, first.CreatedAt, *done.CompletedAt, 0)

	second := b.begin(t, b.session(t, who, 1))
	b.train(t, second.ID)
	require.Equal(t, 1, b.settled(t, second.ID).WindowsAccepted)
}

// An enrollment uses up the frames of its class of device, and no others.
func TestTrainLeavesTheFramesOfOtherDevices(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who, last := synthetic.NewTypist(1), map[string]string{}
	for range 3 {
		for _, device := range []string{"mobile", "desktop"} {
			last[device] = b.sessionOn(t, device, who, 4)
		}
	}
	require.Equal(t, models.EnrollmentCompleted, b.train(t, b.begin(t, last["desktop"]).ID))
	require.Equal(t, models.EnrollmentCompleted, b.train(t, b.begin(t, last["mobile"]).ID))
	require.Equal(t, models.EnrollmentFailed, b.train(t, b.begin(t, b.session(t, who, 1)).ID), "the frames on the desktop are used up")
}

// A subject that was erased or revoked meanwhile is not enrolled.
func TestTrainFailsForARevokedOrErasedSubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(1)
	last := b.full(t, who)
	e := b.begin(t, last)
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.RevokeSubject(t.Context(), q, b.principal.Store(), b.subject.UID, b.clock.Now())
		return err
	}))
	require.Equal(t, models.EnrollmentFailed, b.train(t, e.ID))
	heads, err := template.Heads(t.Context(), b.store.Q, b.principal.Store(), b.subject.UID)
	require.NoError(t, err)
	require.Empty(t, heads)

	require.Equal(t, models.EnrollmentFailed, b.train(t, "enr_erased"))
	_, pending, err := b.WorkflowInput(t.Context(), b.principal.EnvironmentID, "enr_erased")
	require.NoError(t, err)
	require.False(t, pending)
}

func TestListOfAnUnknownSubjectIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.begin(t, b.session(t, synthetic.NewTypist(1), 1))
	listed, next, err := b.List(t.Context(), b.principal.Store(), "ada", pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, listed, 1)
	require.Equal(t, e.ID, listed[0].ID)
	_, _, err = b.List(t.Context(), b.principal.Store(), "unknown", pg.Page{Limit: 10})
	requireProblem(t, err, problem.NotFound)
}
