package authorization

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Decision is every row that one decision writes.
type Decision struct {
	Authorization models.Authorization
	Proof         *models.Proof
	Challenge     *models.Challenge
	Hold          *models.Hold
	Steps         []models.HoldStep // of Hold
	Teams         []models.HoldTeam // of Hold
	Details       *models.ShownDetails
	Kept          *models.KeptValues
	Aggregates    []models.AggregateValue // of a first decision
	Counted       bool                    // a follow-up decision counts with the values of the request
	ReservedUntil *time.Time              // of a follow-up decision that waits
	Events        []models.Event          // announced to webhooks
	Outbox        []models.Outbox         // workflows to start
	// Settle adds the statements of the move that a follow-up decision belongs to, with their guards; nil adds none.
	Settle func(b *pgx.Batch) error
	// SubjectAsOf is the updated_at of the subject that was decided about.
	SubjectAsOf time.Time
}

// InsertDecision writes a decision in one transaction, whose statements are sent together. It returns false, and has written nothing, if the
// subject has changed since SubjectAsOf (it may have been revoked) or a guard of Settle fails: the caller reads the facts again and decides again. A reused
// idempotency key or nonce violates authorizations_idempotency or authorizations_nonce. In a caller's transaction, either ends it.
func InsertDecision(ctx context.Context, q *pg.Q, d *Decision) (bool, error) {
	b := &pgx.Batch{}
	a := &d.Authorization
	b.Queue(subjectrow.Unchanged, a.EnvironmentID, a.SubjectUID, d.SubjectAsOf)
	if d.Settle != nil {
		if err := d.Settle(b); err != nil {
			return false, err
		}
	}
	if err := pg.Sign(ctx, q, a); err != nil {
		return false, err
	}
	queueAuthorization(b, a)
	if p := d.Proof; p != nil {
		if err := pg.Sign(ctx, q, p); err != nil {
			return false, err
		}
		b.Queue(`insert into proofs (jti, tenant_id, environment_id, authorization_id, subject_uid, kid, audience, status, issued_at,
			expires_at, sealed, row_mac) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			p.JTI, p.TenantID, p.EnvironmentID, p.AuthorizationID, p.SubjectUID, p.KID, p.Audience, string(p.Status), p.IssuedAt,
			p.ExpiresAt, p.Sealed, p.RowMAC)
	}
	if c := d.Challenge; c != nil {
		if err := pg.Sign(ctx, q, c); err != nil {
			return false, err
		}
		b.Queue(`insert into challenges (id, tenant_id, environment_id, authorization_id, subject_uid, status, methods, display,
			display_digest, action_hash, random, created_at, expires_at, row_mac)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			c.ID, c.TenantID, c.EnvironmentID, c.AuthorizationID, c.SubjectUID, string(c.Status), c.Methods, c.Display,
			c.DisplayDigest, c.ActionHash, c.Random, c.CreatedAt, c.ExpiresAt, c.RowMAC)
	}
	if d.Hold != nil {
		if err := pg.Sign(ctx, q, d.Hold); err != nil {
			return false, err
		}
		queueHold(b, *d.Hold)
	}
	for _, s := range d.Steps {
		if err := pg.Sign(ctx, q, &s); err != nil {
			return false, err
		}
		queueHoldStep(b, s)
	}
	for _, t := range d.Teams {
		if err := pg.Sign(ctx, q, &t); err != nil {
			return false, err
		}
		queueHoldTeam(b, t)
	}
	if s := d.Details; s != nil {
		b.Queue(`insert into shown_details (authorization_id, tenant_id, environment_id, subject_uid, details, decided_at)
			values ($1, $2, $3, $4, $5, $6)`,
			s.AuthorizationID, s.TenantID, s.EnvironmentID, s.SubjectUID, s.Details, s.DecidedAt)
	}
	if k := d.Kept; k != nil {
		b.Queue(`insert into kept_values (authorization_id, tenant_id, environment_id, subject_uid, kept, decided_at)
			values ($1, $2, $3, $4, $5, $6)`,
			k.AuthorizationID, k.TenantID, k.EnvironmentID, k.SubjectUID, k.Kept, k.DecidedAt)
	}
	aggregate.QueueInsert(b, d.Aggregates)
	if d.Counted {
		aggregate.QueueFollowUp(b, *a, d.ReservedUntil)
	}
	causes := q.Causes()
	for _, e := range d.Events { // in their order, by which they are numbered
		events.QueueEvent(b, e, causes)
		events.QueueOutbox(b, events.Announcement(e))
	}
	for _, o := range d.Outbox {
		events.QueueOutbox(b, o)
	}
	err := q.Transaction(ctx, b)
	if pg.Changed(err) {
		return false, nil
	}
	return err == nil, err
}

// keepSubject is subjectrow.Unchanged by itself, in the caller's transaction. It fails with errAgain if the subject has changed.
func keepSubject(ctx context.Context, q *pg.Q, s models.Subject) error {
	_, err := q.Exec(ctx, subjectrow.Unchanged, s.EnvironmentID, s.UID, s.UpdatedAt)
	if pg.Changed(err) {
		return errAgain
	}
	return err
}

func queueAuthorization(b *pgx.Batch, a *models.Authorization) {
	b.Queue(`insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, session_id,
		session_pinned, parent_id, actor, resource_type, resource_digest, context_digest, action_hash, audience, nonce, idempotency_key,
		request_hash, requested_at, decided_at, latency_ms, trace_id, mode, decision, reason_codes, policy_version, policy_hash,
		coverage, insufficient, operator_changed, challenges_used, challenge_completed, hold_approved, assurance, explanation, response, row_mac, break_glass,
		standing_id, standing_amount, opens_standing)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
		$27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42)`,
		a.ID, a.TenantID, a.EnvironmentID, a.CredentialID, a.ActionID, a.ActionKey, a.SubjectUID, a.SessionID,
		a.SessionPinned, a.ParentID, a.Actor, a.ResourceType, a.ResourceDigest, a.ContextDigest, a.ActionHash, a.Audience, a.Nonce, a.IdempotencyKey,
		a.RequestHash, a.RequestedAt, a.DecidedAt, a.LatencyMS, a.TraceID, string(a.Mode), a.Decision, a.ReasonCodes, a.PolicyVersion, a.PolicyHash,
		a.Coverage, a.Insufficient, a.OperatorChanged, a.ChallengesUsed, a.ChallengeCompleted, a.HoldApproved, a.Assurance, a.Explanation, a.Response, a.RowMAC, a.BreakGlass,
		a.StandingID, a.StandingAmount, a.OpensStanding)
}

func queueHold(b *pgx.Batch, h models.Hold) {
	b.Queue(`insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status,
		approvals_required, teams_required, self_review_barred, opened_at, remind_at, due_at, row_mac, ends_at, repeat_approvers, requester_person,
		glass_team, glass_approvals, glass_seconds, working_hours)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
		h.AuthorizationID, h.TenantID, h.EnvironmentID, h.ActionID, h.SubjectUID, h.RiskClass, string(h.Status),
		h.ApprovalsRequired, h.TeamsRequired, h.SelfReviewBarred, h.OpenedAt, h.RemindAt, h.DueAt, h.RowMAC, h.EndsAt, h.RepeatApprovers, h.RequesterPerson,
		h.GlassTeam, h.GlassApprovals, h.GlassSeconds, h.WorkingHours)
	events.QueueOutbox(b, hold.NoticeOf(h, models.NoticeOpened, h.OpenedAt))
}
