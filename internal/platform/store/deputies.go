package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Deputies stores who may approve in the place of whom, and when.
type Deputies struct{ *Q }

// Deputies returns the queries of the aggregate.
func (q *Q) Deputies() Deputies { return Deputies{q} }

// Insert adds a deputyship.
func (q Deputies) Insert(ctx context.Context, d models.Deputy) error {
	return q.gorm(ctx).Create(&d).Error
}

// Overlap reports whether the absent person has a deputy in a part of the period, or the deputy stands in for a different person in
// a part of it.
func (q Deputies) Overlap(ctx context.Context, d models.Deputy) (bool, error) {
	var found bool
	err := q.queryRow(ctx, `select exists (select from deputies where tenant_id = $1 and environment_id = $2
		and (person_id = $3 or deputy_id = $4) and starts_at < $6 and ends_at > $5 and ends_at > starts_at)`,
		d.TenantID, d.EnvironmentID, d.PersonID, d.DeputyID, d.StartsAt, d.EndsAt).Scan(&found)
	return found, err
}

// End ends a deputyship of the person that has not ended, and reports whether it did. One that has not begun never begins.
func (q Deputies) End(ctx context.Context, s Scope, person, id string, at time.Time) (models.Deputy, bool, error) {
	n, err := q.exec(ctx, `update deputies set ends_at = greatest(starts_at, $5) where tenant_id = $1 and environment_id = $2
		and person_id = $3 and id = $4 and ends_at > $5 and ends_at > starts_at`, s.Tenant, s.Environment, person, id, at)
	if err != nil || n == 0 {
		return models.Deputy{}, false, err
	}
	var row models.Deputy
	err = q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&row).Error
	row, err = orNotFound(row, err)
	return row, err == nil, err
}

// InForce returns the deputyships of the environment that are in force at a time.
func (q Deputies) InForce(ctx context.Context, s Scope, at time.Time) ([]models.Deputy, error) {
	var rows []models.Deputy
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and starts_at <= ? and ends_at > ?", s.Tenant, s.Environment, at, at).
		Order("starts_at, id").Find(&rows).Error
	return rows, err
}

// NotEnded returns the deputyships of the environment that are in force at a time or begin later. The period of one that was withdrawn
// before it began is empty.
func (q Deputies) NotEnded(ctx context.Context, s Scope, at time.Time) ([]models.Deputy, error) {
	var rows []models.Deputy
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and ends_at > ? and ends_at > starts_at", s.Tenant, s.Environment, at).
		Order("starts_at, id").Find(&rows).Error
	return rows, err
}
