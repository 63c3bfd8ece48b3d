package staff_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func TestManagerIsThatOfAnyAccountUntilRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, bob, other := b.operator(t), b.operator(t), b.operator(t)
	manager := func(person string) string {
		id, err := staff.Manager(t.Context(), b.store.Q, b.scope.Tenant, person)
		require.NoError(t, err)
		return id
	}
	require.Empty(t, manager(ann))
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		return q.Gorm(t.Context()).Create(&models.PersonPosition{PersonID: ann, TenantID: b.scope.Tenant, ManagerID: &bob, ChangedAt: b.clock.Now()}).Error
	}))
	require.Equal(t, bob, manager(ann))
	require.Empty(t, manager(bob))
	require.Empty(t, manager(other))
	require.NoError(t, b.service.Link(t.Context(), b.scope, other, ann, "cli:person link"))
	require.Equal(t, bob, manager(other), "an account of Ann's")
	require.NoError(t, b.service.Revoke(t.Context(), b.scope.Tenant, bob, "cli:person revoke"))
	require.Empty(t, manager(ann))
	require.Empty(t, manager("prs_unknown"))
}
