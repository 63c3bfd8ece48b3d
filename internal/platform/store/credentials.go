package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

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

// Create inserts an environment.
func (q Environments) Create(ctx context.Context, e models.Environment) error {
	return q.gorm(ctx).Create(&e).Error
}

// List lists a tenant's environments; all tenants' where tenant is empty (for jobs and the CLI only).
func (q Environments) List(ctx context.Context, tenant string) ([]models.Environment, error) {
	var rows []models.Environment
	tx := q.gorm(ctx).Order("created_at, id")
	if tenant != "" {
		tx = tx.Where("tenant_id = ?", tenant)
	}
	err := tx.Find(&rows).Error
	return rows, err
}

// Get is the scope's own row.
func (q Environments) Get(ctx context.Context, s Scope) (models.Environment, error) {
	var e models.Environment
	return one(e, q.gorm(ctx).Where("tenant_id = ? and id = ?", s.Tenant, s.Environment).Take(&e).Error)
}

// SetRP changes the relying party's WebAuthn settings.
func (q Environments) SetRP(ctx context.Context, s Scope, rpID string, origins []string) error {
	_, err := q.exec(ctx, "update environments set rp_id = $3, rp_origins = $4 where tenant_id = $1 and id = $2",
		s.Tenant, s.Environment, rpID, models.Strings(origins))
	return q.Environments().changed(ctx, s.Environment, err)
}

// SetSettings changes what a relying party may set of its environment to what e has.
func (q Environments) SetSettings(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, `update environments set rp_name = $3, rp_origins = $4, challenge_ttl_seconds = $5, hold_ttl_seconds = $6,
		enrollment_grant_required = $7, bar_self_review = $8 where tenant_id = $1 and id = $2`, e.TenantID, e.ID, e.RPName, e.RPOrigins,
		e.ChallengeTTLSeconds, e.HoldTTLSeconds, e.EnrollmentGrantRequired, e.BarSelfReview)
	return q.Environments().changed(ctx, e.ID, err)
}

// SetPages changes the settings of the hosted pages to those of e.
func (q Environments) SetPages(ctx context.Context, e models.Environment) error {
	_, err := q.exec(ctx, `update environments set page_origin = $3, return_origins = $4, frame_ancestors = $5
		where tenant_id = $1 and id = $2`, e.TenantID, e.ID, e.PageOrigin, e.ReturnOrigins, e.FrameAncestors)
	return q.Environments().changed(ctx, e.ID, err)
}

// changed tells the caches, unless the change failed.
func (q Environments) changed(ctx context.Context, id string, err error) error {
	if err != nil {
		return err
	}
	return q.Notify(ctx, ChannelEnvironment, id)
}

// SetRateLimitCeiling sets the most requests an hour that a key of the environment may be given; nil is the default of its kind.
func (q Tenants) SetRateLimitCeiling(ctx context.Context, s Scope, ceiling *int) error {
	_, err := q.exec(ctx, "update environments set rate_limit_ceiling = $3 where tenant_id = $1 and id = $2", s.Tenant, s.Environment, ceiling)
	return err
}

// Create inserts a credential with its first key.
func (q Credentials) Create(ctx context.Context, c models.Credential, k models.CredentialKey) error {
	if err := q.gorm(ctx).Create(&c).Error; err != nil {
		return err
	}
	return q.gorm(ctx).Create(&k).Error
}

// ByMAC finds the credential, with its environment, that one of the MACs belongs to. Expired and revoked ones
// are found too: the caller tells them apart.
func (q Credentials) ByMAC(ctx context.Context, macs [][]byte) (models.Credential, models.Environment, models.CredentialKey, error) {
	var k models.CredentialKey
	if err := q.gorm(ctx).Where("mac in ?", macs).Take(&k).Error; err != nil {
		_, err = one(k, err)
		return models.Credential{}, models.Environment{}, k, err
	}
	var c models.Credential
	if err := q.gorm(ctx).Where("id = ?", k.CredentialID).Take(&c).Error; err != nil {
		_, err = one(c, err)
		return c, models.Environment{}, k, err
	}
	e, err := q.Environments().Get(ctx, Scope{c.TenantID, c.EnvironmentID})
	return c, e, k, err
}

// Get is one credential of the scope.
func (q Credentials) Get(ctx context.Context, s Scope, id string) (models.Credential, error) {
	var c models.Credential
	return one(c, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&c).Error)
}

// List lists the scope's credentials, newest first.
func (q Credentials) List(ctx context.Context, s Scope, p Page) ([]models.Credential, string, error) {
	tx, err := paginate(q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Credential
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cut(rows, p, func(c models.Credential) (time.Time, string) { return c.CreatedAt, c.ID })
	return rows, next, nil
}

// Revoke ends a credential and tells the caches; false where it was revoked before.
func (q Credentials) Revoke(ctx context.Context, s Scope, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update credentials set revoked_at = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and revoked_at is null`, s.Tenant, s.Environment, id, at)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.Notify(ctx, ChannelCredential, id)
}

// RotateKey adds a key and lets the others end at overlapEnds. It reports false, and changes nothing, while an
// earlier rotation still overlaps.
func (q Credentials) RotateKey(ctx context.Context, k models.CredentialKey, preview string, overlapEnds time.Time) (bool, error) {
	if _, err := q.exec(ctx, "delete from credential_keys where credential_id = $1 and expires_at <= $2", k.CredentialID, k.CreatedAt); err != nil {
		return false, err
	}
	// Locks the credential, so that of two rotations at once the second sees the first.
	n, err := q.exec(ctx, `update credentials c set preview = $2 where id = $1 and revoked_at is null
		and not exists (select 1 from credential_keys where credential_id = c.id and expires_at is not null)`, k.CredentialID, preview)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := q.exec(ctx, "update credential_keys set expires_at = $2 where credential_id = $1", k.CredentialID, overlapEnds); err != nil {
		return false, err
	}
	if err := q.gorm(ctx).Create(&k).Error; err != nil {
		return false, err
	}
	return true, q.Notify(ctx, ChannelCredential, k.CredentialID)
}

// Touch notes the use of a credential, at most once in 15 minutes.
func (q Credentials) Touch(ctx context.Context, id string, at time.Time) error {
	_, err := q.exec(ctx, `update credentials set last_used_at = $2
		where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '15 minutes')`, id, at)
	return err
}

// SetRateLimit overrides a credential's quota (requests an hour).
func (q Credentials) SetRateLimit(ctx context.Context, s Scope, id string, limit int) error {
	_, err := q.exec(ctx, "update credentials set rate_limit = $4 where tenant_id = $1 and environment_id = $2 and id = $3",
		s.Tenant, s.Environment, id, limit)
	return err
}

// Create inserts a client token.
func (q ClientTokens) Create(ctx context.Context, t models.ClientToken) error {
	return q.gorm(ctx).Create(&t).Error
}

// ByMAC finds a client token, the credential that issued it and its environment; expired and revoked ones too.
func (q ClientTokens) ByMAC(ctx context.Context, macs [][]byte) (t models.ClientToken, issuer models.Credential, e models.Environment, err error) {
	if t, err = one(t, q.gorm(ctx).Where("mac in ?", macs).Take(&t).Error); err != nil {
		return t, issuer, e, err
	}
	scope := Scope{t.TenantID, t.EnvironmentID}
	if issuer, err = q.Credentials().Get(ctx, scope, t.CredentialID); err != nil {
		return t, issuer, e, err
	}
	e, err = q.Environments().Get(ctx, scope)
	return t, issuer, e, err
}

// Take takes n of a bucket's quota in the window, or nothing where that would pass the limit. It answers whether it
// was granted and how much of the window is used.
func (q Quotas) Take(ctx context.Context, bucket string, window time.Time, n, limit int) (granted bool, used int, err error) {
	err = q.queryRow(ctx, `with took as (
			insert into rate_windows as w (bucket, window_start, used) values ($1, $2, $3)
			on conflict (bucket, window_start) do update set used = w.used + $3 where w.used + $3 <= $4
			returning used)
		select true, used from took
		union all
		select false, used from rate_windows where bucket = $1 and window_start = $2 and not exists (select 1 from took)`,
		bucket, window, n, limit).Scan(&granted, &used)
	return granted, used, err
}

// Return gives back what was taken and not used.
func (q Quotas) Return(ctx context.Context, bucket string, window time.Time, n int) error {
	_, err := q.exec(ctx, "update rate_windows set used = greatest(used - $3, 0) where bucket = $1 and window_start = $2", bucket, window, n)
	return err
}

// Drop forgets windows that ended before t.
func (q Quotas) Drop(ctx context.Context, t time.Time) (int64, error) {
	return q.exec(ctx, "delete from rate_windows where window_start < $1", t)
}
