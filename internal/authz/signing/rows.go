package signing

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// createSigningKey inserts a key and notifies every process.
func createSigningKey(ctx context.Context, q *pg.Q, k models.SigningKey) error {
	if err := q.Gorm(ctx).Create(&k).Error; err != nil {
		return err
	}
	return q.Notify(ctx, pg.ChannelSigningKey, k.EnvironmentID)
}

// ListSigningKeys returns the environment's keys that are not retired, newest first.
func ListSigningKeys(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and status <> 'retired'", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// AllSigningKeys returns the keys of the environment, newest first, retired ones too.
func AllSigningKeys(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// publishedSigningKeys returns the public keys of every environment that may still verify a proof, without those whose rows were altered.
func publishedSigningKeys(ctx context.Context, q *pg.Q) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := pg.Unchecked(q.Gorm(ctx)).Where("status <> 'retired' and " + signingKeys.NotEnded("signing_keys")).Order("kid").Find(&rows).Error
	return pg.Unaltered(ctx, q, rows), err
}

// moveSigningKey moves a key from its status k.Status to another and notifies every process. It returns false if the key has
// another status.
func moveSigningKey(ctx context.Context, q *pg.Q, k models.SigningKey, to models.KeyStatus, at time.Time) (bool, error) {
	moved, err := pg.Change[models.SigningKey](ctx, q, "tenant_id = @TenantID and environment_id = @EnvironmentID and kid = @KID and status = @Status",
		`status = @to, activated_at = case when @to = 'active' then @at else activated_at end,
		retiring_at = case when @to = 'retiring' then @at else retiring_at end,
		retired_at = case when @to = 'retired' then @at else retired_at end`, k, map[string]any{"to": string(to), "at": at})
	if err != nil || len(moved) != 1 {
		return false, err
	}
	return true, q.Notify(ctx, pg.ChannelSigningKey, k.EnvironmentID)
}

// knownSigningKey reports whether any environment has or had the key.
func knownSigningKey(ctx context.Context, q *pg.Q, kid string) (bool, error) {
	var known bool
	err := q.QueryRow(ctx, "select exists (select from signing_keys where kid = $1)", kid).Scan(&known)
	return known, err
}

// usedSigningKey records when a key was last used.
func usedSigningKey(ctx context.Context, q *pg.Q, environment, kid string, at time.Time) error {
	_, err := q.Exec(ctx, `update signing_keys set last_used_at = $3 where environment_id = $1 and kid = $2
		and (last_used_at is null or last_used_at < $3)`, environment, kid, at)
	return err
}

// lockSigningKey locks the environment's row until the transaction ends, so that its keys are rotated one at a time. A backend may be
// slow meanwhile, so new rows that refer to the environment do not wait.
func lockSigningKey(ctx context.Context, q *pg.Q, s pg.Scope) error {
	_, err := q.Exec(ctx, "select 1 from environments where tenant_id = $1 and id = $2 for no key update", s.Tenant, s.Environment)
	return err
}

// KeysActiveSince returns at most limit environments whose signing key became active before t.
func KeysActiveSince(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]pg.Scope, error) {
	return scopesOfSigningKeys(ctx, q, "status = 'active' and activated_at < ?", t, limit)
}

// KeysRetiringSince returns at most limit environments with a signing key that began to retire before t.
func KeysRetiringSince(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]pg.Scope, error) {
	return scopesOfSigningKeys(ctx, q, "status = 'retiring' and retiring_at < ?", t, limit)
}

func scopesOfSigningKeys(ctx context.Context, q *pg.Q, condition string, t time.Time, limit int) ([]pg.Scope, error) {
	var rows []pg.Scope
	err := q.Gorm(ctx).Raw("select distinct tenant_id as tenant, environment_id as environment from signing_keys where "+
		condition+" limit ?", t, limit).Find(&rows).Error
	return rows, err
}

// usedSigningKeys returns the keys of every environment that are not retired, by environment, newest first.
func usedSigningKeys(ctx context.Context, q *pg.Q) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := pg.Unchecked(q.Gorm(ctx)).Select("kid", "tenant_id", "environment_id", "status", "backend", "public_jwk", "sealed", "created_at", "retiring_at").
		Where("status <> 'retired' and " + signingKeys.NotEnded("signing_keys")).Order("environment_id, created_at desc, kid").Find(&rows).Error
	return rows, err
}
