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
	st := overOneConnection(t, testenv.Database(t))
	const insert = `insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at)
		select 'whd_%[1]s' || n, 'env_1', 'whe_1', 'evt_%[1]s' || n, 'subject.created', '%[1]s', now(), now() from generate_series(1, 2000) n`
	execute(t, st, "set session_replication_role = replica", // without foreign keys: the endpoint does not exist
		fmt.Sprintf(insert, "succeeded"), "analyze webhook_deliveries", fmt.Sprintf(insert, "pending"))
	var made []store.Attempted
	for i := range 30 {
		made = append(made, store.Attempted{Status: "succeeded", WebhookAttempt: models.WebhookAttempt{
			ID: fmt.Sprintf("wha_%d", i), DeliveryID: fmt.Sprintf("whd_pending%d", i+1), EndpointID: "whe_1", EnvironmentID: "env_1",
			EventID: fmt.Sprintf("evt_pending%d", i+1), Type: "subject.created", Attempt: 1, At: time.Now(), Succeeded: true,
		}})
	}
	require.NoError(t, st.Deliveries().RecordAttempts(t.Context(), made))
	require.Zero(t, counted(t, st, `select sum(i.idx_tup_read)::int from pg_stat_user_indexes i join pg_indexes d
		on d.schemaname = i.schemaname and d.indexname = i.indexrelname where i.relname ~ '^webhook_deliveries' and d.indexdef ~ 'WHERE .*pending'`))
	require.Equal(t, [][2]string{{"pending", "1970"}, {"succeeded", "2030"}},
		pairs(t, st, "select status, count(*)::text from webhook_deliveries group by 1 order by 1"))
}
