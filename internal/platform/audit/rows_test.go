package audit_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// The links of a young log, of which no number is known, are read once and not looked up for each event.
func TestLinksOfAWholeLogAreReadOnce(t *testing.T) {
	t.Parallel()
	st := storetest.OneConnection(t, testenv.Database(t))
	storetest.Exec(t, st, "set session_replication_role = replica", // without foreign keys
		`insert into events (id, tenant_id, environment_id, type, at, actor, digest)
			select 'evt_' || n, 'tnt_1', 'env_1', 'subject.created', now(), '', '' from generate_series(1, 500) n`,
		`insert into audit_chain (environment_id, seq, event_id, previous, hash, sealed_at)
			select environment_id, row_number() over (order by seq), id, '', '', now() from events where id <> 'evt_7'`)
	const scans = "select sum(idx_scan)::int from pg_stat_user_indexes where relname = 'audit_chain'"
	before := storetest.Counted(t, st, scans)
	require.NoError(t, st.Write(t.Context(), func(q *pg.Q) error {
		rows, err := audit.UnsealedEvents(t.Context(), q, "env_1", audit.Stretch{UpTo: math.MaxInt64, Short: true}, 10)
		require.Len(t, rows, 1)
		return err
	}))
	require.LessOrEqual(t, storetest.Counted(t, st, scans)-before, 1)
}

// Each batch of a backlog reads what it seals, and not what others before it have sealed.
func TestABacklogIsSealedInLinearTime(t *testing.T) {
	t.Parallel()
	const entries = 30_000
	st := storetest.OneConnection(t, testenv.Database(t))
	storetest.Exec(t, st, "insert into tenants values ('tnt_1', 'Test', now())",
		`insert into environments (id, tenant_id, kind, rp_id, rp_name, rp_origins, created_at) values ('env_1', 'tnt_1', 'sandbox', 'localhost', '', '{}', now())`,
		`insert into events (id, tenant_id, environment_id, type, at, actor, digest)
			select 'evt_' || n, 'tnt_1', 'env_1', 'subject.created', now(), '', '' from generate_series(1, `+strconv.Itoa(entries)+`) n`, "analyze")
	sealer := &audit.Sealer{Store: st, Clock: clock.System()}
	const read = `select sum(idx_tup_read + coalesce(seq_tup_read, 0))::int from pg_stat_user_indexes i join pg_stat_user_tables t using (relid)
		where i.relname in ('events', 'audit_chain')`
	before := storetest.Counted(t, st, read)
	n, err := sealer.SealAll(t.Context())
	require.NoError(t, err)
	require.Equal(t, entries, n)
	require.Less(t, storetest.Counted(t, st, read)-before, 8*entries, "rows read")
}
