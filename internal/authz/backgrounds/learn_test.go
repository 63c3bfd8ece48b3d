package backgrounds_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// bundle is one process of the service with its database.
type bundle struct {
	t        *testing.T
	store    *pg.Store
	assessor *assurance.Assessor
	counter  backgrounds.Counter
	service  *backgrounds.Service
	at       time.Time
}

func setup(t *testing.T) *bundle {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{t: t, store: storetest.New(t), assessor: assurance.New(scoring.Default(), keys), at: storetest.Epoch}
	b.counter = backgrounds.NewCounter(b.assessor)
	b.service = backgrounds.New(backgrounds.Deps{Store: b.store, Assessor: b.assessor,
		Load: backgrounds.NewLoader(b.store, b.assessor, slog.New(slog.DiscardHandler)).Load})
	return b
}

func (b *bundle) exec(query string, args ...any) {
	b.t.Helper()
	testenv.Exec(b.t, b.store, query, args...)
}

func (b *bundle) number(query string, args ...any) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.store.Pool().QueryRow(b.t.Context(), query, args...).Scan(&n))
	return n
}

// environment inserts a live environment with the setting.
func (b *bundle) environment(choice models.BackgroundChoice) models.Environment {
	b.t.Helper()
	env := storetest.Environment(b.t, b.store, models.Live)
	b.exec("update environments set background = $2 where id = $1", env.ID, string(choice))
	return env
}

// sessions are three sessions of a simulated person, on as many days.
func sessions(seed uint64) []scoring.SessionFrames {
	typist := synthetic.NewTypist(seed)
	var out []scoring.SessionFrames
	for range 3 {
		typist.NewDay()
		var s scoring.SessionFrames
		for range 3 {
			s.Frames = append(s.Frames, typist.Frame(50))
		}
		out = append(out, s)
	}
	return out
}

// trained stores a template of a person as the active version, as an enrollment does.
func (b *bundle) trained(env models.Environment, uid string, all []scoring.SessionFrames) {
	b.t.Helper()
	ts, _, err := scoring.Default().Train(all, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	require.NoError(b.t, err)
	b.at = b.at.Add(time.Minute)
	require.NoError(b.t, b.store.Write(context.Background(), func(q *pg.Q) error {
		id := ids.New(ids.Template)
		data, err := b.assessor.SealTemplate(models.Template{ID: id, SubjectUID: uid}, ts[0])
		require.NoError(b.t, err)
		err = template.ReplaceTemplate(context.Background(), q, models.Template{
			ID: id, TenantID: env.TenantID, EnvironmentID: env.ID, SubjectUID: uid, Modality: "keystroke", DeviceClass: "desktop",
			Status: models.TemplateActive, ModelVersion: ts[0].ModelVersion, Limitations: models.Strings{}, Data: data, CreatedAt: b.at, UpdatedAt: b.at,
		})
		require.NoError(b.t, err)
		return b.counter.Recount(context.Background(), q, storetest.Scope(env), uid, b.at)
	}))
}

// enroll enrolls simulated people, one for each seed.
func (b *bundle) enroll(env models.Environment, seeds ...uint64) {
	b.t.Helper()
	for _, seed := range seeds {
		sub := storetest.Subject(b.t, b.store, env, fmt.Sprint("person-", seed))
		b.trained(env, sub.UID, sessions(seed))
	}
}

func between(from, to uint64) (out []uint64) {
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}

// sums returns the stored sums of an environment.
func (b *bundle) sums(env models.Environment) moments.Sums {
	b.t.Helper()
	rows, err := backgrounds.Sums(b.t.Context(), b.store.Q, storetest.Scope(env), "keystroke", models.BackgroundOwn)
	require.NoError(b.t, err)
	require.Len(b.t, rows, 1)
	raw, err := b.assessor.OpenSums(rows[0])
	require.NoError(b.t, err)
	out, err := moments.Parse(scoring.Default().Background(features.Keystroke), raw)
	require.NoError(b.t, err)
	require.Equal(b.t, out.People, rows[0].People)
	return out
}

// recount repeats what a change of templates does in its transaction.
func (b *bundle) recount(env models.Environment, uid string) {
	b.t.Helper()
	require.NoError(b.t, b.store.Write(b.t.Context(), func(q *pg.Q) error {
		return b.counter.Recount(context.Background(), q, storetest.Scope(env), uid, b.at)
	}))
}

// Enrolled twice, recovered and revoked: the sums are always those of the people who remain, bit by bit.
func TestRecountKeepsOneShareOfAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	env, other := b.environment(models.BackgroundOwn), b.environment(models.BackgroundOwn)
	ada := storetest.Subject(t, b.store, env, "ada")
	b.trained(env, ada.UID, sessions(1))
	first := b.sums(env)
	require.Equal(t, 1, first.People)
	b.recount(env, ada.UID)
	require.Equal(t, first, b.sums(env), "counted once")

	b.trained(env, ada.UID, sessions(2))
	require.Equal(t, 1, b.sums(env).People, "a template that is trained anew replaces the share")
	b.enroll(other, 2)
	require.Equal(t, b.sums(other), b.sums(env), "as if the earlier template had never been")

	b.enroll(env, 3)
	require.Equal(t, 2, b.sums(env).People)
	_, err := recovery.RetireTemplatesOfSubject(t.Context(), b.store.Q, storetest.Scope(env), ada.UID, b.at)
	require.NoError(t, err)
	b.recount(env, ada.UID)
	require.Equal(t, 1, b.sums(env).People, "a recovery subtracts the share")
	b.exec("update subjects set status = 'revoked', revoked_at = now() where environment_id = $1", env.ID)
	require.Equal(t, 1, b.number("select count(*) from background_shares where environment_id = $1", env.ID))
	var left string
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select subject_uid from background_shares where environment_id = $1", env.ID).Scan(&left))
	b.recount(env, left)
	require.Equal(t, moments.Empty(scoring.Default().Background(features.Keystroke)), b.sums(env), "nothing of anyone remains")
	require.Zero(t, b.number("select count(*) from background_shares where environment_id = $1", env.ID))
}

func TestRecountStoresNothingUnlessTheEnvironmentLearns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	env := b.environment(models.BackgroundPrior)
	b.enroll(env, 1)
	require.Zero(t, b.number("select count(*) from background_sums"))
	require.Zero(t, b.number("select count(*) from background_shares"))
	n, more, err := b.service.Count(t.Context(), env.ID, b.at)
	require.NoError(t, err)
	require.Zero(t, n)
	require.False(t, more)

	b.exec("update environments set background = 'own'")
	n, _, err = b.service.Count(t.Context(), env.ID, b.at)
	require.NoError(t, err)
	require.Equal(t, 1, n, "who enrolled before is counted when the environment begins to learn")
	require.Equal(t, 1, b.sums(env).People)
	n, _, err = b.service.Count(t.Context(), env.ID, b.at)
	require.NoError(t, err)
	require.Zero(t, n)
}

// A share that no version of the template gives cannot be subtracted. Sums with an unknown rest would never be right again.
func TestSumsAreFormedAnewIfAShareIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	env := b.environment(models.BackgroundOwn)
	b.enroll(env, 1, 2)
	ada := storetest.Subject(t, b.store, env, "ada")
	b.trained(env, ada.UID, sessions(3))
	b.exec("update background_shares set digest = '\\x01' where subject_uid = $1", ada.UID)
	b.recount(env, ada.UID)
	require.Zero(t, b.number("select count(*) from background_sums"))
	_, _, err := b.service.Count(t.Context(), env.ID, b.at)
	require.NoError(t, err)
	require.Equal(t, 3, b.sums(env).People)
}

// form is the second step of the workflow.
func (b *bundle) form(env models.Environment) backgrounds.Result {
	b.t.Helper()
	out, err := b.service.Form(b.t.Context(), env.ID, features.Keystroke, b.at, "workflow:test")
	require.NoError(b.t, err)
	return out
}

// inForce returns the version that people of the environment are compared with.
func (b *bundle) inForce(env models.Environment) string {
	return b.assessor.ModelOf(env.ID).Background(features.Keystroke).Version
}

// From the first person to a second background and back: what is in force changes only for this environment, and each change is recorded.
func TestAnEnvironmentLearnsItsBackground(t *testing.T) {
	t.Parallel()
	b := setup(t)
	env, other := b.environment(models.BackgroundOwn), b.environment(models.BackgroundPrior)
	prior := b.inForce(env)
	require.Equal(t, backgrounds.Off, b.form(other).Outcome)
	b.enroll(env, between(0, 19)...)
	require.Equal(t, backgrounds.Result{Outcome: backgrounds.TooFew, People: 19}, b.form(env))
	b.enroll(env, between(19, 32)...)

	got := b.form(env)
	require.Equal(t, backgrounds.Formed, got.Outcome, "%+v", got.Comparison)
	require.Equal(t, 32, got.Comparison.People)
	require.Equal(t, got.Version, b.form(env).Version, "a repeated step has the same result")
	require.Equal(t, prior, b.inForce(env), "a candidate is not in force")
	for range 2 {
		require.NoError(t, b.service.Activate(t.Context(), env.ID, got.Version, b.at, "workflow:test"))
	}
	require.Equal(t, got.Version, b.inForce(env))
	require.Equal(t, prior, b.inForce(other), "of its own environment only")
	require.Equal(t, 1, b.number("select count(*) from events where type = 'background.own_activated' and environment_id = $1", env.ID))
	card := b.assessor.ModelOf(env.ID).Background(features.Keystroke).Card
	require.True(t, card.Local)
	require.Equal(t, 32, card.People)
	require.Equal(t, backgrounds.Unchanged, b.form(env).Outcome)
	b.enroll(env, between(32, 35)...)
	require.Equal(t, backgrounds.Unchanged, b.form(env).Outcome, "too few came to form it anew")
	b.enroll(env, between(35, 44)...)
	second := b.form(env)
	require.Equal(t, 12, second.Comparison.People, "those who came since")
	require.Equal(t, backgrounds.Formed, second.Outcome, "%+v", second.Comparison)
	require.NoError(t, b.service.Activate(t.Context(), env.ID, second.Version, b.at, "workflow:test"))

	for _, want := range []string{got.Version, prior} {
		version, err := b.service.Rollback(t.Context(), env.ID, features.Keystroke, b.at, "cli:test")
		require.NoError(t, err)
		require.Equal(t, want, version)
		require.Equal(t, want, b.inForce(env))
	}
	require.Equal(t, 2, b.number("select count(*) from events where type = 'background.own_retired' and environment_id = $1", env.ID))
	_, err := b.service.Rollback(t.Context(), env.ID, features.Keystroke, b.at, "cli:test")
	require.True(t, problem.Is(err, problem.NotFound), "%v", err)
	require.Equal(t, backgrounds.Unchanged, b.form(env).Outcome, "what was rolled back does not come back by itself")
	require.Error(t, b.service.Activate(t.Context(), env.ID, got.Version, b.at, "workflow:test"))
}

// After erasures a background may rest on fewer people than it may be formed of.
func TestABackgroundIsWithdrawnWhenTooFewPeopleRemain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	env := b.environment(models.BackgroundOwn)
	prior := b.inForce(env)
	b.enroll(env, between(0, 21)...)
	require.NoError(t, b.service.Activate(t.Context(), env.ID, b.form(env).Version, b.at, "workflow:test"))
	rows, err := backgrounds.SampleTemplates(t.Context(), b.store.Q, storetest.Scope(env), backgrounds.Sampling{Modality: "keystroke", Limit: 2})
	require.NoError(t, err)
	for _, uid := range rows {
		_, err := recovery.RetireTemplatesOfSubject(t.Context(), b.store.Q, storetest.Scope(env), uid, b.at)
		require.NoError(t, err)
		b.recount(env, uid)
	}
	require.Equal(t, backgrounds.TooFew, b.form(env).Outcome)
	require.NoError(t, backgrounds.NewLoader(b.store, b.assessor, slog.New(slog.DiscardHandler)).Load(t.Context()))
	require.Equal(t, prior, b.inForce(env))
	require.Equal(t, 1, b.number("select count(*) from events where type = 'background.own_retired' and environment_id = $1", env.ID))
}

// Sums add up across environments; templates are read in one's own only.
func TestEnvironmentsThatShareLearnFromEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two, alone := b.environment(models.BackgroundShared), b.environment(models.BackgroundShared), b.environment(models.BackgroundOwn)
	b.enroll(one, between(0, 12)...)
	b.enroll(two, between(100, 110)...)
	b.enroll(alone, between(200, 210)...)
	require.Equal(t, backgrounds.TooFew, b.form(alone).Outcome, "people of others do not count")
	got := b.form(one)
	require.Equal(t, 22, got.People)
	require.Equal(t, 12, got.Comparison.People, "compared on the environment's own people")
	sandbox := storetest.Environment(t, b.store, models.Sandbox)
	b.exec("update environments set background = 'shared' where id = $1", sandbox.ID)
	require.Equal(t, backgrounds.TooFew, b.form(sandbox).Outcome, "a sandbox shares with sandboxes only")
}
