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
