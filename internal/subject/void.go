package subject

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Reasons for which the proofs, challenges, tokens and sessions of a subject are ended. They are in events and must not change.
const (
	ReasonRevoked  = "subject_revoked"
	ReasonRecovery = "recovery"
	ReasonErasure  = "subject_erased"
)

// Void ends the open proofs, challenges, client tokens and sessions of a subject, each with its event, in the caller's
// transaction. The caller must append the event of the cause first: the log has causes before effects.
type Void struct {
	Subject    models.Subject
	Reason     string // one of the Reason constants
	At         time.Time
	Actor      string
	RequestID  string
	WorkflowID string // set if a workflow is the cause
}

// Proofs revokes the subject's open proofs and returns how many it revoked.
func (v Void) Proofs(ctx context.Context, q *store.Q) (int, error) {
	rows, err := v.revokeProofs(ctx, q)
	if err != nil {
		return 0, err
	}
	return len(rows), v.recordProofs(ctx, q, rows)
}

func (v Void) revokeProofs(ctx context.Context, q *store.Q) ([]store.Voided, error) {
	return q.Proofs().RevokeOfSubject(ctx, scopeOf(v.Subject), v.Subject.UID, store.Revocation{Reason: v.Reason, At: v.At, Longest: proof.LongestOpen})
}

// recordProofs appends the event of each revoked proof.
func (v Void) recordProofs(ctx context.Context, q *store.Q, rows []store.Voided) error {
	for _, r := range rows {
		e := v.entry(events.ProofRevokedData{ProofID: r.ID, Reason: v.Reason}, r)
		if err := events.Append(ctx, q, e); err != nil {
			return err
		}
	}
	return nil
}

// Challenges cancels the subject's open challenges, notifies their workflows through the outbox, and returns how many it
// cancelled.
func (v Void) Challenges(ctx context.Context, q *store.Q) (int, error) {
	rows, err := q.Challenges().CancelOfSubject(ctx, scopeOf(v.Subject), v.Subject.UID, v.At)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		e := v.entry(events.ChallengeCancelledData{Challenge: r.ID, Reason: v.Reason}, r)
		if err := events.Append(ctx, q, e); err != nil {
			return 0, err
		}
		err := outbox.Add(ctx, q, outbox.Item{
			Topic: outbox.TopicChallengeSettled, Environment: v.Subject.EnvironmentID, Ref: r.ID, At: v.At,
		})
		if err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// ClientTokens revokes the client tokens with which browsers submit evidence for the subject.
func (v Void) ClientTokens(ctx context.Context, q *store.Q) error {
	held, err := q.ClientTokens().RevokeOfSubject(ctx, scopeOf(v.Subject), v.Subject.UID, v.At)
	if err != nil || held == 0 {
		return err
	}
	return events.Append(ctx, q, v.entry(events.ClientTokenRevokedData{Revoked: held, Reason: v.Reason}, store.Voided{}))
}

// Sessions ends the subject's active sessions. Its templates do not adapt to them.
func (v Void) Sessions(ctx context.Context, q *store.Q) error {
	ended, err := q.Sessions().EndOfSubject(ctx, scopeOf(v.Subject), v.Subject.UID, v.At)
	if err != nil {
		return err
	}
	for _, id := range ended {
		e := v.entry(events.SessionEndedData{Session: id, Reason: v.Reason}, store.Voided{})
		if err := events.Append(ctx, q, e); err != nil {
			return err
		}
	}
	return nil
}

// Channels ends everything that accepts evidence for the subject: client tokens and sessions.
func (v Void) Channels(ctx context.Context, q *store.Q) error {
	if err := v.ClientTokens(ctx, q); err != nil {
		return err
	}
	return v.Sessions(ctx, q)
}

// entry returns an event about something of the subject that Void ended.
func (v Void) entry(data events.Data, r store.Voided) events.Entry {
	return events.Entry{
		Scope: scopeOf(v.Subject), Data: data, At: v.At, SubjectUID: v.Subject.UID, Subject: v.Subject.ExternalID, Action: r.ActionKey,
		AuthorizationID: r.AuthorizationID, Decision: r.Decision, Actor: v.Actor, RequestID: v.RequestID, WorkflowID: v.WorkflowID,
	}
}
