package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// No column that a frame changes is in an index: only an update that changes no indexed column stays within its page
// (heap-only tuples). With one such column in one index, each frame would write to every index of the table.
func TestNoIndexContainsAColumnThatFramesChange(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	rows, err := st.Pool().Query(t.Context(), `select distinct a.attname from pg_index i
		join pg_attribute a on a.attrelid = i.indrelid
		where i.indrelid = 'sessions'::regclass and (a.attnum = any (i.indkey) or pg_get_expr(i.indpred, i.indrelid) ~ ('\m' || a.attname || '\M'))`)
	require.NoError(t, err)
	indexed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, indexed, "started_at")
	require.Contains(t, indexed, "status", "columns of predicates count")
	for _, column := range []string{"last_activity_at", "last_evidence_at", "coverage", "evidence_windows", "active_seconds", "modalities",
		"enrollment_ready", "trust_state", "state"} {
		require.NotContains(t, indexed, column)
	}
}
