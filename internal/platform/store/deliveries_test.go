package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// The planner knows of no pending delivery when there are many: those that wait for others are not read.
func TestAttemptsReadTheirDeliveriesOnly(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st := overOneConnection(t)
	const insert = `insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at)
		select 'whd_%[1]s' || n, 'env_1', 'whe_1', 'evt_%[1]s' || n, 'subject.created', '%[1]s', now(), now() from generate_series(1, 2000) n`
	for _, s := range []string{
		"set session_replication_role = replica", // without foreign keys: the endpoint does not exist
		fmt.Sprintf(insert, "succeeded"), "analyze webhook_deliveries", fmt.Sprintf(insert, "pending"),
	} {
		_, err := st.Pool().Exec(ctx, s)
		require.NoError(t, err)
	}
	var made []store.Attempted
	for i := range 30 {
		made = append(made, store.Attempted{Status: "succeeded", WebhookAttempt: models.WebhookAttempt{
			ID: fmt.Sprintf("wha_%d", i), DeliveryID: fmt.Sprintf("whd_pending%d", i+1), EndpointID: "whe_1", EnvironmentID: "env_1",
			EventID: fmt.Sprintf("evt_pending%d", i+1), Type: "subject.created", Attempt: 1, At: time.Now(), Succeeded: true,
		}})
	}
	require.NoError(t, st.Deliveries().RecordAttempts(ctx, made))
	require.Equal(t, "0", counted(t, st, `select sum(i.idx_tup_read)::text from pg_stat_user_indexes i join pg_indexes d
		on d.schemaname = i.schemaname and d.indexname = i.indexrelname where i.relname ~ '^webhook_deliveries' and d.indexdef ~ 'WHERE .*pending'`))
	require.Equal(t, [][2]string{{"pending", "1970"}, {"succeeded", "2030"}},
		pairs(t, st, "select status, count(*)::text from webhook_deliveries group by 1 order by 1"))
}

// overOneConnection returns a new database's store, of whose statements counted knows.
func overOneConnection(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), testenv.Database(t), store.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// counted returns a count of the statistics, which includes what the only connection has done.
func counted(t *testing.T, st *store.Store, query string) (n string) {
	t.Helper()
	_, err := st.Pool().Exec(t.Context(), "select pg_stat_force_next_flush()")
	require.NoError(t, err)
	require.NoError(t, st.Pool().QueryRow(t.Context(), query).Scan(&n))
	return n
}
