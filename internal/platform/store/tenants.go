package store

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// Tenants stores tenants.
type Tenants struct{ *Q }

// Tenants returns the queries of the aggregate.
func (q *Q) Tenants() Tenants { return Tenants{q} }

// Create inserts a tenant.
func (q Tenants) Create(ctx context.Context, t models.Tenant) error {
	return q.gorm(ctx).Create(&t).Error
}

// List lists the tenants, oldest first.
func (q Tenants) List(ctx context.Context) ([]models.Tenant, error) {
	var rows []models.Tenant
	err := q.gorm(ctx).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// SetRateLimitCeiling sets the most requests an hour that a key of the environment may be given; nil is the default of its kind.
func (q Tenants) SetRateLimitCeiling(ctx context.Context, s Scope, ceiling *int) error {
	_, err := q.exec(ctx, "update environments set rate_limit_ceiling = $3 where tenant_id = $1 and id = $2", s.Tenant, s.Environment, ceiling)
	return err
}
