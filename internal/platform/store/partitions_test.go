package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// partWorld is the owner of the rows of these tests.
const partWorld = `insert into tenants values ('tnt_1', 'Test', now());
	insert into environments (id, tenant_id, kind, rp_id, rp_name, rp_origins, created_at) values ('env_1', 'tnt_1', 'sandbox', 'localhost', '', '{}', now());
	insert into credentials (id, tenant_id, environment_id, scope, name, preview, created_at, created_by) values ('crd_1', 'tnt_1', 'env_1', 'server', '', '', now(), '');
	insert into webhook_endpoints (id, tenant_id, environment_id, url, description, events, status, created_at, updated_at)
		values ('whe_1', 'tnt_1', 'env_1', '', '', '{}', 'enabled', now(), now());
	insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at)
		values ('sub_1', 'tnt_1', 'env_1', 'user-1', 'active', 'none', now(), now());`

// undivided returns a store on a new database, also if the setting COUNTERSIGN_TEST_PARTITIONED divides those of other tests.
func undivided(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), testenv.EmptyDatabase(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	_, _, err = st.Migrate(t.Context())
	require.NoError(t, err)
	return st
}

// newPartWorld is undivided, with the owner of the rows.
func newPartWorld(t *testing.T) *store.Store {
	t.Helper()
	st := undivided(t)
	_, err := st.Pool().Exec(t.Context(), partWorld)
	require.NoError(t, err)
	return st
}

// at writes one row of each divided table, made at a time.
func writeAt(ctx context.Context, st *store.Store, at time.Time, n int) error {
	id := func(prefix string) string { return ids.Lowest(prefix, at)[:24] + fmt.Sprintf("%06d", n) }
	for _, s := range []struct {
		query string
		args  []any
	}{
		{`insert into sessions (id, tenant_id, environment_id, subject_uid, device_class, status, started_at, last_activity_at)
			values ($1, 'tnt_1', 'env_1', 'sub_1', 'desktop', 'active', $2, $2)`, []any{id("ses"), at}},
		{`insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at, duration_ms, digest)
			values ($1, 'f1', 'env_1', 'sub_1', 'score', 'accepted', '{}', $2, $2, 1, '')`, []any{id("ses"), at}},
		{`insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, actor, resource_type, resource_digest,
			context_digest, action_hash, audience, nonce, request_hash, requested_at, decided_at, latency_ms, trace_id, mode, decision, reason_codes,
			policy_version, policy_hash, coverage, insufficient) values ($1, 'tnt_1', 'env_1', 'crd_1', 'act_1', 'a', 'sub_1', '', '', '', '', '', '', $1, '',
			$2, $2, 1, '', 'enforce', 'allow', '{}', 1, '', 'none', false)`, []any{id("azn"), at}},
		{`insert into proofs (jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, issued_at, expires_at)
			values ($1, 'tnt_1', 'env_1', $3, 'sub_1', '', '', 'active', $2, $2)`, []any{id("prf"), at, id("azn")}},
		{`insert into shown_details values ($1, 'tnt_1', 'env_1', 'sub_1', '\x01', $2)`, []any{id("azn"), at}},
		{`insert into kept_values values ($1, 'tnt_1', 'env_1', 'sub_1', '\x01', $2)`, []any{id("azn"), at}},
		{`insert into webhook_deliveries (id, endpoint_id, environment_id, event_id, type, status, next_attempt_at, created_at)
			values ($1, 'whe_1', 'env_1', $3, '', 'succeeded', $2, $2)`, []any{id("dlv"), at, id("evt")}},
		{`insert into webhook_attempts (id, delivery_id, environment_id, endpoint_id, event_id, type, attempt, at, latency_ms, succeeded)
			values ($1, $1, 'env_1', 'whe_1', $3, '', 1, $2, 1, true)`, []any{id("dlv"), at, id("evt")}},
		{`insert into events (id, tenant_id, environment_id, type, at, actor, digest) values ($1, 'tnt_1', 'env_1', '', $2, '', '')`, []any{id("evt"), at}},
		{`insert into audit_chain (environment_id, seq, event_id, previous, hash, sealed_at)
			select environment_id, seq, id, '', '', $2 from events where id = $1`, []any{id("evt"), at}},
	} {
		if _, err := st.Pool().Exec(ctx, s.query, s.args...); err != nil {
			return fmt.Errorf("%s: %w", s.query, err)
		}
	}
	return nil
}

// definitions describes the columns, indexes and constraints of the tables that are divided, as far as they are the same for a table
// that is not: the indexes of a table with a key that is replaced are not, nor are references to what is divided.
func definitions(t *testing.T, st *store.Store) (out [][2]string) {
	t.Helper()
	for _, p := range models.PartitionedTables {
		out = append(out, pairs(t, st, `select indexname::text, replace(indexdef, ' ON ONLY ', ' ON ') from pg_indexes where tablename = $1 and $2
			union all select 'constraint ' || conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = $1::text::regclass and ($2 or contype not in ('p', 'u'))
				and (contype <> 'f' or confrelid not in ('authorizations'::regclass, 'webhook_deliveries'::regclass))
			union all select attname::text, format_type(atttypid, atttypmod) || attnotnull || attstorage::text || attidentity::text || coalesce((select pg_get_expr(adbin, adrelid)
				from pg_attrdef where adrelid = attrelid and adnum = attnum), '') from pg_attribute where attrelid = $1::text::regclass and attnum > 0
			order by 1, 2`, p.Table, len(p.Replace) == 0)...)
	}
	return out
}

// rowsByPart counts the rows of each partition of a table.
func rowsByPart(t *testing.T, st *store.Store, table string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, part := range pairs(t, st, "select inhrelid::regclass::text, '' from pg_inherits where inhparent = $1::text::regclass", table) {
		out[part[0]] = pairs(t, st, "select count(*)::text, '' from "+part[0])[0][0]
	}
	return out
}

func shown(int, int) {}

var partNow = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func TestPartitionKeepsRowsKeysAndReferences(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	ctx := t.Context()
	for n := range 3 {
		require.NoError(t, writeAt(ctx, st, partNow.AddDate(0, -n, 0), 1))
	}
	before := definitions(t, st)
	made, err := st.Partition(ctx, partNow, shown)
	require.NoError(t, err)
	require.Equal(t, len(models.PartitionedTables), made)
	require.Equal(t, before, definitions(t, st))
	require.Equal(t, [][2]string{{"audit_chain_number", "environment_id, seq"}, {"audit_chain_pkey", "event_id, environment_id"}}, pairs(t, st,
		"select indexname::text, substring(indexdef from '[(](.*)[)]') from pg_indexes where tablename = 'audit_chain' order by 1"))
	require.Equal(t, map[string]string{"frames_00000000": "3", "frames_20261130": "0"}, rowsByPart(t, st, "frames"))
	require.Equal(t, map[string]string{"shown_details_00000000": "3", "shown_details_20261201": "0"}, rowsByPart(t, st, "shown_details"))
	require.Empty(t, pairs(t, st, "select conname::text, '' from pg_constraint where conname like '%fence'"))

	// The next week has its rows in a partition of its own, with the same keys and references.
	later := partNow.AddDate(0, 0, 14)
	require.NoError(t, writeAt(ctx, st, later, 1))
	require.Equal(t, "1", rowsByPart(t, st, "frames")["frames_20261130"])
	for _, at := range []time.Time{partNow, later} {
		session := ids.Lowest("ses", at)[:24] + "000001"
		_, err = st.Pool().Exec(ctx, `insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at,
			duration_ms, digest) values ($1, 'f1', 'env_1', 'sub_1', 'score', 'accepted', '{}', now(), now(), 1, '')`, session)
		require.True(t, store.Violates(err, "frames_pkey"), "%v", err)
		_, err = st.Pool().Exec(ctx, "delete from sessions where id = $1", session)
		require.NoError(t, err)
		require.Empty(t, pairs(t, st, "select session_id, '' from frames where session_id = $1", session), "the frames of a session are deleted with it")
	}
	made, err = st.Partition(ctx, partNow, shown)
	require.NoError(t, err)
	require.Zero(t, made)
}

// Requests are served while the tables are divided: none fails, and nothing is lost.
func TestPartitionServesRequests(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	ctx := t.Context()
	now := time.Now()
	var stop atomic.Bool
	var writers sync.WaitGroup
	var written atomic.Int64
	failures := make(chan error, 3)
	for w := range 3 {
		writers.Go(func() {
			for n := 0; !stop.Load() && n < 30000; n++ {
				if err := writeAt(ctx, st, now.Add(time.Duration(n)*time.Millisecond), w); err != nil {
					failures <- err
					return
				}
				written.Add(1)
			}
		})
	}
	made, err := st.Partition(ctx, now, shown)
	stop.Store(true)
	writers.Wait()
	require.NoError(t, err)
	require.Equal(t, len(models.PartitionedTables), made)
	close(failures)
	require.NoError(t, <-failures)
	for _, p := range models.PartitionedTables {
		require.Equal(t, fmt.Sprint(written.Load()), pairs(t, st, "select count(*)::text, '' from "+p.Table)[0][0], p.Table)
	}
	require.Empty(t, pairs(t, st, "select seq::text, '' from events group by seq having count(*) > 1"), "events are numbered on")
}

func TestPartitionContinuesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	for stop := range len(models.PartitionedTables) * 3 {
		interrupted, cancel := context.WithCancel(t.Context())
		_, err := st.Partition(interrupted, partNow, func(done, _ int) {
			if done == stop {
				cancel()
			}
		})
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		cancel()
		require.Empty(t, pairs(t, st, "select conname::text, '' from pg_constraint where conname like '%fence'"), "a fence would refuse rows once its time comes")
		require.NoError(t, writeAt(t.Context(), st, partNow.AddDate(1, 0, stop), 1))
		_, err = st.Pool().Exec(t.Context(), "delete from subjects; delete from authorizations; delete from proofs; delete from webhook_deliveries; delete from events; delete from audit_chain; "+
			"insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at) values ('sub_1', 'tnt_1', 'env_1', 'user-1', 'active', 'none', now(), now())")
		require.NoError(t, err)
	}
	_, err := st.Partition(t.Context(), partNow, shown)
	require.NoError(t, err)
	for _, p := range models.PartitionedTables {
		require.Len(t, rowsByPart(t, st, p.Table), 2, p.Table)
	}
}

func TestPartitionRefusesADatabaseThatOlderVersionsUse(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	_, err := st.Pool().Exec(t.Context(), "update schema_floor set version = 65")
	require.NoError(t, err)
	_, err = st.Partition(t.Context(), partNow, shown)
	require.ErrorIs(t, err, store.ErrNotContracted)
}

// A list entry has no reference to it, and the key in each unique key: otherwise a partition could not be dropped by itself.
func TestPartitionedTablesCanBeDivided(t *testing.T) {
	t.Parallel()
	st := undivided(t)
	for _, p := range models.PartitionedTables {
		require.Equal(t, models.PlacedByEnvironment, models.PlacementOf(p.Table))
		require.Empty(t, pairs(t, st, "select conname::text, conrelid::regclass::text from pg_constraint where contype = 'f' and confrelid = $1::text::regclass and conrelid::regclass::text <> all($2)",
			p.Table, append([]string{""}, p.Referred...)))
		replaced := []string{""}
		for _, r := range p.Replace {
			require.NotEmpty(t, r.Instead)
			replaced = append(replaced, r.Unique)
		}
		require.Empty(t, pairs(t, st, `select indexrelid::regclass::text, '' from pg_index where indisunique and indrelid = $1::text::regclass and not exists
			(select from pg_attribute where attrelid = indrelid and attname = $2 and attnum = any(indkey)) and indexrelid::regclass::text <> all($3)`, p.Table, p.Key, replaced))
		require.Equal(t, [][2]string{{"timestamp with time zone", "NO"}}, pairs(t, st, `select data_type::text, is_nullable::text from information_schema.columns
			where table_name = $1 and column_name = $2`, p.Table, p.Age))
	}
}
