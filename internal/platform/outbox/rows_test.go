package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// A relay does not read the rows that others have done since the last vacuum.
func TestDueWorkIsFoundAmongDeletedRows(t *testing.T) {
	t.Parallel()
	st := storetest.OneConnection(t, testenv.Database(t))
	storetest.Exec(t, st, "alter table outbox set (autovacuum_enabled = false)",
		`insert into outbox (topic, environment_id, ref, payload, created_at, available_at) select case when n % 500 = 0 then 'rare' else 'common' end, 'env_1', n, '{}', now() - interval '1 hour', now() - interval '1 hour'
			from generate_series(1, 20000) n`,
		"analyze outbox", "delete from outbox where id <= 19000")
	const scans = "select seq_scan::int from pg_stat_user_tables where relname = 'outbox'"
	before := storetest.Counted(t, st, scans)
	rows, err := outbox.Claim(t.Context(), st.Q, []string{"rare"}, 64, time.Time{}, time.Now(), time.Minute)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, before, storetest.Counted(t, st, scans))
}

// A busy relay does not read the index of what was done before its last claims.
func TestRecentWorkIsFoundBehindDeletedRows(t *testing.T) {
	t.Parallel()
	st := storetest.OneConnection(t, testenv.Database(t))
	now := time.Now()
	storetest.Exec(t, st, "alter table outbox set (autovacuum_enabled = false)",
		`insert into outbox (topic, environment_id, ref, payload, created_at, available_at) select 'test', 'env_1', n, '{}', now() - interval '1 hour', now() - interval '1 hour'
			from generate_series(1, 20000) n`, "analyze outbox", "delete from outbox where id > 10",
		`insert into outbox (topic, environment_id, ref, payload, created_at, available_at) select 'test', 'env_1', n, '{}', now(), now() from generate_series(1, 5) n`)
	const reads = "select (seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'outbox'))::int from pg_stat_user_tables where relname = 'outbox'"
	before := storetest.Counted(t, st, reads)
	rows, err := outbox.Claim(t.Context(), st.Q, []string{"test"}, 64, now.Add(-time.Minute), now.Add(time.Minute), time.Minute)
	require.NoError(t, err)
	require.Len(t, rows, 5)
	require.LessOrEqual(t, storetest.Counted(t, st, reads)-before, 20)
	rows, err = outbox.Claim(t.Context(), st.Q, []string{"test"}, 64, time.Time{}, now, time.Minute)
	require.NoError(t, err)
	require.Len(t, rows, 10)
}

// A connection that made its plans while the outbox was nearly empty does not read every row that was deleted since.
func TestWorkIsFoundByAPlanOfASmallOutbox(t *testing.T) {
	t.Parallel()
	st := storetest.OneConnection(t, testenv.Database(t))
	storetest.Exec(t, st, "alter table outbox set (autovacuum_enabled = false)")
	const fill = `insert into outbox (topic, environment_id, ref, payload, created_at, available_at) select 'test', 'env_1', n, '{}', now(), now() from generate_series(1, %d) n`
	claim := func() (ids []int64) {
		now := time.Now().Add(time.Second)
		rows, err := outbox.Claim(t.Context(), st.Q, []string{"test"}, 4, now.Add(-time.Minute), now, time.Hour)
		require.NoError(t, err)
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		require.NoError(t, outbox.DeleteEntries(t.Context(), st.Q, ids))
		return ids
	}
	for range 10 {
		storetest.Exec(t, st, fmt.Sprintf(fill, 4))
		require.Len(t, claim(), 4)
	}
	storetest.Exec(t, st, fmt.Sprintf(fill, 5000), "delete from outbox where id % 100 <> 0")
	const scans = "select seq_scan::int from pg_stat_user_tables where relname = 'outbox'"
	before := storetest.Counted(t, st, scans)
	require.Len(t, claim(), 4)
	require.Equal(t, before, storetest.Counted(t, st, scans))
}
