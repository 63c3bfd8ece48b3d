package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// A relay does not read the rows that others have done since the last vacuum.
func TestDueWorkIsFoundAmongDeletedRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := store.Open(ctx, testenv.Database(t), store.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	for _, s := range []string{
		"alter table outbox set (autovacuum_enabled = false)",
		`insert into outbox (topic, environment_id, ref, payload, created_at, available_at) select case when n % 500 = 0 then 'rare' else 'common' end, 'env_1', n, '{}', now() - interval '1 hour', now() - interval '1 hour'
			from generate_series(1, 20000) n`,
		"analyze outbox", "delete from outbox where id <= 19000",
	} {
		_, err = st.Pool().Exec(ctx, s)
		require.NoError(t, err)
	}
	scans := func() string {
		_, err = st.Pool().Exec(ctx, "select pg_stat_force_next_flush()") // the counts of the only connection
		require.NoError(t, err)
		return pairs(t, st, "select seq_scan::text, '' from pg_stat_user_tables where relname = 'outbox'")[0][0]
	}
	before := scans()
	rows, err := st.Outbox().Claim(ctx, []string{"rare"}, 64, time.Now(), time.Minute)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, before, scans())
}
