package template_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
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

// bundle is a subject with the services that process its sessions.
type bundle struct {
	store       *pg.Store
	clock       *clock.Fake
	keys        *keyring.Keyring
	assessor    *assurance.Assessor
	sessions    *session.Service
	enrollments *enrollment.Service
	templates   *template.Service
	principal   identity.Principal
	subject     models.Subject
	n           int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{store: storetest.New(t), clock: clock.NewFake(storetest.Epoch), keys: keys}
	env := storetest.Environment(t, b.store, models.Sandbox)
	b.subject = storetest.Subject(t, b.store, env, "ada")
	b.principal = identity.Principal{CredentialID: "crd_1", TenantID: env.TenantID, EnvironmentID: env.ID, Kind: models.Sandbox}
	b.assessor = assurance.New(synthetic.Population(), keys)
	b.sessions = session.New(b.store, b.clock, b.assessor, nil)
	b.enrollments = enrollment.New(b.store, b.clock, b.assessor)
	b.templates = template.New(b.store, b.clock, b.assessor)
	return b
}

// frames sends a session's frames of fifty keys through the service; the session stays open.
func (b *bundle) frames(t *testing.T, purpose string, frames []features.Frame) string {
	t.Helper()
	v, err := b.sessions.Start(t.Context(), b.principal, "ada", "desktop")
	require.NoError(t, err)
	for _, f := range frames {
		b.n++
		b.clock.Advance(time.Minute)
		ack, err := b.sessions.Evidence(t.Context(), b.principal, v.Session.ID, session.Frame{
			FrameID: fmt.Sprint(b.n), Timestamp: float64(b.clock.Now().Unix()), DurationMS: 60_000, Features: f.Tree(), Purpose: purpose,
		})
		require.NoError(t, err)
		require.Equal(t, "accepted", ack.Status, ack.ReasonCodes)
	}
	return v.Session.ID
}

func typed(who *synthetic.Typist, n int) []features.Frame {
	who.NewDay()
	var out []features.Frame
	for range n {
		out = append(out, who.Frame(50))
	}
	return out
}

func (b *bundle) end(t *testing.T, id string) {
	t.Helper()
	_, err := b.sessions.End(t.Context(), b.principal, id)
	require.NoError(t, err)
}

func (b *bundle) enroll(t *testing.T, who *synthetic.Typist) {
	t.Helper()
	last := ""
	for range 3 {
		last = b.frames(t, "enroll", typed(who, 4))
		b.end(t, last)
		b.clock.Advance(24 * time.Hour)
	}
	e, err := b.enrollments.Begin(t.Context(), b.principal, "ada", last, false)
	require.NoError(t, err)
	status, err := b.enrollments.Train(t.Context(), enrollment.Step{Environment: b.principal.EnvironmentID, ID: e.ID, At: b.clock.Now(), WorkflowID: "enrollment/" + e.ID})
	require.NoError(t, err)
	require.Equal(t, models.EnrollmentCompleted, status)
}

// day plays one session to its end and returns the result of adapting to it.
func (b *bundle) day(t *testing.T, frames []features.Frame) (string, template.AdaptationResult) {
	t.Helper()
	b.clock.Advance(24 * time.Hour)
	id := b.frames(t, "score", frames)
	b.end(t, id)
	return id, b.adapt(t, id)
}

func (b *bundle) adapt(t *testing.T, id string) template.AdaptationResult {
	t.Helper()
	out, err := b.templates.Adapt(context.Background(), template.Step{Environment: b.principal.EnvironmentID, Session: id, At: b.clock.Now(), WorkflowID: "adaptation/" + id})
	require.NoError(t, err)
	return out
}

func (b *bundle) versions(t *testing.T) []models.Template {
	t.Helper()
	rows, _, err := b.templates.List(t.Context(), b.principal.Store(), "ada", pg.Page{Limit: 50})
	require.NoError(t, err)
	return rows
}

func (b *bundle) count(t *testing.T, query string) int {
	t.Helper()
	var n int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), query).Scan(&n))
	return n
}

// confirmed plays days of the person until a template adapts to one: not every day is confirmed.
func (b *bundle) confirmed(t *testing.T, who *synthetic.Typist) string {
	t.Helper()
	for range 6 {
		if id, out := b.day(t, typed(who, 6)); out.Status == template.Adapted {
			return id
		}
	}
	t.Fatal("no day of the person was confirmed")
	return ""
}

func TestAdaptStoresAConfirmedSessionAsANewVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(7)
	b.enroll(t, who)
	require.Len(t, b.versions(t), 1)

	id := b.confirmed(t, who)
	rows := b.versions(t)
	require.Len(t, rows, 2)
	require.Equal(t, models.TemplateActive, rows[0].Status)
	require.Equal(t, models.OriginAdaptation, rows[0].Origin)
	require.Equal(t, id, rows[0].OriginRef)
	require.Contains(t, rows[0].Limitations, "template_adapted")
	require.Equal(t, models.TemplateSuperseded, rows[1].Status, "the previous version is kept")
	require.Equal(t, 1, b.count(t, "select count(*) from events where type = 'template.adapted'"))
	require.Positive(t, b.count(t, "select count(*) from outbox where topic = 'adaptation.start' and ref = '"+id+"'"))

	require.Equal(t, template.Adapted, b.adapt(t, id).Status, "a step whose result was lost is repeated")
	require.Len(t, b.versions(t), 2)
	require.Equal(t, 1, b.count(t, "select count(*) from events where type = 'template.adapted'"))

	same := b.frames(t, "score", typed(who, 6))
	require.Equal(t, template.ReasonNotEnded, b.adapt(t, same).Reason)
	b.end(t, same)
	require.Equal(t, template.ReasonTooSoon, b.adapt(t, same).Reason, "one a day")
	require.Len(t, b.versions(t), 2)
}

func TestAdaptLeavesTemplatesUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(7)
	b.enroll(t, who)

	_, out := b.day(t, typed(synthetic.NewTypist(907), 6))
	require.Equal(t, template.ReasonNotConfirmed, out.Reason, "typing of a different person")
	_, out = b.day(t, typed(who, 1))
	require.Equal(t, template.ReasonNotConfirmed, out.Reason, "too little evidence to be confirmed")
	require.Equal(t, 0, b.count(t, "select count(*) from outbox where topic = 'adaptation.start' and ref in (select id from sessions where coverage <> 'sufficient')"))

	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.SetAdaptationFrozen(t.Context(), q, b.principal.Store(), b.subject.UID, true, b.clock.Now())
		return err
	}))
	for range 4 {
		_, out = b.day(t, typed(who, 6))
		require.Equal(t, template.ReasonFrozen, out.Reason)
	}
	require.Len(t, b.versions(t), 1)
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.SetAdaptationFrozen(t.Context(), q, b.principal.Store(), b.subject.UID, false, b.clock.Now())
		return err
	}))
	b.confirmed(t, who)

	require.Equal(t, template.ReasonGone, b.adapt(t, "ses_unknown").Reason)
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.RevokeSubject(t.Context(), q, b.principal.Store(), b.subject.UID, b.clock.Now())
		return err
	}))
	require.Equal(t, template.ReasonGone, b.adapt(t, b.last(t)).Reason)
}

func (b *bundle) last(t *testing.T) string {
	t.Helper()
	var id string
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select id from sessions order by started_at desc limit 1").Scan(&id))
	return id
}

func TestRollbackRestoresThePreviousVersionAndRescoresSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(7)
	b.enroll(t, who)
	rollback := template.Rollback{Modality: "keystroke", Device: "desktop"}
	_, err := b.templates.Rollback(t.Context(), b.principal, "ada", rollback)
	require.True(t, problem.Is(err, problem.NoEarlierTemplate), "%v", err)

	adapted := b.confirmed(t, who)
	b.confirmed(t, who)
	open := b.frames(t, "score", typed(who, 5))
	before := b.state(t, open)
	row, err := b.templates.Rollback(t.Context(), b.principal, "ada", rollback)
	require.NoError(t, err)
	require.Equal(t, 2, row.Version)
	require.Equal(t, models.TemplateActive, row.Status)
	require.NotEqual(t, before, b.state(t, open), "the open session is rescored against the active version")
	rows := b.versions(t)
	require.Equal(t, models.TemplateRetired, rows[0].Status, "the distrusted version cannot be restored")
	require.Equal(t, 1, b.count(t, "select count(*) from events where type = 'template.rolled_back'"))

	first := 1
	rollback.Version = &first
	row, err = b.templates.Rollback(t.Context(), b.principal, "ada", rollback)
	require.NoError(t, err)
	require.Equal(t, 1, row.Version)
	third := 3
	rollback.Version = &third
	_, err = b.templates.Rollback(t.Context(), b.principal, "ada", rollback)
	require.True(t, problem.Is(err, problem.NoEarlierTemplate), "a retired version: %v", err)
	require.Equal(t, template.Adapted, b.adapt(t, adapted).Status, "a template adapts to a session once, even after a rollback")
	require.Equal(t, 1, b.versions(t)[2].Version)
	require.Equal(t, models.TemplateActive, b.versions(t)[2].Status)
	_, err = b.templates.Rollback(t.Context(), b.principal, "unknown", rollback)
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
}

func (b *bundle) state(t *testing.T, id string) float64 {
	t.Helper()
	v, err := identity.GetSession(t.Context(), b.store.Q, b.principal.Store(), id)
	require.NoError(t, err)
	state, err := b.assessor.OpenState(v.Session)
	require.NoError(t, err)
	return state.Keystroke.Long
}

// After a different background is activated, templates stay usable without a new enrollment: first they are retrained as
// they are read, then stored.
func TestRetrainOutdatedStoresTemplatesOfTheNewBackground(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := synthetic.NewTypist(7)
	b.enroll(t, who)
	embedded := synthetic.Population().Background(features.Keystroke)
	body, err := embedded.Marshal()
	require.NoError(t, err)
	next, err := scoring.ParseBackground(body)
	require.NoError(t, err)
	next.Version = "cs-bg-keystroke-next"
	model := scoring.NewModel(next, synthetic.Population().Background(features.Pointer))

	b.assessor.Use(model)
	require.Equal(t, "insufficient_evidence", b.continuity(t, typed(who, 6)), "a template of an unknown background gives no evidence")
	b.assessor.Use(model, embedded)
	require.Contains(t, []string{"confirmed", "likely"}, b.continuity(t, typed(who, 6)))
	require.Equal(t, embedded.Version, b.versions(t)[0].ModelVersion)

	n, more, err := b.templates.RetrainOutdated(t.Context(), b.clock.Now(), "upkeep/templates")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.False(t, more)
	require.Equal(t, next.Version, b.versions(t)[0].ModelVersion)
	require.Equal(t, models.OriginRetraining, b.versions(t)[0].Origin)
	require.Equal(t, 1, b.count(t, "select count(*) from events where type = 'template.trained'"))
	n, _, err = b.templates.RetrainOutdated(t.Context(), b.clock.Now(), "upkeep/templates")
	require.NoError(t, err)
	require.Zero(t, n)
	require.Contains(t, []string{"confirmed", "likely"}, b.continuity(t, typed(who, 6)))
}

func (b *bundle) continuity(t *testing.T, frames []features.Frame) string {
	t.Helper()
	p, err := b.sessions.Assess(t.Context(), b.principal.Store(), b.frames(t, "score", frames))
	require.NoError(t, err)
	return string(p.Claim(scoring.ClaimContinuity).Status)
}
