package subject

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/models"
)

// Reasons for which the proofs, challenges, tokens and sessions of a subject are ended. They are in events and must not change.
const (
	ReasonRevoked  = "subject_revoked"
	ReasonRecovery = "recovery"
	ReasonErasure  = "subject_erased"
	// What an identity provider reports by security events.
	ReasonSessionsRevoked = "sessions_revoked"
	ReasonAccountAtRisk   = "account_at_risk"
)

// incidents are the incidents of the reasons.
var incidents = map[string]pg.Incident{
	ReasonRevoked: pg.Revocation, ReasonRecovery: pg.Recovery, ReasonErasure: pg.Erasure,
	ReasonSessionsRevoked: pg.SessionsRevoked, ReasonAccountAtRisk: pg.AccountAtRisk,
}

// enders end the open rows of the tables that the declarations of tables list with an incident.
var enders = map[string]func(Void, context.Context, *pg.Q) error{
	"proofs": Void.proofs, "challenges": Void.challenges, "holds": Void.holds, "registration_grants": Void.registrationGrants,
	"client_tokens": Void.clientTokens, "sessions": Void.sessions, "subject_aliases": Void.aliases, "standing_approvals": Void.standingApprovals,
}

// Void ends what is open for a subject at an incident (pg.OfSubject), each with its event, in the caller's
// transaction. The caller must append the event of the cause first: the log has causes before effects.
type Void struct {
	Subject    models.Subject
	Reason     string // one of the Reason constants
	At         time.Time
	Before     time.Time // end only what was open at this time; zero for all
	Actor      string
	RequestID  string
	WorkflowID string // set if a workflow is the cause
}

// Open ends everything that the incident ends. It is safe to repeat.
func (v Void) Open(ctx context.Context, q *pg.Q) error {
	q = q.AsStored()
	for _, table := range pg.SubjectTables() {
		if !table.Subject.EndsAt(incidents[v.Reason]) {
			continue
		}
		if err := enders[table.Name](v, ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// before bounds what ends. Without a bound, what other processes with clocks that are ahead have opened ends as well.
func (v Void) before() time.Time {
	if v.Before.IsZero() {
		return v.At.AddDate(1, 0, 0)
	}
	return v.Before
}

// proofs revokes the subject's open proofs.
func (v Void) proofs(ctx context.Context, q *pg.Q) error {
	rows, err := v.revokeProofs(ctx, q)
	if err != nil {
		return err
	}
	return v.recordProofs(ctx, q, rows)
}

func (v Void) revokeProofs(ctx context.Context, q *pg.Q) ([]challenge.Voided, error) {
	return proof.RevokeProofsOfSubject(ctx, q, scopeOf(v.Subject), v.Subject.UID, proof.Revocation{Reason: v.Reason, At: v.At, Longest: proof.LongestOpen, Before: v.before()})
}

// recordProofs appends the event of each revoked proof.
func (v Void) recordProofs(ctx context.Context, q *pg.Q, rows []challenge.Voided) error {
	for _, r := range rows {
		e := v.entry(events.ProofRevokedData{ProofID: r.ID, Reason: v.Reason}, r)
		if err := v.release(ctx, q, e); err != nil {
			return err
		}
	}
	return nil
}

// challenges cancels the subject's open challenges and notifies their workflows through the outbox.
func (v Void) challenges(ctx context.Context, q *pg.Q) error {
	rows, err := challenge.CancelChallengesOfSubject(ctx, q, scopeOf(v.Subject), v.Subject.UID, v.before(), v.At)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := v.settle(ctx, q, outbox.TopicChallengeSettled, events.ChallengeCancelledData{Challenge: r.ID, Reason: v.Reason}, r); err != nil {
			return err
		}
	}
	return nil
}

// holds expires the subject's pending holds and notifies their workflows through the outbox.
func (v Void) holds(ctx context.Context, q *pg.Q) error {
	rows, err := hold.ExpireHoldsOfSubject(ctx, q, scopeOf(v.Subject), v.Subject.UID, v.before(), v.At)
	if err != nil {
		return err
	}
	for _, r := range rows {
		data := events.HoldExpiredData{OpenedAt: apitime.Time(r.OpenedAt), DueAt: apitime.Time(r.DueAt), Reason: v.Reason}
		if err := v.settle(ctx, q, outbox.TopicHoldSettled, data, r.Voided); err != nil {
			return err
		}
	}
	return nil
}

// release appends the event of something that Void ended, which gives back what its request counts towards caps.
func (v Void) release(ctx context.Context, q *pg.Q, e events.Entry) error {
	if err := aggregate.Release(ctx, q, v.Subject.EnvironmentID, v.At, e.AuthorizationID); err != nil {
		return err
	}
	return events.Append(ctx, q, e)
}

// settle ends something that Void ended with its event and notifies its workflow.
func (v Void) settle(ctx context.Context, q *pg.Q, topic string, data events.Data, r challenge.Voided) error {
	if err := v.release(ctx, q, v.entry(data, r)); err != nil {
		return err
	}
	return outbox.Add(ctx, q, outbox.Item{Topic: topic, Environment: v.Subject.EnvironmentID, Ref: r.ID, At: v.At})
}

// registrationGrants ends the grants with which a passkey could still be registered, and the ceremonies that have begun.
func (v Void) registrationGrants(ctx context.Context, q *pg.Q) error {
	return passkey.EndGrantsOfSubject(ctx, q, scopeOf(v.Subject), v.Subject.UID, v.before(), v.At)
}

// clientTokens revokes the client tokens with which browsers submit evidence for the subject.
func (v Void) clientTokens(ctx context.Context, q *pg.Q) error {
	held, err := identity.RevokeClientTokensOfSubject(ctx, q, scopeOf(v.Subject), v.Subject.UID, v.before(), v.At)
	if err != nil || held == 0 {
		return err
	}
	return events.Append(ctx, q, v.entry(events.ClientTokenRevokedData{Revoked: held, Reason: v.Reason}, challenge.Voided{}))
}

// standingApprovals ends the subject's standing approvals, those that wait for their approval included.
func (v Void) standingApprovals(ctx context.Context, q *pg.Q) error {
	e := standing.Ending{Reason: v.Reason, By: v.Actor, RequestID: v.RequestID, WorkflowID: v.WorkflowID, At: v.At}
	return e.OfSubject(ctx, q, scopeOf(v.Subject), v.Subject.UID, v.before())
}

// aliases removes the names by which security events know the subject.
func (v Void) aliases(ctx context.Context, q *pg.Q) error {
	return alias.Forget(ctx, q, scopeOf(v.Subject), v.Subject.UID)
}

// sessions ends the subject's active sessions. Its templates do not adapt to them.
func (v Void) sessions(ctx context.Context, q *pg.Q) error {
	ended, err := endSessionsOfSubject(ctx, q, scopeOf(v.Subject), v.Subject.UID, v.before(), v.At)
	if err != nil {
		return err
	}
	for _, id := range ended {
		e := v.entry(events.SessionEndedData{Session: id, Reason: v.Reason}, challenge.Voided{})
		if err := events.Append(ctx, q, e); err != nil {
			return err
		}
	}
	return nil
}

// entry returns an event about something of the subject that Void ended.
func (v Void) entry(data events.Data, r challenge.Voided) events.Entry {
	return events.Entry{
		Scope: scopeOf(v.Subject), Data: data, At: v.At, SubjectUID: v.Subject.UID, Subject: v.Subject.ExternalID, Action: r.ActionKey,
		AuthorizationID: r.AuthorizationID, Decision: r.Decision, Actor: v.Actor, RequestID: v.RequestID, WorkflowID: v.WorkflowID,
	}
}
