package webhook

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// The planner knows of no pending delivery when there are many: those that wait for others are not read.
func TestAttemptsReadTheirDeliveriesOnly(t *testing.T) {
	t.Parallel()
	st := storetest.OneConnection(t, testenv.Database(t))
	const insert = `insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at)
		select 'whd_%[1]s' || n, 'env_1', 'whe_1', 'evt_%[1]s' || n, 'subject.created', '%[1]s', now(), now() from generate_series(1, 2000) n`
	storetest.Exec(t, st, "set session_replication_role = replica", // without foreign keys: the endpoint does not exist
		fmt.Sprintf(insert, "succeeded"), "analyze webhook_deliveries", fmt.Sprintf(insert, "pending"))
	var made []Attempted
	for i := range 30 {
		made = append(made, Attempted{Status: "succeeded", WebhookAttempt: models.WebhookAttempt{
			ID: fmt.Sprintf("wha_%d", i), DeliveryID: fmt.Sprintf("whd_pending%d", i+1), EndpointID: "whe_1", EnvironmentID: "env_1",
			EventID: fmt.Sprintf("evt_pending%d", i+1), Type: "subject.created", Attempt: 1, At: time.Now(), Succeeded: true,
		}})
	}
	require.NoError(t, recordAttempts(t.Context(), st.Q, made))
	require.Zero(t, storetest.Counted(t, st, `select sum(i.idx_tup_read)::int from pg_stat_user_indexes i join pg_indexes d
		on d.schemaname = i.schemaname and d.indexname = i.indexrelname where i.relname ~ '^webhook_deliveries' and d.indexdef ~ 'WHERE .*pending'`))
	require.Equal(t, [][2]string{{"pending", "1970"}, {"succeeded", "2030"}},
		storetest.Pairs(t, st, "select status, count(*)::text from webhook_deliveries group by 1 order by 1"))
}

// A plan that a connection made while there were few deliveries does not read all of them when there are many.
func TestAttemptsAreStoredByAPlanOfAYoungTable(t *testing.T) {
	t.Parallel()
	st := storetest.OneConnection(t, testenv.Database(t))
	const fill = `insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at)
		select 'whd_' || n, 'env_1', 'whe_1', 'evt_' || n, 'subject.created', 'pending', now(), now() from generate_series(%d, %d) n`
	storetest.Exec(t, st, "set session_replication_role = replica", "alter table webhook_deliveries set (autovacuum_enabled = false)",
		fmt.Sprintf(fill, 1, 300), "vacuum analyze webhook_deliveries")
	next := 0
	record := func() {
		var made []Attempted
		for range 8 {
			next++
			made = append(made, Attempted{Status: "succeeded", WebhookAttempt: models.WebhookAttempt{
				ID: fmt.Sprintf("wha_%d", next), DeliveryID: fmt.Sprintf("whd_%d", next), EndpointID: "whe_1", EnvironmentID: "env_1",
				EventID: fmt.Sprintf("evt_%d", next), Type: "subject.created", Attempt: 1, At: time.Now(), Succeeded: true,
			}})
		}
		require.NoError(t, recordAttempts(t.Context(), st.Q, made))
	}
	for range 10 {
		record()
	}
	storetest.Exec(t, st, fmt.Sprintf(fill, 301, 10_000))
	const reads = "select seq_tup_read::int from pg_stat_user_tables where relname = 'webhook_deliveries'"
	before := storetest.Counted(t, st, reads)
	record()
	require.Equal(t, before, storetest.Counted(t, st, reads))
	require.Equal(t, [][2]string{{"pending", "9912"}, {"succeeded", "88"}},
		storetest.Pairs(t, st, "select status, count(*)::text from webhook_deliveries group by 1 order by 1"))
}

// What is due of an endpoint is read in its order, a page at a time, whether the planner knows of none, of all or of nothing, and also if all
// is due at the same time, as it is once the endpoint responds again.
func TestDueDeliveriesReadTheirPageOnly(t *testing.T) {
	t.Parallel()
	const fill = "insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at) " +
		"select 'whd_' || e || %[1]d + n, 'env_1', 'whe_' || e, 'evt_' || lpad((%[1]d + n)::text, 6, '0'), 'subject.created', '%[2]s', now() - %[3]s * interval '1 second', now() " +
		"from generate_series(1, 2) e, generate_series(1, 3000) n"
	settled, analyze := fmt.Sprintf(fill, 10_000, "succeeded", "n"), "analyze webhook_deliveries"
	for name, statements := range map[string][]string{
		"none known":              {settled, analyze, fmt.Sprintf(fill, 0, "pending", "(9000 - n)")},
		"none known, due at once": {settled, analyze, fmt.Sprintf(fill, 0, "pending", "5")},
		"all known":               {settled, fmt.Sprintf(fill, 0, "pending", "(9000 - n)"), analyze},
		"all known, due at once":  {settled, fmt.Sprintf(fill, 0, "pending", "5"), analyze},
		"nothing known":           {settled, fmt.Sprintf(fill, 0, "pending", "5")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := storetest.OneConnection(t, testenv.Database(t))
			// Without foreign keys: the endpoints do not exist.
			storetest.Exec(t, st, append([]string{"set session_replication_role = replica", "alter table webhook_deliveries set (autovacuum_enabled = false)"}, statements...)...)
			const reads = `select (select sum(seq_tup_read) from pg_stat_user_tables where relname ~ '^webhook_deliveries')::int
				+ (select sum(idx_tup_read) from pg_stat_user_indexes where relname ~ '^webhook_deliveries')::int`
			before := storetest.Counted(t, st, reads)
			due, err := dueDeliveries(t.Context(), st.Q, models.WebhookEndpoint{ID: "whe_2", EnvironmentID: "env_1"}, time.Now(), []string{"whd_21"}, 50, false)
			require.NoError(t, err)
			require.Len(t, due, 50)
			require.Equal(t, []string{"whd_22", "whd_251"}, []string{due[0].ID, due[49].ID})
			require.LessOrEqual(t, storetest.Counted(t, st, reads)-before, 60)
		})
	}
}

// What was sent again goes to the end, so that repeated calls reach every delivery, the oldest created or not.
func TestRequeueTakesWhatWasSettledFirst(t *testing.T) {
	t.Parallel()
	st := storetest.OneConnection(t, testenv.Database(t))
	const insert = `insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at, settled_at)
		select 'whd_' || n, 'env_1', 'whe_1', 'evt_' || n, 'subject.created', 'succeeded', now(), now() + n * interval '1 second', now() from generate_series(1, 5) n`
	storetest.Exec(t, st, "set session_replication_role = replica", insert) // without foreign keys: the endpoint does not exist
	e := models.WebhookEndpoint{ID: "whe_1", EnvironmentID: "env_1"}
	all := replayFilter{Statuses: []models.DeliveryStatus{models.DeliverySucceeded}}
	for i, want := range [][][2]string{{{"whd_1", ""}, {"whd_2", ""}}, {{"whd_3", ""}, {"whd_4", ""}}, {{"whd_1", ""}, {"whd_5", ""}}} {
		n, err := requeueDeliveries(t.Context(), st.Q, e, all, time.Now(), 2)
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		require.Equal(t, want, storetest.Pairs(t, st, "select id, '' from webhook_deliveries where status = 'pending' order by id"), "call %d", i+1)
		storetest.Exec(t, st, fmt.Sprintf("update webhook_deliveries set status = 'succeeded', settled_at = now() + interval '%d minutes' where status = 'pending'", i+1))
	}
}
