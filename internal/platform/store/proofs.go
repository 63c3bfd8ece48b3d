package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Proofs stores the state of proofs.
type Proofs struct{ *Q }

// Proofs returns the queries of the aggregate.
func (q *Q) Proofs() Proofs { return Proofs{q} }

// Get returns one proof of the scope.
func (q Proofs) Get(ctx context.Context, s Scope, jti string) (models.Proof, error) {
	var p models.Proof
	return orNotFound(p, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and jti = ?", s.Tenant, s.Environment, jti).Take(&p).Error)
}

// signatureSince is the schema version since which binaries read a proof from its signature and the rows of its decision.
const signatureSince = 64

// ReadsSignatures reports whether every binary that runs reads proofs of which the signature alone is stored.
func (q *Q) ReadsSignatures(ctx context.Context, now time.Time) bool {
	return q.contracted(ctx, signatureSince, now)
}

// Issued returns the proof of a decision, and of the decision what its proof says.
func (q Proofs) Issued(ctx context.Context, s Scope, authorization string) (a models.Authorization, p models.Proof, err error) {
	a = models.Authorization{ID: authorization, TenantID: s.Tenant, EnvironmentID: s.Environment}
	p = models.Proof{AuthorizationID: authorization, TenantID: s.Tenant, EnvironmentID: s.Environment}
	row := q.queryRow(ctx, `select a.action_key, a.resource_type, coalesce(a.resource_digest, ''), coalesce(a.context_digest, ''),
		coalesce(a.action_hash, ''), coalesce(a.policy_hash, ''), a.digests, a.policy_version, a.audience, a.nonce, a.mode, a.coverage,
		a.challenge_completed, a.hold_approved, a.assurance, a.record, p.jti, p.kid, p.compact, p.sealed, p.issued_at, p.expires_at
		from authorizations a join proofs p on p.authorization_id = a.id and p.environment_id = a.environment_id
		where a.tenant_id = $1 and a.environment_id = $2 and a.id = $3`, s.Tenant, s.Environment, authorization)
	err = row.Scan(&a.ActionKey, &a.ResourceType, &a.ResourceDigest, &a.ContextDigest, &a.ActionHash, &a.PolicyHash, &a.Digests, &a.PolicyVersion, &a.Audience,
		&a.Nonce, &a.Mode, &a.Coverage, &a.ChallengeCompleted, &a.HoldApproved, &a.Assurance, &a.Record, &p.JTI, &p.KID, &p.Compact, &p.Sealed,
		&p.IssuedAt, &p.ExpiresAt)
	if err == nil {
		err = a.UnpackRecord()
	}
	p, err = orNotFound(p, err)
	return a, p, err
}

// Consume marks an active proof as consumed. Of concurrent callers only one gets true.
func (q Proofs) Consume(ctx context.Context, s Scope, jti, by string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update proofs set status = 'consumed', consumed_at = $4, consumed_by = $5, compact = null
		where tenant_id = $1 and environment_id = $2 and jti = $3 and status = 'active' and expires_at > $4`,
		s.Tenant, s.Environment, jti, at, by)
	return n == 1, err
}

// RevokeOfKey revokes active proofs signed by a key and returns them. It finds them by the time of their decision, which is at most
// r.Longest ago. The limit of the inner select, whose condition is unique, the offset and the array have the planner look up each decision
// and proof and not read all of them.
func (q Proofs) RevokeOfKey(ctx context.Context, k models.SigningKey, r Revocation) ([]VoidedProof, error) {
	var rows []VoidedProof
	err := q.gorm(ctx).Raw(`with open as (
			select p.jti, a.subject_uid, a.action_key, a.decision from actions x
				cross join lateral (select id, environment_id, subject_uid, action_key, decision from authorizations
					where environment_id = @environment and action_id = x.id and decided_at > @since offset 0) a
				cross join lateral (select * from proofs p where p.authorization_id = a.id and p.environment_id = a.environment_id limit 1) p
			where x.tenant_id = @tenant and x.environment_id = @environment and p.kid = @kid
			and p.status = 'active' and p.expires_at > @at limit nullif(@limit, 0)),
		voided as (
			update proofs p set status = 'revoked', revoked_at = @at, revoked_reason = @reason, compact = null
			where p.jti = any (array(select jti from open)) and p.environment_id = @environment and p.status = 'active'
			returning p.jti as id, p.authorization_id)
		select v.id, v.authorization_id, open.subject_uid, coalesce(s.external_id, '') as subject, open.action_key, open.decision
		from voided v join open on open.jti = v.id left join subjects s on s.uid = open.subject_uid and s.environment_id = @environment order by v.id`,
		map[string]any{"since": r.At.Add(-r.Longest), "tenant": k.TenantID, "environment": k.EnvironmentID, "kid": k.KID, "at": r.At,
			"reason": r.Reason, "limit": r.Limit}).Find(&rows).Error
	return rows, err
}

// Revocation is the reason, time and bounds of revoking proofs.
type Revocation struct {
	Reason  string
	At      time.Time
	Longest time.Duration // longest time from a decision to the expiry of its proof
	Limit   int           // number of proofs; 0 for all
}

// VoidedProof is a revoked proof with its subject.
type VoidedProof struct {
	Voided
	SubjectUID string
	Subject    string
}

// Voided is a challenge or proof that a change of its subject cancelled or revoked.
type Voided struct {
	ID              string
	AuthorizationID string
	ActionKey       string
	Decision        string
}

// RevokeOfSubject revokes active proofs of the subject and returns them. It finds them by the time of their decision, like RevokeOfKey.
func (q Proofs) RevokeOfSubject(ctx context.Context, s Scope, uid string, r Revocation) ([]Voided, error) {
	var rows []Voided
	err := q.gorm(ctx).Raw(`with open as (
			select p.jti, a.action_key, a.decision from authorizations a cross join lateral (select * from proofs p
				where p.authorization_id = a.id and p.environment_id = a.environment_id limit 1) p
			where a.subject_uid = @uid and a.tenant_id = @tenant and a.environment_id = @environment and a.decided_at > @since
			and p.status = 'active' and p.expires_at > @at limit nullif(@limit, 0)),
		voided as (
			update proofs p set status = 'revoked', revoked_at = @at, revoked_reason = @reason, compact = null
			where p.jti = any (array(select jti from open)) and p.environment_id = @environment and p.status = 'active'
			returning p.jti as id, p.authorization_id)
		select v.id, v.authorization_id, open.action_key, open.decision from voided v join open on open.jti = v.id order by v.id`,
		map[string]any{"since": r.At.Add(-r.Longest), "at": r.At, "reason": r.Reason, "limit": r.Limit, "uid": uid, "tenant": s.Tenant,
			"environment": s.Environment}).Find(&rows).Error
	return rows, err
}
