package staff

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// managerOf returns the manager that is recorded for an account; nil for none.
func managerOf(ctx context.Context, q *pg.Q, tenant, person string) (*string, error) {
	var row models.PersonPosition
	_, err := pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and person_id = ?", tenant, person).Take(&row).Error)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, nil
	}
	return row.ManagerID, err
}

// putManager stores the manager of a person, whom the caller has locked, and reports whether that changes anything.
func putManager(ctx context.Context, q *pg.Q, p models.PersonPosition) (bool, error) {
	var row models.PersonPosition
	_, err := pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and person_id = ?", p.TenantID, p.PersonID).Take(&row).Error)
	switch {
	case errors.Is(err, pg.ErrNotFound) && p.ManagerID == nil:
		return false, nil
	case errors.Is(err, pg.ErrNotFound):
		return true, q.Gorm(ctx).Create(&p).Error
	case err != nil:
		return false, err
	case row.ManagerID == nil && p.ManagerID == nil, row.ManagerID != nil && p.ManagerID != nil && *row.ManagerID == *p.ManagerID:
		return false, nil
	}
	_, err = pg.Change[models.PersonPosition](ctx, q, "tenant_id = @TenantID and person_id = @PersonID", "manager_id = @ManagerID, changed_at = @ChangedAt", p)
	return err == nil, err
}

// peopleNamed returns the people of the tenant with one of the ids, or with the subject of an identity provider, in the order of their ids.
func peopleNamed(ctx context.Context, q *pg.Q, tenant string, ids []string, subject string) ([]models.Person, error) {
	var rows []models.Person
	err := q.Gorm(ctx).Where("tenant_id = ? and (id in ? or provider_subject = ?)", tenant, ids, subject).Order("id").Find(&rows).Error
	return rows, err
}
