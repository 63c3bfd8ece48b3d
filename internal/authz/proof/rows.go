package proof

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// GetProof returns one proof of the scope.
func GetProof(ctx context.Context, q *pg.Q, s pg.Scope, jti string) (models.Proof, error) {
	var p models.Proof
	return pg.OrNotFound(p, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and jti = ?", s.Tenant, s.Environment, jti).Take(&p).Error)
}

// OfAuthorization returns the proof of a decision.
func OfAuthorization(ctx context.Context, q *pg.Q, s pg.Scope, authorization string) (models.Proof, error) {
	var p models.Proof
	return pg.OrNotFound(p, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id = ?", s.Tenant, s.Environment, authorization).
		Take(&p).Error)
}

// ConsumeProof marks an active proof as consumed, with its ending. Of concurrent callers only one gets true.
func ConsumeProof(ctx context.Context, q *pg.Q, p models.Proof, by string, at time.Time) (bool, error) {
	e, err := pg.Ended(ctx, q, pg.Scope{Tenant: p.TenantID, Environment: p.EnvironmentID},
		models.Left{Record: "proofs", State: p.JTI, EndedAt: at, UselessAt: &p.ExpiresAt})
	if err != nil {
		return false, err
	}
	n, err := q.Exec(ctx, `with moved as (update proofs r set status = 'consumed', consumed_at = $5, consumed_by = $8
			where tenant_id = $2 and environment_id = $1 and jti = $4 and status = 'active' and expires_at > $5 and `+proofs.NotEnded("r")+` returning 1)
		`+pg.EndingOf(1), append(pg.EndingArgs(e), by)...)
	return n == 1, err
}

// RevokeProofsOfKey revokes active proofs signed by a key and returns them. It finds them by the time of their decision, which is at most
// r.Longest ago. The limit of the inner select, whose condition is unique, the offset and the array have the planner look up each decision
// and proof and not read all of them.
func RevokeProofsOfKey(ctx context.Context, q *pg.Q, k models.SigningKey, r Revocation) ([]VoidedProof, error) {
	var rows []VoidedProof
	err := q.Gorm(ctx).Raw(`with open as (
			select p.jti, a.subject_uid, a.action_key, a.decision from actions x
				cross join lateral (select id, environment_id, subject_uid, action_key, decision from authorizations
					where environment_id = @environment and action_id = x.id and decided_at > @since offset 0) a
				cross join lateral (select * from proofs p where p.authorization_id = a.id and p.environment_id = @environment limit 1) p
			where x.tenant_id = @tenant and x.environment_id = @environment and p.kid = @kid
			and p.status = 'active' and p.expires_at > @at limit nullif(@limit, 0)),
		voided as (
			update proofs p set status = 'revoked', revoked_at = @at, revoked_reason = @reason
			where p.jti = any (array(select jti from open)) and p.environment_id = @environment and p.status = 'active'
			returning p.jti as id, p.authorization_id, p.expires_at)
		select v.id, v.authorization_id, v.expires_at, open.subject_uid, coalesce(s.external_id, '') as subject, open.action_key, open.decision
		from voided v join open on open.jti = v.id left`+subjectrow.JoinIn("open", "@environment")+` order by v.id`,
		map[string]any{"since": r.At.Add(-r.Longest), "tenant": k.TenantID, "environment": k.EnvironmentID, "kid": k.KID, "at": r.At,
			"reason": r.Reason, "limit": r.Limit}).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	voided := make([]challenge.Voided, len(rows))
	for i, row := range rows {
		voided[i] = row.Voided
	}
	return rows, challenge.EndVoided(ctx, q, pg.Scope{Tenant: k.TenantID, Environment: k.EnvironmentID}, "proofs", r.At, voided)
}

// Consumed reports whether the proof of a decision was consumed, and keeps it as it is until the transaction ends; a decision without a proof has none
// that was.
func Consumed(ctx context.Context, q *pg.Q, s pg.Scope, authorization string) (bool, error) {
	var consumed bool
	err := q.QueryRow(ctx, "select status = 'consumed' from proofs where tenant_id = $1 and environment_id = $2 and authorization_id = $3 for update",
		s.Tenant, s.Environment, authorization).Scan(&consumed)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return consumed, err
}

// RevokeProofsOfRequest revokes the active proof that a decision or one that followed it has, and returns it; none if there is none.
func RevokeProofsOfRequest(ctx context.Context, q *pg.Q, s pg.Scope, decision string, r Revocation) ([]models.Proof, error) {
	var rows []models.Proof
	err := q.AsStored().Gorm(ctx).Raw(`with recursive chain (id) as (
			select id from authorizations where environment_id = @environment and id = @decision
			union all select a.id from chain join authorizations a on a.parent_id = chain.id and a.environment_id = @environment)
		update proofs set status = 'revoked', revoked_at = @at, revoked_reason = @reason
		where authorization_id = any (array(select id from chain)) and environment_id = @environment and tenant_id = @tenant and status = 'active' and expires_at > @at
		returning *`,
		map[string]any{"environment": s.Environment, "tenant": s.Tenant, "decision": decision, "at": r.At, "reason": r.Reason}).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	left := make([]models.Left, len(rows))
	for i, p := range rows {
		left[i] = models.Left{Record: "proofs", State: p.JTI, EndedAt: r.At, UselessAt: &p.ExpiresAt}
	}
	return rows, pg.End(ctx, q, s, left...)
}

// Revocation is the reason, time and bounds of revoking proofs.
type Revocation struct {
	Reason  string
	At      time.Time
	Longest time.Duration // longest time from a decision to the expiry of its proof
	Before  time.Time     // of a subject: those of decisions up to this time
	Limit   int           // number of proofs; 0 for all
}

// VoidedProof is a revoked proof with its subject.
type VoidedProof struct {
	challenge.Voided
	SubjectUID string
	Subject    string
}

// RevokeProofsOfSubject revokes active proofs of the subject and returns them. It finds them by the time of their decision, like RevokeOfKey.
func RevokeProofsOfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, r Revocation) ([]challenge.Voided, error) {
	var rows []challenge.Voided
	err := q.Gorm(ctx).Raw(`with open as (
			select p.jti, a.action_key, a.decision from authorizations a cross join lateral (select * from proofs p
				where p.authorization_id = a.id and p.environment_id = @environment limit 1) p
			where a.subject_uid = @uid and a.tenant_id = @tenant and a.environment_id = @environment and a.decided_at > @since
			and a.decided_at <= @before and p.status = 'active' and p.expires_at > @at limit nullif(@limit, 0)),
		voided as (
			update proofs p set status = 'revoked', revoked_at = @at, revoked_reason = @reason
			where p.jti = any (array(select jti from open)) and p.environment_id = @environment and p.status = 'active'
			returning p.jti as id, p.authorization_id, p.expires_at)
		select v.id, v.authorization_id, v.expires_at, open.action_key, open.decision from voided v join open on open.jti = v.id order by v.id`,
		map[string]any{"since": r.At.Add(-r.Longest), "at": r.At, "reason": r.Reason, "limit": r.Limit, "uid": uid, "tenant": s.Tenant,
			"environment": s.Environment, "before": r.Before}).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	return rows, challenge.EndVoided(ctx, q, s, "proofs", r.At, rows)
}
