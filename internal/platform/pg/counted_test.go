package pg_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// overOneConnection returns a store of a database, of whose statements counted knows.
func overOneConnection(t *testing.T, url string) *pg.Store {
	t.Helper()
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// counted returns a count of the statistics, which includes what the only connection has done.
func counted(t *testing.T, st *pg.Store, query string) (n int) {
	t.Helper()
	execute(t, st, "select pg_stat_force_next_flush()")
	require.NoError(t, st.Pool().QueryRow(t.Context(), query).Scan(&n))
	return n
}

func execute(t *testing.T, st *pg.Store, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := st.Pool().Exec(t.Context(), s)
		require.NoError(t, err)
	}
}
