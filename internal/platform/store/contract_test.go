package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// beforeKeys is the last schema whose rows of some tables have no environment.
const beforeKeys = 59

// olderDatabase returns the URL of a database as a binary of an earlier version migrated it and wrote to it.
func olderDatabase(t *testing.T) string {
	t.Helper()
	url := testenv.EmptyDatabase(t)
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	dir, err := fs.Sub(models.Migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectPostgres, db, dir)
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), beforeKeys)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), olderWorld+olderDecision("old"))
	require.NoError(t, err)
	return url
}

const olderWorld = `insert into tenants values ('tnt_1', 'Test', now());
	insert into environments (id, tenant_id, kind, rp_id, rp_name, rp_origins, created_at) values ('env_1', 'tnt_1', 'sandbox', 'localhost', '', '{}', now());
	insert into credentials (id, tenant_id, environment_id, scope, name, preview, created_at, created_by) values ('crd_1', 'tnt_1', 'env_1', 'server', '', '', now(), '');
	insert into webhook_endpoints (id, tenant_id, environment_id, url, description, events, status, created_at, updated_at)
		values ('whe_1', 'tnt_1', 'env_1', '', '', '{}', 'enabled', now(), now());
	insert into idempotency_keys (credential_id, key, operation, request_hash, created_at) values ('crd_deleted', 'k', '', '', now());`

// olderDecision are the statements by which an earlier version stores a decision and what belongs to it.
func olderDecision(n string) string {
	return fmt.Sprintf(`insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at)
		values ('sub_%[1]s', 'tnt_1', 'env_1', 'user-%[1]s', 'active', 'none', now(), now());
	insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, actor, resource_type, resource_digest,
		context_digest, action_hash, audience, nonce, request_hash, requested_at, decided_at, latency_ms, trace_id, mode, decision, reason_codes, policy_version,
		policy_hash, coverage, insufficient) values ('azn_%[1]s', 'tnt_1', 'env_1', 'crd_1', 'act_1', 'a', 'sub_%[1]s', '', '', '', '', '', '', '%[1]s', '', now(), now(), 1, '',
		'enforce', 'hold', '{}', 1, '', 'none', false);
	insert into challenges (id, tenant_id, environment_id, authorization_id, subject_uid, status, methods, display, display_digest, action_hash, random,
		created_at, expires_at) values ('chl_%[1]s', 'tnt_1', 'env_1', 'azn_%[1]s', 'sub_%[1]s', 'open', '{}', '{}', '', '', '', now(), now());
	insert into challenge_links (mac, challenge_id, created_at, expires_at) values ('%[1]s', 'chl_%[1]s', now(), now());
	insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status, opened_at, remind_at, due_at)
		values ('azn_%[1]s', 'tnt_1', 'env_1', 'act_1', 'sub_%[1]s', 'high', 'pending', now(), now(), now());
	insert into hold_viewers values ('azn_%[1]s', 'person:1', now());
	insert into reviews (authorization_id, reviewer, resolution, at) values ('azn_%[1]s', 'person:1', 'approve', now())
		on conflict (authorization_id, reviewer) do update set resolution = 'approve';
	insert into move_requests (target, digest, authorization_id, move, actor, request_id, requested_at) values ('azn_%[1]s', '', 'azn_%[1]s', 'approve', '', '', now());
	insert into webhook_deliveries (id, endpoint_id, event_id, type, status, next_attempt_at, created_at)
		values ('del_%[1]s', 'whe_1', 'evt_%[1]s', '', 'pending', now(), now()) on conflict (endpoint_id, event_id, replay) do nothing;
	insert into webhook_attempts (id, delivery_id, endpoint_id, event_id, type, attempt, at, latency_ms, succeeded)
		values ('att_%[1]s', 'del_%[1]s', 'whe_1', 'evt_%[1]s', '', 1, now(), 1, true);
	insert into idempotency_keys (credential_id, key, operation, request_hash, created_at) values ('crd_1', '%[1]s', '', '', now())
		on conflict (credential_id, key) do update set operation = '';`, n)
}

// filled are the tables whose rows received their environment from another row.
var filled = []string{"challenge_links", "hold_viewers", "reviews", "move_requests", "webhook_deliveries", "webhook_attempts", "idempotency_keys"}

// keyDefinitions describes the keys, indexes and columns of a database.
func keyDefinitions(t *testing.T, st *store.Store) [][2]string {
	t.Helper()
	return pairs(t, st, `select indexname::text, indexdef from pg_indexes where schemaname = 'public'
		union all select conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
		union all select table_name || '.' || column_name, is_nullable from information_schema.columns where table_schema = 'public' order by 1, 2`)
}

func TestContractMakesTheKeysOfANewDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := store.Open(ctx, olderDatabase(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	before, _, err := st.Migrate(ctx)
	require.NoError(t, err)
	require.LessOrEqual(t, before, int64(beforeKeys))
	_, err = st.Pool().Exec(ctx, olderDecision("during"))
	require.NoError(t, err, "an earlier version runs until the contraction")
	for _, table := range filled {
		rows := pairs(t, st, "select coalesce(environment_id, ''), '' from "+table+" where to_jsonb("+table+") ->> 'credential_id' is distinct from 'crd_deleted'")
		require.Equal(t, [][2]string{{"env_1"}, {"env_1"}}, rows, table)
	}

	interrupted, cancel := context.WithCancel(ctx)
	_, err = st.Contract(interrupted, func(done, total int) {
		if done == total/2 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	steps := 0
	_, err = st.Contract(ctx, func(_, total int) { steps = total })
	require.NoError(t, err)
	require.Positive(t, steps)
	require.Equal(t, keyDefinitions(t, undivided(t)), keyDefinitions(t, st))
	for _, table := range filled {
		require.Len(t, pairs(t, st, "select environment_id, '' from "+table), 2, table)
	}
	_, err = st.Contract(ctx, func(_, total int) { steps = total })
	require.NoError(t, err)
	require.Zero(t, steps, "nothing is left to do")
}

// Requests are served while the keys are replaced: none fails, and no key is out of force.
func TestContractServesRequests(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := store.Open(ctx, olderDatabase(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	_, _, err = st.Migrate(ctx)
	require.NoError(t, err)

	var stop atomic.Bool
	var writers sync.WaitGroup
	failures := make(chan error, 4)
	for w := range 4 {
		writers.Go(func() {
			for n := 0; !stop.Load(); n++ {
				if err := traffic(ctx, st, fmt.Sprintf("%d_%d", w, n)); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	_, err = st.Contract(ctx, func(int, int) {})
	stop.Store(true)
	writers.Wait()
	require.NoError(t, err)
	close(failures)
	require.NoError(t, <-failures)
}

// traffic writes a session with an idempotency key, whose repetition is refused, and removes its subject.
func traffic(ctx context.Context, st *store.Store, n string) error {
	at := storetest.Epoch
	if _, err := st.Subjects().Create(ctx, models.Subject{UID: "sub_" + n, TenantID: "tnt_1", EnvironmentID: "env_1", ExternalID: "user-" + n,
		Status: models.SubjectActive, Enrollment: models.EnrollmentNone, CreatedAt: at, UpdatedAt: at}); err != nil {
		return err
	}
	if _, err := st.Pool().Exec(ctx, `insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at)
		values ($1, 'tnt_1', 'env_1', $2, 'desktop', 'active', now(), now())`, "ses_"+n, "sub_"+n); err != nil {
		return err
	}
	for _, want := range []bool{true, false} {
		key := models.IdempotencyKey{EnvironmentID: "env_1", CredentialID: "crd_1", Key: n, RequestHash: []byte{1}, CreatedAt: at}
		if reserved, err := st.Idempotency().Reserve(ctx, key, at); err != nil || reserved != want {
			return fmt.Errorf("reserved %v: %w", reserved, err)
		}
	}
	_, err := st.Pool().Exec(ctx, "delete from subjects where uid = $1", "sub_"+n)
	return err
}
