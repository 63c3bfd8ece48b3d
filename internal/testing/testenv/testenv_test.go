package testenv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestStoreOpensAMigratedDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	a, b := testenv.Store(t), testenv.Store(t)
	require.NoError(t, a.CheckSchema(t.Context()))
	_, err := a.Pool().Exec(t.Context(), "insert into tenants (id, name, created_at) values ('tnt_x', 'x', now())")
	require.NoError(t, err)
	var n int
	require.NoError(t, b.Pool().QueryRow(t.Context(), "select count(*) from tenants").Scan(&n))
	require.Zero(t, n)
}
