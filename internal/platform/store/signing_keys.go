package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// SigningKeys stores the keys that sign proofs.
type SigningKeys struct{ *Q }

// SigningKeys returns the queries of the aggregate.
func (q *Q) SigningKeys() SigningKeys { return SigningKeys{q} }

// Create inserts a key and notifies every process.
func (q SigningKeys) Create(ctx context.Context, k models.SigningKey) error {
	if err := q.gorm(ctx).Create(&k).Error; err != nil {
		return err
	}
	return q.Notify(ctx, ChannelSigningKey, k.EnvironmentID)
}

// List returns the environment's keys that are not retired, newest first.
func (q SigningKeys) List(ctx context.Context, s Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and status <> 'retired'", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// All returns the keys of the environment, newest first, retired ones too.
func (q SigningKeys) All(ctx context.Context, s Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// Published returns the public keys of every environment that may still verify a proof.
func (q SigningKeys) Published(ctx context.Context) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Select("kid", "environment_id", "status", "public_jwk", "created_at", "retiring_at").
		Where("status <> 'retired'").Order("kid").Find(&rows).Error
	return rows, err
}

// InUse returns the sealed keys of every environment that are not retired, by environment, newest first.
func (q SigningKeys) InUse(ctx context.Context) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Select("kid", "tenant_id", "environment_id", "status", "backend", "public_jwk", "sealed", "created_at", "retiring_at").
		Where("status <> 'retired'").Order("environment_id, created_at desc, kid").Find(&rows).Error
	return rows, err
}

// Move moves a key from its status k.Status to another and notifies every process. It returns false if the key has
// another status.
func (q SigningKeys) Move(ctx context.Context, k models.SigningKey, to models.KeyStatus, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update signing_keys set status = $5,
		activated_at = case when $5 = 'active' then $6 else activated_at end,
		retiring_at = case when $5 = 'retiring' then $6 else retiring_at end,
		retired_at = case when $5 = 'retired' then $6 else retired_at end
		where tenant_id = $1 and environment_id = $2 and kid = $3 and status = $4`,
		k.TenantID, k.EnvironmentID, k.KID, string(k.Status), string(to), at)
	if err != nil || n != 1 {
		return false, err
	}
	return true, q.Notify(ctx, ChannelSigningKey, k.EnvironmentID)
}

// Known reports whether any environment has or had the key.
func (q SigningKeys) Known(ctx context.Context, kid string) (bool, error) {
	var known bool
	err := q.queryRow(ctx, "select exists (select from signing_keys where kid = $1)", kid).Scan(&known)
	return known, err
}

// Used records when a key was last used.
func (q SigningKeys) Used(ctx context.Context, environment, kid string, at time.Time) error {
	_, err := q.exec(ctx, `update signing_keys set last_used_at = $3 where environment_id = $1 and kid = $2
		and (last_used_at is null or last_used_at < $3)`, environment, kid, at)
	return err
}

// Lock locks the environment's row until the transaction ends, so that its keys are rotated one at a time.
func (q SigningKeys) Lock(ctx context.Context, s Scope) error {
	_, err := q.exec(ctx, "select 1 from environments where tenant_id = $1 and id = $2 for update", s.Tenant, s.Environment)
	return err
}

// ActiveSince returns at most limit environments whose signing key became active before t.
func (q SigningKeys) ActiveSince(ctx context.Context, t time.Time, limit int) ([]Scope, error) {
	return q.scopes(ctx, "status = 'active' and activated_at < ?", t, limit)
}

// RetiringSince returns at most limit environments with a signing key that began to retire before t.
func (q SigningKeys) RetiringSince(ctx context.Context, t time.Time, limit int) ([]Scope, error) {
	return q.scopes(ctx, "status = 'retiring' and retiring_at < ?", t, limit)
}

func (q SigningKeys) scopes(ctx context.Context, condition string, t time.Time, limit int) ([]Scope, error) {
	var rows []Scope
	err := q.gorm(ctx).Raw("select distinct tenant_id as tenant, environment_id as environment from signing_keys where "+
		condition+" limit ?", t, limit).Find(&rows).Error
	return rows, err
}
