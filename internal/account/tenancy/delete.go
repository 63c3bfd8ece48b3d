package tenancy

import (
	"context"
	"errors"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Delete deletes a tenant with both environments and everything in them, also its audit log, and returns the number of deleted rows. That
// the tenant was deleted stays known (ListDeleted).
// The name must be the tenant's, as a confirmation. It returns a conflict if a caller or a workflow still uses the tenant.
func (s *Service) Delete(ctx context.Context, id, name, actor string) (int64, error) {
	var deleted int64
	err := s.store.Write(ctx, func(q *pg.Q) error {
		t, err := lockTenant(ctx, q, id)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.Newf(problem.NotFound, "There is no tenant %q.", id)
		}
		if err != nil {
			return err
		}
		if t.Name != name {
			return problem.Newf(problem.Conflict, "The name of tenant %s is %q and not %q.", id, t.Name, name)
		}
		environments, err := ListEnvironments(ctx, q, id)
		if err != nil {
			return err
		}
		used, err := tenantInUse(ctx, q, environments)
		if err != nil {
			return err
		}
		if len(used) > 0 {
			return problem.Newf(problem.Conflict, "The tenant is in use: it has %s. Settle or delete them, and revoke the keys last.", strings.Join(used, ", "))
		}
		if deleted, err = deleteTenant(ctx, q, id, environments); err != nil {
			return err
		}
		return recordDeleted(ctx, q, models.DeletedTenant{ID: id, DeletedAt: s.clock.Now(), DeletedBy: actor})
	})
	return deleted, err
}
