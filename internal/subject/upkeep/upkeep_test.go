package upkeep_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const by = "upkeep/test"

// keys records the environments whose keys were rotated and retired.
type keys struct {
	rotated, retired []pg.Scope
	err              error // of a rotation
}

func (k *keys) Rotate(_ context.Context, s pg.Scope, _ string) ([]models.SigningKey, error) {
	k.rotated = append(k.rotated, s)
	return nil, k.err
}

func (k *keys) Retire(_ context.Context, s pg.Scope, _ string) (int, error) {
	k.retired = append(k.retired, s)
	return 1, nil
}

type bundle struct {
	*fixture.World
	keys    *keys
	service *upkeep.Service
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := testenv.Store(t)
	b := &bundle{World: fixture.New(t, st, now), keys: &keys{}}
	c := clock.NewFake(now)
	var err error
	b.service, err = upkeep.New(upkeep.CoreTasks(upkeep.CoreDeps{
		Store: st, Challenges: challenge.New(challenge.Deps{Store: st, Clock: c}), Holds: hold.New(hold.Deps{Store: st, Clock: c}),
		Changes: change.New(change.Deps{Store: st, Clock: c}), Evaluations: evaluation.New(st, c), Keys: b.keys,
	})...)
	require.NoError(t, err)
	return b
}

// run runs a task as of some time after now and returns how many items it processed.
func (b *bundle) run(t *testing.T, task string, after time.Duration) int {
	t.Helper()
	all := 0
	for {
		done, more, err := b.service.Run(t.Context(), task, now.Add(after), by)
		require.NoError(t, err)
		all += done
		if !more {
			return all
		}
	}
}

func TestNewRejectsIncompleteTasks(t *testing.T) {
	t.Parallel()
	do := func(context.Context, time.Time, string) (int, bool, error) { return 0, false, nil }
	whole := upkeep.Task{Name: "a", Every: time.Hour, Do: do}
	for name, tasks := range map[string][]upkeep.Task{
		"duplicate": {whole, whole},
		"no name":   {{Every: time.Hour, Do: do}},
		"no times":  {{Name: "a", Do: do}},
		"no work":   {{Name: "a", Every: time.Hour}},
	} {
		_, err := upkeep.New(tasks...)
		require.Error(t, err, name)
	}
	s, err := upkeep.New(whole)
	require.NoError(t, err)
	_, _, err = s.Run(t.Context(), "b", now, by)
	require.True(t, problem.Is(err, problem.NotFound), "the schedule of a different version is rejected permanently: %v", err)
}

// A record that its workflow should have settled is settled after a minute of grace, by the service's own transition.
func TestOverdueTasksSettleAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	for task, c := range map[string]struct {
		open  func(b *bundle)
		event string
	}{
		"overdue-challenges": {func(b *bundle) { b.Challenge(time.Hour, "sandbox_confirm") }, "challenge.expired"},
		"overdue-holds":      {func(b *bundle) { b.Hold(time.Hour, 1) }, "hold.expired"},
		"overdue-changes": {func(b *bundle) {
			b.Exec(`insert into changes (id, tenant_id, environment_id, kind, status, target, proposed, base, differences, digest, proposed_by,
				principal, created_at, expires_at) values ('chg_' || gen_random_uuid(), $1, $2, 'action.mode', 'pending', 'act_1', '{}', '{}', '[]',
				decode(md5(random()::text), 'hex'), 'credential:crd_1', 'credential:crd_1', $3::timestamptz, $3::timestamptz + interval '1 hour')`,
				b.Scope.Tenant, b.Scope.Environment, now)
		}, "change.expired"},
		"overdue-evaluations": {func(b *bundle) {
			b.Exec(`insert into evaluations (id, tenant_id, environment_id, name, action_keys, action_ids, success_criteria, status, starts_at,
				ends_at, created_at) values ('evl_' || gen_random_uuid(), $1, $2, 'x', '{}', '{}', '{}', 'open', $3::timestamptz, $3::timestamptz + interval '1 hour', $3)`,
				b.Scope.Tenant, b.Scope.Environment, now)
		}, "evaluation.closed"},
	} {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c.open(b)
			c.open(b)
			require.Zero(t, b.run(t, task, time.Hour+time.Minute))
			require.Equal(t, 2, b.run(t, task, time.Hour+time.Minute+time.Microsecond))
			require.Equal(t, 2, b.Events(c.event))
			require.Zero(t, b.run(t, task, 2*time.Hour))
		})
	}
}

func (b *bundle) session(id string, status string, active time.Time) {
	b.Exec(`insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at)
		values ($1, $2, $3, $4, 'desktop', $5, $6, $6)`, id, b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, status, active)
}

func TestIdleSessionsExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.session("ses_idle", "active", now)
	b.session("ses_busy", "active", now.Add(time.Second))
	b.session("ses_ended", "ended", now)
	b.Exec("update sessions set coverage = 'sufficient' where id = 'ses_idle'")
	require.Equal(t, 1, b.run(t, "idle-sessions", assurance.SessionIdle+time.Second))
	require.Equal(t, 1, b.Count("select count(*) from sessions where id = 'ses_idle' and status = 'expired' and ended_at is not null"))
	require.Equal(t, 1, b.Count("select count(*) from sessions where id = 'ses_busy' and status = 'active'"))
	require.Equal(t, 1, b.Events("session.expired"))
	require.Equal(t, 1, b.Count("select count(*) from outbox where topic = 'adaptation.start' and ref = 'ses_idle'"), "its evidence adapts the templates")
}

func TestSigningKeysRotateAtTheEndOfTheirLife(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`insert into signing_keys (kid, tenant_id, environment_id, status, public_jwk, sealed, created_at, activated_at, retiring_at)
		values ('a', $1, $2, 'active', '{}', '\x00', $3, $3, null), ('b', $1, $2, 'retiring', '{}', '\x00', $3, $3, $3)`,
		b.Scope.Tenant, b.Scope.Environment, now)
	b.run(t, "signing-keys", upkeep.KeyLife)
	require.Empty(t, b.keys.rotated)
	require.Equal(t, []pg.Scope{b.Scope}, b.keys.retired, "the service decides whether a key is due")
	require.Equal(t, 1, b.run(t, "signing-keys", upkeep.KeyLife+time.Second))
	require.Equal(t, []pg.Scope{b.Scope}, b.keys.rotated)

	// A next key that was just replaced is used at the next run of the task: verifiers must be able to fetch it first.
	b.keys.err = problem.New(problem.RotationInProgress, "replaced")
	require.Equal(t, 1, b.run(t, "signing-keys", upkeep.KeyLife+time.Second))
	b.keys.err = errors.New("unavailable")
	_, _, err := b.service.Run(t.Context(), "signing-keys", now.Add(upkeep.KeyLife+time.Second), by)
	require.ErrorIs(t, err, b.keys.err)
}

func TestRunReportsAFailedBatch(t *testing.T) {
	t.Parallel()
	unavailable := errors.New("unavailable")
	s, err := upkeep.New(upkeep.Task{Name: "a", Every: time.Hour, Do: func(context.Context, time.Time, string) (int, bool, error) { return 3, true, unavailable }})
	require.NoError(t, err)
	_, _, err = s.Run(t.Context(), "a", now, by)
	require.ErrorIs(t, err, unavailable)
}
