package storetest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

func TestNewGivesEachTestItsOwnDatabase(t *testing.T) {
	t.Parallel()
	a, b := storetest.New(t), storetest.New(t)
	storetest.Subject(t, a, storetest.Environment(t, a, models.Sandbox), "user-1")
	tenants, err := tenancy.ListTenants(context.Background(), b.Q)
	require.NoError(t, err)
	require.Empty(t, tenants)
	require.NoError(t, b.CheckSchema(context.Background()))
}
