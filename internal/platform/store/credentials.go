package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Credentials stores credentials (API keys) by the MAC of their secret.
type Credentials struct{ *Q }

// Credentials returns the queries of the aggregate.
func (q *Q) Credentials() Credentials { return Credentials{q} }

// Create inserts a credential with its first key.
func (q Credentials) Create(ctx context.Context, c models.Credential, k models.CredentialKey) error {
	if err := q.gorm(ctx).Create(&c).Error; err != nil {
		return err
	}
	return q.gorm(ctx).Create(&k).Error
}

// ByMAC returns the credential with one of the MACs, its environment and its key. It returns expired and revoked
// credentials too: the caller distinguishes them.
func (q Credentials) ByMAC(ctx context.Context, macs [][]byte) (models.Credential, models.Environment, models.CredentialKey, error) {
	var k models.CredentialKey
	if err := q.gorm(ctx).Where("mac in ?", macs).Take(&k).Error; err != nil {
		_, err = orNotFound(k, err)
		return models.Credential{}, models.Environment{}, k, err
	}
	var c models.Credential
	if err := q.gorm(ctx).Where("id = ?", k.CredentialID).Take(&c).Error; err != nil {
		_, err = orNotFound(c, err)
		return c, models.Environment{}, k, err
	}
	e, err := q.Environments().Get(ctx, Scope{c.TenantID, c.EnvironmentID})
	return c, e, k, err
}

// Get returns one credential of the scope.
func (q Credentials) Get(ctx context.Context, s Scope, id string) (models.Credential, error) {
	var c models.Credential
	return orNotFound(c, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&c).Error)
}

// LockChain returns a credential of the scope and locks it and its issuers, the first one first, until the transaction ends: none of them is
// revoked meanwhile.
func (q Credentials) LockChain(ctx context.Context, s Scope, id string) (models.Credential, error) {
	var rows []models.Credential
	err := q.gorm(ctx).Raw(`select c.* from credentials c join credentials leaf on leaf.id = @id and (c.id = leaf.id or c.id = any(leaf.issuers))
		where c.tenant_id = @tenant and c.environment_id = @environment and leaf.environment_id = @environment
		order by cardinality(c.issuers) for share of c`, map[string]any{"id": id, "tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	if err != nil {
		return models.Credential{}, err
	}
	// Were the issuers others before the lock, or is one missing, the credential cannot be relied on.
	for _, c := range rows {
		if c.ID == id && len(rows) == len(c.Issuers)+1 {
			return c, nil
		}
	}
	return models.Credential{}, ErrNotFound
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
	rows, next := cutPage(rows, p, func(c models.Credential) (time.Time, string) { return c.CreatedAt, c.ID })
	return rows, next, nil
}

// Revoke revokes a credential and notifies every process. It returns false if it was revoked before.
func (q Credentials) Revoke(ctx context.Context, s Scope, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update credentials set revoked_at = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and revoked_at is null`, s.Tenant, s.Environment, id, at)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.Notify(ctx, ChannelCredential, id)
}

// RotateKey adds a key and lets the other keys of the credential expire at overlapEnds. It returns false and changes
// nothing while an earlier rotation still overlaps.
func (q Credentials) RotateKey(ctx context.Context, k models.CredentialKey, preview string, overlapEnds time.Time) (bool, error) {
	if _, err := q.exec(ctx, "delete from credential_keys where credential_id = $1 and expires_at <= $2", k.CredentialID, k.CreatedAt); err != nil {
		return false, err
	}
	// The update locks the credential, so that the second of two concurrent rotations sees the first.
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

// Touch records that a credential was used at a time, at most once in 15 minutes.
func (q Credentials) Touch(ctx context.Context, id string, at time.Time) error {
	_, err := q.exec(ctx, `update credentials set last_used_at = $2
		where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '15 minutes')`, id, at)
	return err
}

// SetRateLimit overrides the quota of a credential, in requests an hour.
func (q Credentials) SetRateLimit(ctx context.Context, s Scope, id string, limit int) error {
	_, err := q.exec(ctx, "update credentials set rate_limit = $4 where tenant_id = $1 and environment_id = $2 and id = $3",
		s.Tenant, s.Environment, id, limit)
	return err
}
