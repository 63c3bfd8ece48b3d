package store_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// A log that an earlier version sealed is not read again from its beginning.
func TestMigrationBeginsBehindWhatWasSealed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := store.Open(ctx, olderDatabase(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	const event = `insert into events (id, tenant_id, environment_id, type, at, actor, digest)
		select %s || n, 'tnt_1', 'env_' || %d, 'subject.created', now(), '', '' from generate_series(1, %d) n;`
	// Environment 1 has more links than are read again, 2 waits in part, 3 waits wholly and was never sealed.
	for _, s := range []string{
		fmt.Sprintf(event, "'a'", 1, 3000), fmt.Sprintf(event, "'b'", 2, 5), fmt.Sprintf(event, "'c'", 3, 2),
		`insert into audit_chain select environment_id, row_number() over (partition by environment_id order by seq), id, '', '', now() from events
			where environment_id = 'env_1' or id in ('b1', 'b2')`,
		`insert into audit_heads select environment_id, v.txid, v.seq, c.seq, '' from (select distinct on (environment_id) * from audit_chain
			order by environment_id, seq desc) c join events v using (environment_id) where v.id = c.event_id`,
	} {
		_, err = st.Pool().Exec(ctx, s)
		require.NoError(t, err)
	}
	_, _, err = st.Migrate(ctx)
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"env_1", "2000"}, {"env_2", "3000"}},
		pairs(t, st, "select environment_id, settled::text from audit_heads where late = settled order by 1"))
	rows, err := st.Audit().Unsealed(ctx, "env_2", store.Stretch{After: 3000, UpTo: 9000}, 10)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	unsealed, err := st.Audit().UnsealedEnvironments(ctx, false)
	require.NoError(t, err)
	require.Equal(t, []string{"env_1"}, unsealed, "the others are no environments of this database")
}

// The links of a young log, of which no number is known, are read once and not looked up for each event.
func TestLinksOfAWholeLogAreReadOnce(t *testing.T) {
	t.Parallel()
	st := overOneConnection(t, testenv.Database(t))
	execute(t, st, "set session_replication_role = replica", // without foreign keys
		`insert into events (id, tenant_id, environment_id, type, at, actor, digest)
			select 'evt_' || n, 'tnt_1', 'env_1', 'subject.created', now(), '', '' from generate_series(1, 500) n`,
		`insert into audit_chain (environment_id, seq, event_id, previous, hash, sealed_at)
			select environment_id, row_number() over (order by seq), id, '', '', now() from events where id <> 'evt_7'`)
	const scans = "select sum(idx_scan)::int from pg_stat_user_indexes where relname = 'audit_chain'"
	before := counted(t, st, scans)
	require.NoError(t, st.Write(t.Context(), func(q *store.Q) error {
		rows, err := q.Audit().Unsealed(t.Context(), "env_1", store.Stretch{UpTo: math.MaxInt64}, 10)
		require.Len(t, rows, 1)
		return err
	}))
	require.LessOrEqual(t, counted(t, st, scans)-before, 1)
}
