package tenancy

import (
	"context"
	"errors"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// Delete deletes a tenant with both environments and everything in them, also its audit log, and returns the number of deleted rows.
// The name must be the tenant's, as a confirmation. It returns a conflict if a caller or a workflow still uses the tenant.
func (s *Service) Delete(ctx context.Context, id, name string) (int64, error) {
	var deleted int64
	err := s.store.Write(ctx, func(q *store.Q) error {
		t, err := q.Tenants().Lock(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return problem.Newf(problem.NotFound, "There is no tenant %q.", id)
		}
		if err != nil {
			return err
		}
		if t.Name != name {
			return problem.Newf(problem.Conflict, "The name of tenant %s is %q and not %q.", id, t.Name, name)
		}
		used, err := q.Tenants().InUse(ctx, id)
		if err != nil {
			return err
		}
		if len(used) > 0 {
			return problem.Newf(problem.Conflict, "The tenant is in use: it has %s. Settle or delete them, and revoke the keys last.", strings.Join(used, ", "))
		}
		deleted, err = q.Tenants().Delete(ctx, id)
		return err
	})
	return deleted, err
}
