package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Create inserts a key and notifies every process.
func (q SigningKeys) Create(ctx context.Context, k models.SigningKey) error {
	if err := q.gorm(ctx).Create(&k).Error; err != nil {
		return err
	}
	return q.Notify(ctx, ChannelSigningKey, k.EnvironmentID)
}

// List are the environment's keys that are not retired, newest first.
func (q SigningKeys) List(ctx context.Context, s Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and status <> 'retired'", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// All are the environment's keys, retired ones too, newest first.
func (q SigningKeys) All(ctx context.Context, s Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// Published are the public keys of every environment that may still verify a proof.
func (q SigningKeys) Published(ctx context.Context) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Select("kid", "environment_id", "status", "public_jwk", "created_at", "retiring_at").
		Where("status <> 'retired'").Order("created_at, kid").Find(&rows).Error
	return rows, err
}

// InUse are the keys of every environment that are not retired, by environment, newest first.
func (q SigningKeys) InUse(ctx context.Context) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.gorm(ctx).Select("kid", "tenant_id", "environment_id", "status", "sealed", "created_at", "retiring_at").
		Where("status <> 'retired'").Order("environment_id, created_at desc, kid").Find(&rows).Error
	return rows, err
}

// Move is one step of a key's life, by the state it must be in, and notifies every process; false if the key is in
// another state.
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

// Lock takes the environment's row for the transaction, so that keys rotate one at a time.
func (q SigningKeys) Lock(ctx context.Context, s Scope) error {
	_, err := q.exec(ctx, "select 1 from environments where tenant_id = $1 and id = $2 for update", s.Tenant, s.Environment)
	return err
}

// Get is one proof of the scope.
func (q Proofs) Get(ctx context.Context, s Scope, jti string) (models.Proof, error) {
	var p models.Proof
	return one(p, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and jti = ?", s.Tenant, s.Environment, jti).Take(&p).Error)
}

// Consume uses a proof up; of any number of callers one gets true.
func (q Proofs) Consume(ctx context.Context, s Scope, jti, by string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update proofs set status = 'consumed', consumed_at = $4, consumed_by = $5, compact = null
		where tenant_id = $1 and environment_id = $2 and jti = $3 and status = 'active' and expires_at > $4`,
		s.Tenant, s.Environment, jti, at, by)
	return n == 1, err
}

// RevokeOfKey voids open proofs that a signing key signed and that have not expired, at most limit of them, and says
// which they were. A proof is no older than longest, by which it is found.
func (q Proofs) RevokeOfKey(ctx context.Context, k models.SigningKey, r Revocation) ([]VoidedProof, error) {
	var rows []VoidedProof
	err := q.gorm(ctx).Raw(`with open as (
			select p.jti from proofs p join authorizations a on a.id = p.authorization_id
			where a.decided_at > @since and p.tenant_id = @tenant and p.environment_id = @environment and p.kid = @kid
			and p.status = 'active' and p.expires_at > @at limit @limit),
		voided as (
			update proofs p set status = 'revoked', revoked_at = @at, revoked_reason = @reason, compact = null
			from open where p.jti = open.jti and p.status = 'active' returning p.jti as id, p.authorization_id, p.subject_uid)
		select v.id, v.authorization_id, v.subject_uid, coalesce(s.external_id, '') as subject, a.action_key, a.decision
		from voided v join authorizations a on a.id = v.authorization_id left join subjects s on s.uid = v.subject_uid order by v.id`,
		map[string]any{"since": r.At.Add(-r.Longest), "tenant": k.TenantID, "environment": k.EnvironmentID, "kid": k.KID, "at": r.At,
			"reason": r.Reason, "limit": r.Limit}).Scan(&rows).Error
	return rows, err
}

// Revocation says why and as of when proofs are voided.
type Revocation struct {
	Reason  string
	At      time.Time
	Longest time.Duration // that a proof can live after its decision
	Limit   int
}

// VoidedProof is a proof that was voided, with its subject.
type VoidedProof struct {
	Voided
	SubjectUID string
	Subject    string
}
