package sso

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// identityProviderNamed returns the provider of a tenant with the name. It never returns a removed one.
func identityProviderNamed(ctx context.Context, q *pg.Q, tenant, name string) (models.IdentityProvider, error) {
	var p models.IdentityProvider
	return pg.OrNotFound(p, q.Gorm(ctx).Where("tenant_id = ? and name = ? and removed_at is null", tenant, name).Take(&p).Error)
}

// lockIdentityProvider is Named with the row locked until the transaction ends.
func lockIdentityProvider(ctx context.Context, q *pg.Q, tenant, name string) (models.IdentityProvider, error) {
	var p models.IdentityProvider
	tx := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("tenant_id = ? and name = ? and removed_at is null", tenant, name)
	return pg.OrNotFound(p, tx.Take(&p).Error)
}

// listIdentityProviders lists the providers of a tenant by name, without removed ones.
func listIdentityProviders(ctx context.Context, q *pg.Q, tenant string) ([]models.IdentityProvider, error) {
	var rows []models.IdentityProvider
	err := q.Gorm(ctx).Where("tenant_id = ? and removed_at is null", tenant).Order("name").Find(&rows).Error
	return rows, err
}

// identityProviderListed lists at most limit providers that the console's sign-in page shows, by label.
func identityProviderListed(ctx context.Context, q *pg.Q, limit int) ([]models.IdentityProvider, error) {
	var rows []models.IdentityProvider
	err := q.Gorm(ctx).Where("listed and removed_at is null").Order("label, id").Limit(limit).Find(&rows).Error
	return rows, err
}

// CreateIdentityProvider inserts a provider.
func CreateIdentityProvider(ctx context.Context, q *pg.Q, p models.IdentityProvider) error {
	return q.Gorm(ctx).Create(&p).Error
}

// updateIdentityProvider replaces the settings of a provider. It returns false if the provider was removed.
func updateIdentityProvider(ctx context.Context, q *pg.Q, p models.IdentityProvider) (bool, error) {
	res := q.Gorm(ctx).Model(&p).Where("tenant_id = ? and removed_at is null", p.TenantID).
		Select("label", "issuer", "client_id", "client_secret", "scopes", "groups_claim", "grants", "listed", "updated_at").Updates(p)
	return res.RowsAffected == 1, res.Error
}

// removeIdentityProvider removes a provider and deletes its secret. It returns false if it was removed before.
func removeIdentityProvider(ctx context.Context, q *pg.Q, tenant, id string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update identity_providers set removed_at = $3, updated_at = $3, client_secret = null, listed = false
		where tenant_id = $1 and id = $2 and removed_at is null`, tenant, id, at)
	return n == 1, err
}
