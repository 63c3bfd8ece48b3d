package sso

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Named returns the provider of a tenant with the name. It never returns a removed one.
func Named(ctx context.Context, q *pg.Q, tenant, name string) (models.IdentityProvider, error) {
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
	err := pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and removed_at is null", tenant).Order("name").Find(&rows).Error
	return rows, err
}

// identityProviderListed lists at most limit providers that the console's sign-in page shows, by label.
func identityProviderListed(ctx context.Context, q *pg.Q, limit int) ([]models.IdentityProvider, error) {
	var rows []models.IdentityProvider
	err := pg.Unchecked(q.Gorm(ctx)).Where("listed and removed_at is null").Order("label, id").Limit(limit).Find(&rows).Error
	return rows, err
}

// CreateIdentityProvider inserts a provider.
func CreateIdentityProvider(ctx context.Context, q *pg.Q, p models.IdentityProvider) error {
	return q.Gorm(ctx).Create(&p).Error
}

// updateIdentityProvider replaces the settings of a provider. It returns false if the provider was removed.
func updateIdentityProvider(ctx context.Context, q *pg.Q, p models.IdentityProvider) (bool, error) {
	updated, err := pg.Change[models.IdentityProvider](ctx, q, "tenant_id = @TenantID and id = @ID and removed_at is null", `label = @Label, issuer = @Issuer,
		client_id = @ClientID, client_secret = @ClientSecret, scopes = @Scopes, groups_claim = @GroupsClaim, grants = @Grants, listed = @Listed, updated_at = @UpdatedAt`, p)
	return len(updated) == 1, err
}

// removeIdentityProvider removes a provider and deletes its secret. It returns false if it was removed before.
func removeIdentityProvider(ctx context.Context, q *pg.Q, tenant, id string, at time.Time) (bool, error) {
	removed, err := pg.Change[models.IdentityProvider](ctx, q, "tenant_id = @tenant and id = @id and removed_at is null",
		"removed_at = @at, updated_at = @at, client_secret = null, listed = false", map[string]any{"tenant": tenant, "id": id, "at": at})
	return len(removed) == 1, err
}
