package tenancy

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Restored says how much Restore copied.
type Restored struct {
	Rows         int64
	Environments []models.Environment
}

// Restore copies a tenant that this database does not have, with everything in it, from a database that was restored from a backup of this one. It
// is one transaction. The rows that decide must have the MACs of this installation's master keys. The log of each environment says that it was restored.
func (s *Service) Restore(ctx context.Context, from *pg.Store, id, actor string) (Restored, error) {
	if err := from.CheckSchema(ctx); err != nil {
		return Restored{}, err
	}
	var out Restored
	err := s.store.Write(ctx, func(q *pg.Q) error {
		_, err := lockTenant(ctx, q, id)
		if err == nil {
			return problem.Newf(problem.Conflict, "The database has the tenant %s. Only one that was deleted is restored.", id)
		}
		if !errors.Is(err, pg.ErrNotFound) {
			return err
		}
		if err := from.Read(ctx, func(old *pg.Q) error {
			out.Rows, err = copyTenant(ctx, old, q, id)
			return err
		}); err != nil {
			return err
		}
		if out.Rows == 0 {
			return problem.Newf(problem.NotFound, "The restored database has no tenant %q.", id)
		}
		if out.Environments, err = ListEnvironments(ctx, q, id); err != nil {
			return err
		}
		deletion, err := takeDeleted(ctx, q, id)
		if err != nil {
			return err
		}
		at, data := s.clock.Now(), events.TenantRestoredData{DeletedBy: deletion.DeletedBy}
		if deletion.ID != "" {
			data.DeletedAt = apitime.Time(deletion.DeletedAt)
		}
		for _, e := range out.Environments {
			scope := pg.Scope{Tenant: id, Environment: e.ID}
			altered, err := pg.AlteredIn(ctx, q, scope)
			if err != nil {
				return err
			}
			if len(altered) > 0 {
				return altered[0]
			}
			if err := continueLog(ctx, q, e.ID); err != nil {
				return err
			}
			if err := events.Append(ctx, q, events.Entry{Scope: scope, At: at, Actor: actor, Data: data}); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}
