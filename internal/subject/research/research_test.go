package research_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

var now = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

const (
	by   = "upkeep/research-salts"
	life = 30 * 24 * time.Hour
)

type bundle struct {
	*fixture.World
	setting string // of the master keys
	service *research.Service
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{World: fixture.New(t, testenv.Store(t), now), setting: keyring.Generate()}
	b.service = b.with(t, b.setting, true)
	b.Exec("update environments set research_enabled = true where id = $1", b.Scope.Environment)
	b.Exec("update subjects set research_consent = true where uid = $1", b.Subject.UID)
	return b
}

func (b *bundle) with(t *testing.T, masterKeys string, enabled bool) *research.Service {
	t.Helper()
	keys, err := keyring.Parse(masterKeys)
	require.NoError(t, err)
	return research.New(b.Store, keys, enabled)
}

func (b *bundle) keep(t *testing.T, s *research.Service, after time.Duration) bool {
	t.Helper()
	kept := false
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) (err error) {
		kept, err = s.Save(t.Context(), q, b.Scope, research.Vector{SubjectUID: b.Subject.UID, DeviceClass: "desktop", Data: []byte{1}, At: now.Add(after)})
		return err
	}))
	return kept
}

func (b *bundle) forget(t *testing.T, s *research.Service) int64 {
	t.Helper()
	var n int64
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) (err error) {
		n, err = s.Forget(t.Context(), q, b.Scope.Environment, b.Subject.UID)
		return err
	}))
	return n
}

// samples returns the vectors that training reads.
func (b *bundle) samples(t *testing.T, r research.Range) []research.Sample {
	t.Helper()
	var out []research.Sample
	require.NoError(t, research.ListVectors(t.Context(), b.Store.Q, r, func(s research.Sample) error {
		out = append(out, s)
		return nil
	}))
	return out
}

// The caller checks the consent of the frame; Save requires all others.
func TestSaveRequiresAllConsents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		enabled bool
		spoil   string
	}{
		"the deployment is off":       {false, ""},
		"the environment is off":      {true, "update environments set research_enabled = false"},
		"the subject did not consent": {true, "update subjects set research_consent = false"},
		"the subject is revoked":      {true, "update subjects set status = 'revoked'"},
		"the subject is being erased": {true, "update subjects set status = 'erasing'"},
	} {
		if c.spoil != "" {
			b.Exec(c.spoil)
		}
		require.False(t, b.keep(t, b.with(t, b.setting, c.enabled), 0), name)
		b.Exec("update environments set research_enabled = true")
		b.Exec("update subjects set research_consent = true, status = 'active'")
	}
	require.Zero(t, b.Count("select count(*) from research_vectors"))
	var none *research.Service
	require.False(t, b.keep(t, none, 0))
	require.True(t, b.keep(t, b.service, 0))
	require.Equal(t, 1, b.Count("select count(*) from research_vectors"))
}

func TestPseudonymIsStableWithinOnePeriodOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.True(t, b.keep(t, b.service, 0))
	require.True(t, b.keep(t, b.service, time.Hour))
	rotate := func(after time.Duration) int {
		n, _, err := b.service.Rotate(t.Context(), life, now.Add(after), by)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, rotate(life-time.Microsecond))
	require.Equal(t, 1, b.Count("select count(*) from research_periods where salt is not null"))
	require.Equal(t, 1, rotate(life))
	require.Zero(t, b.Count("select count(*) from research_periods where salt is not null"), "the salt is destroyed")
	require.Equal(t, 1, b.Events("research.salt_destroyed"))
	require.Zero(t, rotate(life), "once")
	require.True(t, b.keep(t, b.service, life+time.Hour))

	found := b.samples(t, research.Range{Environment: b.Scope.Environment})
	require.Len(t, found, 3)
	byPeriod := map[string]map[string]int{}
	for _, s := range found {
		if byPeriod[s.Period] == nil {
			byPeriod[s.Period] = map[string]int{}
		}
		byPeriod[s.Period][string(s.Pseudonym)]++
	}
	require.Len(t, byPeriod, 2)
	names := map[string]bool{}
	for _, people := range byPeriod {
		require.Len(t, people, 1, "one person has one pseudonym in a period")
		for name := range people {
			names[name] = true
		}
	}
	require.Len(t, names, 2, "and a different pseudonym in the next")
	require.Len(t, b.samples(t, research.Range{From: now.Add(24 * time.Hour)}), 1, "a range of time")
	require.Empty(t, b.samples(t, research.Range{Environment: "env_other"}))
}

// The columns of a vector must not lead back to its frame: no id of the service, no time of day.
func TestVectorDoesNotRevealItsFrame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.True(t, b.keep(t, b.service, 0))
	require.Equal(t, 1, b.Count("select count(*) from research_vectors where created_at = date_trunc('day', $1::timestamptz, 'UTC')", now))
	require.Zero(t, b.Count(`select count(*) from research_vectors v, research_links l, research_periods p
		where to_jsonb(v)::text || to_jsonb(l)::text || to_jsonb(p)::text like '%' || $1 || '%'`, b.Subject.UID))
	require.Zero(t, b.Count(`select count(*) from research_vectors v, research_links l where position(v.pseudonym in l.pseudonym) > 0`), "the link is sealed")
}

func TestForgetFindsEveryPeriodUnderEveryMasterKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.True(t, b.keep(t, b.service, 0))
	_, _, err := b.service.Rotate(t.Context(), life, now.Add(life), by)
	require.NoError(t, err)
	require.True(t, b.keep(t, b.service, life))
	rotated := b.with(t, keyring.Generate()+","+b.setting, false)
	require.True(t, b.keep(t, b.with(t, keyring.Generate()+","+b.setting, true), life), "a master key is added within a period")
	pseudonyms, err := rotated.Pseudonyms(t.Context(), b.Store.Q, b.Scope.Environment, b.Subject.UID)
	require.NoError(t, err)
	require.Len(t, pseudonyms, 2)
	require.EqualValues(t, 3, b.forget(t, rotated), "a disabled service still deletes")
	require.Zero(t, b.Count("select count(*) from research_vectors"))
	require.Zero(t, b.forget(t, rotated))
	require.Equal(t, 1, b.Count("select count(*) from research_links"), "the link under a key that is unknown here is deleted with it")
}

func TestRecordLearningAppendsToEverySourceEnvironment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	learned := func(r research.Range) {
		require.NoError(t, b.service.RecordLearning(t.Context(), r, events.BackgroundLearnedData{Version: "v1", Modality: "keystroke", People: 20}, now, "cli:background learn"))
	}
	learned(research.Range{})
	require.Zero(t, b.Events("background.learned"), "no vector of it was read")
	require.True(t, b.keep(t, b.service, 0))
	learned(research.Range{})
	learned(research.Range{Environment: b.Scope.Environment, From: now.Add(-48 * time.Hour), Until: now.Add(time.Hour)})
	learned(research.Range{Until: now.Add(-48 * time.Hour)})
	require.Equal(t, 2, b.Events("background.learned"))
	require.Equal(t, 1, b.Count("select min((data->>'vectors')::int) from events where type = 'background.learned'"))
}

func TestSetEnabledOffEndsThePeriodAndRemovesVectors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sw := func(on, remove bool) int64 {
		n, err := b.service.SetEnabled(t.Context(), b.Scope, on, remove, now, "cli:tenant research")
		require.NoError(t, err)
		return n
	}
	require.True(t, b.keep(t, b.service, 0))
	require.Zero(t, sw(false, false))
	require.False(t, b.keep(t, b.service, 0))
	require.Zero(t, b.Count("select count(*) from research_periods where salt is not null"))
	require.Equal(t, 1, b.Count("select count(*) from research_vectors"), "stored vectors stay until their retention ends")
	require.EqualValues(t, 1, sw(false, true))
	require.Equal(t, 1, b.Events("environment.updated"))
	require.Equal(t, 1, b.Events("research.vectors_removed"))
	sw(true, false)
	require.True(t, b.keep(t, b.service, 0))
	_, err := b.service.SetEnabled(context.Background(), pg.Scope{Tenant: b.Scope.Tenant, Environment: "env_other"}, true, false, now, "cli:x")
	require.ErrorIs(t, err, pg.ErrNotFound)
}
