package store

import (
	"context"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// SavedFilters stores the filters that people save for themselves.
type SavedFilters struct{ *Q }

// SavedFilters returns the queries of the aggregate.
func (q *Q) SavedFilters() SavedFilters { return SavedFilters{q} }

// List returns a person's filters of one list, by name.
func (q SavedFilters) List(ctx context.Context, s Scope, person, list string) ([]models.SavedFilter, error) {
	var rows []models.SavedFilter
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and person_id = ? and list = ?", s.Tenant, s.Environment, person, list).
		Order("name").Find(&rows).Error
	return rows, err
}

// Count counts a person's filters of all lists and environments.
func (q SavedFilters) Count(ctx context.Context, person string) (n int, err error) {
	err = q.queryRow(ctx, "select count(*) from saved_filters where person_id = $1", person).Scan(&n)
	return n, err
}

// Create inserts a filter. It returns false if the person has one of this name for the list.
func (q SavedFilters) Create(ctx context.Context, f models.SavedFilter) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&f)
	return res.RowsAffected == 1, res.Error
}

// Rename renames a person's filter and returns its list. It returns ErrNotFound if there is none, and taken if another filter of the list
// has the name.
func (q SavedFilters) Rename(ctx context.Context, s Scope, person, id, name string) (list string, taken bool, err error) {
	if list, err = q.list(ctx, s, person, id); err != nil {
		return "", false, err
	}
	n, err := q.exec(ctx, `update saved_filters f set name = $5 where tenant_id = $1 and environment_id = $2 and person_id = $3 and id = $4
		and not exists (select from saved_filters o where o.person_id = f.person_id and o.environment_id = f.environment_id and o.list = f.list
			and o.name = $5 and o.id <> f.id)`, s.Tenant, s.Environment, person, id, name)
	return list, n == 0, err
}

// Delete deletes a person's filter and returns its list, or ErrNotFound.
func (q SavedFilters) Delete(ctx context.Context, s Scope, person, id string) (list string, err error) {
	err = q.queryRow(ctx, `delete from saved_filters where tenant_id = $1 and environment_id = $2 and person_id = $3 and id = $4 returning list`,
		s.Tenant, s.Environment, person, id).Scan(&list)
	return orNotFound(list, err)
}

func (q SavedFilters) list(ctx context.Context, s Scope, person, id string) (list string, err error) {
	err = q.queryRow(ctx, `select list from saved_filters where tenant_id = $1 and environment_id = $2 and person_id = $3 and id = $4`,
		s.Tenant, s.Environment, person, id).Scan(&list)
	return orNotFound(list, err)
}

// DeleteOf deletes all filters of a person.
func (q SavedFilters) DeleteOf(ctx context.Context, person string) error {
	_, err := q.exec(ctx, "delete from saved_filters where person_id = $1", person)
	return err
}
