package aggregate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// Numbers are read from the entries of their holder in an index, for any arguments: also those of a subject with most of the rows, and
// a value that all requests have.
func TestNumbersAreReadByIndex(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	w := fixture.New(t, st, storetest.Epoch)
	w.Decisions(w.Action, 10_000)
	w.Exec(`insert into aggregate_values (request_id, tenant_id, environment_id, subject_uid, resource_digest, field, action_key, decision, first, currency, amount,
			digest, decided_at, reserved, reserved_at)
		select a.id, a.tenant_id, a.environment_id, a.subject_uid, a.resource_digest, v.field, a.action_key, 'allow', true, v.currency, v.amount, v.digest, a.decided_at,
			'final', a.decided_at
		from authorizations a, (values ('amount', 'EUR', 12.5, null), ('country', '', null, '\x01'::bytea)) v (field, currency, amount, digest)`)
	w.Exec("vacuum analyze aggregate_values")
	conn, err := st.Pool().Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "set plan_cache_mode = force_generic_plan")
	require.NoError(t, err)
	for i, query := range aggregate.Queries {
		name := fmt.Sprint("query", i)
		prepared, err := conn.Conn().PgConn().Prepare(t.Context(), name, query, nil)
		require.NoError(t, err, query)
		rows, err := conn.Query(t.Context(), "explain execute "+name+"("+strings.TrimSuffix(strings.Repeat("null, ", len(prepared.ParamOIDs)), ", ")+")", pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.Contains(t, plan, " aggregate_values_", query)
		for _, not := range []string{"Seq Scan on aggregate_values", "Seq Scan on authorizations", "hashed SubPlan"} {
			require.NotContains(t, plan, not, query)
		}
	}
}
