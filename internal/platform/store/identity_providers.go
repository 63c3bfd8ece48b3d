package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// IdentityProviders stores the OpenID Connect providers of tenants.
type IdentityProviders struct{ *Q }

// IdentityProviders returns the queries of the aggregate.
func (q *Q) IdentityProviders() IdentityProviders { return IdentityProviders{q} }

// Named returns the provider of a tenant with the name. It never returns a removed one.
func (q IdentityProviders) Named(ctx context.Context, tenant, name string) (models.IdentityProvider, error) {
	var p models.IdentityProvider
	return orNotFound(p, q.gorm(ctx).Where("tenant_id = ? and name = ? and removed_at is null", tenant, name).Take(&p).Error)
}

// Lock is Named with the row locked until the transaction ends.
func (q IdentityProviders) Lock(ctx context.Context, tenant, name string) (models.IdentityProvider, error) {
	var p models.IdentityProvider
	tx := q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("tenant_id = ? and name = ? and removed_at is null", tenant, name)
	return orNotFound(p, tx.Take(&p).Error)
}

// Hold locks a provider against changes until the transaction ends. It returns false if it was changed since updated, or removed.
// Several transactions may hold it at once.
func (q IdentityProviders) Hold(ctx context.Context, tenant, id string, updated time.Time) (bool, error) {
	var rows []string
	err := q.gorm(ctx).Raw("select id from identity_providers where tenant_id = ? and id = ? and updated_at = ? and removed_at is null for share",
		tenant, id, updated).Find(&rows).Error
	return len(rows) == 1, err
}

// List lists the providers of a tenant by name, without removed ones.
func (q IdentityProviders) List(ctx context.Context, tenant string) ([]models.IdentityProvider, error) {
	var rows []models.IdentityProvider
	err := q.gorm(ctx).Where("tenant_id = ? and removed_at is null", tenant).Order("name").Find(&rows).Error
	return rows, err
}

// Listed lists at most limit providers that the console's sign-in page shows, by label.
func (q IdentityProviders) Listed(ctx context.Context, limit int) ([]models.IdentityProvider, error) {
	var rows []models.IdentityProvider
	err := q.gorm(ctx).Where("listed and removed_at is null").Order("label, id").Limit(limit).Find(&rows).Error
	return rows, err
}

// Create inserts a provider.
func (q IdentityProviders) Create(ctx context.Context, p models.IdentityProvider) error {
	return q.gorm(ctx).Create(&p).Error
}

// Update replaces the settings of a provider. It returns false if the provider was removed.
func (q IdentityProviders) Update(ctx context.Context, p models.IdentityProvider) (bool, error) {
	res := q.gorm(ctx).Model(&p).Where("tenant_id = ? and removed_at is null", p.TenantID).
		Select("label", "issuer", "client_id", "client_secret", "scopes", "groups_claim", "grants", "listed", "updated_at").Updates(p)
	return res.RowsAffected == 1, res.Error
}

// Remove removes a provider and deletes its secret. It returns false if it was removed before.
func (q IdentityProviders) Remove(ctx context.Context, tenant, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update identity_providers set removed_at = $3, updated_at = $3, client_secret = null, listed = false
		where tenant_id = $1 and id = $2 and removed_at is null`, tenant, id, at)
	return n == 1, err
}

// RecordLogout records that a logout token was accepted. It returns false if it had been.
func (q IdentityProviders) RecordLogout(ctx context.Context, l models.ProviderLogout) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&l)
	return res.RowsAffected == 1, res.Error
}

// CreatePerson inserts a person of a provider. It returns false if the provider's subject has a person.
func (q IdentityProviders) CreatePerson(ctx context.Context, p models.Person) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// LockPerson returns the person of a provider's subject and locks the row until the transaction ends.
func (q IdentityProviders) LockPerson(ctx context.Context, tenant, provider, subject string) (models.Person, error) {
	var p models.Person
	tx := q.gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("tenant_id = ? and identity_provider_id = ? and provider_subject = ?", tenant, provider, subject)
	return orNotFound(p, tx.Take(&p).Error)
}

// People returns the people of a provider who have access, in the order of their ids, at most limit from after on.
func (q IdentityProviders) People(ctx context.Context, tenant, provider, after string, limit int) ([]models.Person, error) {
	var rows []models.Person
	err := q.gorm(ctx).Where("tenant_id = ? and identity_provider_id = ? and revoked_at is null and id > ?", tenant, provider, after).
		Order("id").Limit(limit).Find(&rows).Error
	return rows, err
}

// Rename stores the name of a person as their provider has it.
func (q IdentityProviders) Rename(ctx context.Context, tenant, person, name string) error {
	_, err := q.exec(ctx, "update people set name = $3 where tenant_id = $1 and id = $2", tenant, person, name)
	return err
}

// SubjectsOfSession returns the subjects of the people who signed in within a session of the provider.
func (q IdentityProviders) SubjectsOfSession(ctx context.Context, provider, session string) ([]string, error) {
	var out []string
	err := q.gorm(ctx).Raw(`select distinct p.provider_subject from console_sessions s join people p on p.id = s.person_id
		where s.identity_provider_id = ? and s.provider_session = ? and p.identity_provider_id = ?`, provider, session, provider).Find(&out).Error
	return out, err
}
