package consolequery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// Every search reads an index range, however many rows a table has. Sequential scans are disabled, because the tables of a test are
// small enough for the planner to prefer them: a query without an index would still have one.
func TestFindReadsByIndex(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	st := storetest.New(t)
	w := fixture.New(t, st, now)
	plan := func(query string, args ...string) string {
		for i, a := range args {
			query = strings.ReplaceAll(query, fmt.Sprintf("$%d", i+1), "'"+a+"'")
		}
		tx, err := st.Pool().Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
		_, err = tx.Exec(t.Context(), "set local enable_seqscan = off")
		require.NoError(t, err)
		rows, err := tx.Query(t.Context(), "explain "+query+" limit 9")
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return strings.Join(lines, "\n")
	}
	for kind, query := range findable {
		t.Run(kind, func(t *testing.T) {
			id := ids.New(kind)
			got := plan(byIDQuery(query), w.Scope.Tenant, w.Scope.Environment, id, id, id)
			require.Regexp(t, `Index Cond: \(\(?\w+ >= '`+id+`'::text\) AND \(\w+ <= '`+id, got)
		})
	}
	t.Run("subjects", func(t *testing.T) {
		got := plan(subjectrow.WithPrefix, w.Scope.Tenant, w.Scope.Environment, "user", "user\U0010FFFF")
		require.Contains(t, got, "using subjects_prefix on subjects")
		require.Contains(t, got, "external_id ~>=~ 'user'")
		require.NotContains(t, got, "Sort")
	})
}

func TestFindSubjectsByPrefix(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	w := fixture.New(t, st, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	for prefix, want := range map[string]int{"user-": 1, "user-4711": 1, "user-47112": 0, "User-": 0, "user%": 0, "ser-": 0} {
		found, err := findSubjectsByPrefix(t.Context(), st.Q, w.Scope, prefix, 9)
		require.NoError(t, err)
		require.Len(t, found, want, prefix)
	}
	elsewhere, err := findSubjectsByPrefix(t.Context(), st.Q, pg.Scope{Tenant: w.Scope.Tenant, Environment: "env_other"}, "user-", 9)
	require.NoError(t, err)
	require.Empty(t, elsewhere)
}
