package staff_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

func TestStillValidComparesTheSessionWithItsState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*bundle, staff.Session) error
		want   bool
	}{
		"unchanged":  {func(*bundle, staff.Session) error { return nil }, true},
		"signed out": {func(b *bundle, in staff.Session) error { return b.service.SignOut(t.Context(), in, "") }, false},
		"idle":       {func(b *bundle, _ staff.Session) error { b.clock.Advance(staff.IdleLife); return nil }, false},
		"revoked person": {func(b *bundle, in staff.Session) error {
			return b.service.Revoke(t.Context(), b.scope.Tenant, in.Person.ID, "cli:test")
		}, false},
		"withdrawn role": {func(b *bundle, in staff.Session) error {
			return b.service.Withdraw(t.Context(), b.scope, in.Person.ID, []models.Role{models.RoleReviewer}, "cli:test")
		}, false},
		"further role": {func(b *bundle, in staff.Session) error {
			return b.service.Grant(t.Context(), b.scope, in.Person.ID, []models.Role{models.RoleAuditor}, "cli:test")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			opened, _ := b.joined(t, models.RoleReviewer, models.RoleOperator)
			require.NoError(t, c.change(b, opened.Session))
			valid, err := b.service.StillValid(t.Context(), opened.Session)
			require.NoError(t, err)
			require.Equal(t, c.want, valid)
		})
	}
}

func TestStillValidReturnsTheErrorOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	opened, _ := b.joined(t, models.RoleReviewer)
	b.store.Close()
	_, err := b.service.StillValid(t.Context(), opened.Session)
	require.Error(t, err, "which is no revocation")
}
