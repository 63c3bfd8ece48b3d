package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// CreateSigningKey inserts a key.
func (q *Q) CreateSigningKey(ctx context.Context, k models.SigningKey) error {
	return q.with(ctx).Create(&k).Error
}

// SigningKeys are the environment's keys that are not retired, newest first.
func (q *Q) SigningKeys(ctx context.Context, s Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.with(ctx).Where("tenant_id = ? and environment_id = ? and status <> 'retired'", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// AllSigningKeys are the environment's keys, retired ones too, newest first.
func (q *Q) AllSigningKeys(ctx context.Context, s Scope) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.with(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Order("created_at desc, kid").Find(&rows).Error
	return rows, err
}

// PublishedKeys are the public keys of every environment that may still verify a proof.
func (q *Q) PublishedKeys(ctx context.Context) ([]models.SigningKey, error) {
	var rows []models.SigningKey
	err := q.with(ctx).Select("kid", "environment_id", "status", "public_jwk", "created_at").
		Where("status <> 'retired'").Order("created_at, kid").Find(&rows).Error
	return rows, err
}

// MoveSigningKey is one step of a key's life, by the state it must be in; false where it is in another.
func (q *Q) MoveSigningKey(ctx context.Context, kid string, from, to models.KeyStatus, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update signing_keys set status = $3,
		activated_at = case when $3 = 'active' then $4 else activated_at end,
		retiring_at = case when $3 = 'retiring' then $4 else retiring_at end,
		retired_at = case when $3 = 'retired' then $4 else retired_at end
		where kid = $1 and status = $2`, kid, string(from), string(to), at)
	return n == 1, err
}

// LockSigningKeys takes the environment's row for the transaction, so that keys rotate one at a time.
func (q *Q) LockSigningKeys(ctx context.Context, s Scope) error {
	_, err := q.exec(ctx, "select 1 from environments where tenant_id = $1 and id = $2 for update", s.Tenant, s.Environment)
	return err
}

// Proof is one proof of the scope.
func (q *Q) Proof(ctx context.Context, s Scope, jti string) (models.Proof, error) {
	var p models.Proof
	return one(p, q.with(ctx).Where("tenant_id = ? and environment_id = ? and jti = ?", s.Tenant, s.Environment, jti).Take(&p).Error)
}

// ConsumeProof uses a proof up; of any number of callers one gets true.
func (q *Q) ConsumeProof(ctx context.Context, s Scope, jti, by string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update proofs set status = 'consumed', consumed_at = $4, consumed_by = $5, compact = null
		where tenant_id = $1 and environment_id = $2 and jti = $3 and status = 'active' and expires_at > $4`,
		s.Tenant, s.Environment, jti, at, by)
	return n == 1, err
}

// RevokeProofs revokes every open proof of a subject and answers them.
func (q *Q) RevokeProofs(ctx context.Context, s Scope, subjectUID, reason string, at time.Time) ([]models.Proof, error) {
	var rows []models.Proof
	err := q.with(ctx).Raw(`update proofs set status = 'revoked', revoked_at = ?, revoked_reason = ?, compact = null
		where tenant_id = ? and environment_id = ? and subject_uid = ? and status = 'active' and expires_at > ? returning *`,
		at, reason, s.Tenant, s.Environment, subjectUID, at).Scan(&rows).Error
	return rows, err
}
