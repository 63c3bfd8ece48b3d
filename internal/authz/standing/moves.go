package standing

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// The states of a standing approval and the moves between them:
//
//	pending --- Advance (its challenge is completed, or its hold approved) ---> active
//	active ---- Reserve (a use), GiveBack (it was not executed) --------------> active
//	pending, active --- Ending (revoked, or what it rests on has ended) ------> ended
//
// One whose challenge or hold is not approved stays pending, and allows nothing.

// Reasons for which standing approvals end, besides the reasons of incidents (internal/subject.Void). They are in events and must not change.
const (
	ReasonRevoked  = "revoked"
	ReasonApprover = "approver_without_authority"
	ReasonFrozen   = "subject_frozen"
	ReasonExpired  = "expired"
	reasonVersion  = "policy_version_retired"
	reasonArchived = "action_archived"
	reasonPasskey  = "passkey_revoked"
	reasonSubject  = "subject_revoked"
)

// Advance is a follow-up decision about the approval of a standing approval.
type Advance struct {
	ID      string
	Parent  string  // the decision that it follows
	Made    string  // the decision
	Passkey *string // with which the subject signed; nil if it did not
	Held    bool    // reviewers approved the parent
	Begins  bool    // it is allowed
	At      time.Time
}

// Make moves the standing approval, in the caller's transaction. It returns false if it waits no more for this decision: it was revoked.
func (a Advance) Make(ctx context.Context, q *pg.Q, s pg.Scope) (bool, error) {
	rows, err := pg.Change[models.StandingApproval](ctx, q, "tenant_id = @tenant and environment_id = @environment and id = @id and status = 'pending' and authorization_id = @parent",
		`authorization_id = @made, passkey_id = coalesce(@passkey, passkey_id), hold_id = case when @held then @parent else hold_id end,
			status = case when @begins then 'active' else status end, begun_at = case when @begins then cast(@at as timestamptz) end, revision = revision + 1`,
		map[string]any{
			"tenant": s.Tenant, "environment": s.Environment, "id": a.ID, "parent": a.Parent, "made": a.Made, "passkey": a.Passkey, "held": a.Held, "begins": a.Begins,
			"at": a.At,
		})
	return len(rows) == 1, err
}

// Reserve counts one use and its amount, in the caller's transaction, if the standing approval is in force at the time and has room for both. It
// locks the row: uses at the same time follow each other.
func Reserve(ctx context.Context, q *pg.Q, r models.StandingApproval, amount string, at time.Time) (models.StandingApproval, bool, error) {
	rows, err := pg.Change[models.StandingApproval](ctx, q, `tenant_id = @tenant and environment_id = @environment and id = @id and status = 'active'
			and uses < max_uses and (max_amount is null or amount_used + cast(@amount as numeric) <= max_amount) and `+overOf("standing_approvals", here)+` is null`,
		"uses = uses + 1, amount_used = amount_used + cast(@amount as numeric), revision = revision + 1",
		map[string]any{"tenant": r.TenantID, "environment": r.EnvironmentID, "id": r.ID, "amount": amount, "at": at})
	if err != nil || len(rows) == 0 {
		return r, false, err
	}
	return rows[0], true, nil
}

// GiveBack takes back the use of a decision that is not executed, in the caller's transaction, which makes sure that it happens once. It returns false
// if the standing approval has ended or was erased.
func GiveBack(ctx context.Context, q *pg.Q, a models.Authorization) (bool, error) {
	amount := "0"
	if a.StandingAmount != nil {
		amount = *a.StandingAmount
	}
	rows, err := pg.Change[models.StandingApproval](ctx, q, "tenant_id = @tenant and environment_id = @environment and id = @id and status = 'active' and uses > 0",
		"uses = uses - 1, amount_used = amount_used - cast(@amount as numeric), revision = revision + 1",
		map[string]any{"tenant": a.TenantID, "environment": a.EnvironmentID, "id": *a.StandingID, "amount": amount})
	return len(rows) == 1, err
}

// Ending is how and by whom standing approvals are ended.
type Ending struct {
	Reason     string
	By         string // the actor
	RequestID  string
	WorkflowID string
	At         time.Time
}

// OfSubject ends the standing approvals of a subject that were asked for before a time, those that wait included, in the caller's transaction.
func (e Ending) OfSubject(ctx context.Context, q *pg.Q, s pg.Scope, uid string, before time.Time) error {
	return e.end(ctx, q, s, "subject_uid = @uid and created_at <= @before", map[string]any{"uid": uid, "before": before})
}

// One ends one standing approval, in the caller's transaction.
func (e Ending) One(ctx context.Context, q *pg.Q, r models.StandingApproval) error {
	return e.end(ctx, q, pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, "id = @id", map[string]any{"id": r.ID})
}

func (e Ending) end(ctx context.Context, q *pg.Q, s pg.Scope, where string, args map[string]any) error {
	for name, value := range map[string]any{"tenant": s.Tenant, "environment": s.Environment, "ended_at": e.At, "ended_by": e.By, "end_reason": e.Reason} {
		args[name] = value
	}
	rows, err := pg.Change[models.StandingApproval](ctx, q, "tenant_id = @tenant and environment_id = @environment and status <> 'ended' and "+where,
		"status = 'ended', ended_at = @ended_at, ended_by = @ended_by, end_reason = @end_reason, revision = revision + 1", args)
	if err != nil {
		return err
	}
	uids := make([]string, len(rows))
	for i, r := range rows {
		uids[i] = r.SubjectUID
	}
	subjects, err := subjectrow.ExternalIDs(ctx, q, s, uids)
	if err != nil {
		return err
	}
	for _, r := range rows {
		entry := EntryOf(r, subjects[r.SubjectUID], events.StandingEndedData{Standing: r.ID, Reason: e.Reason, Uses: r.Uses})
		entry.At, entry.Actor, entry.RequestID, entry.WorkflowID = e.At, e.By, e.RequestID, e.WorkflowID
		if err := events.Append(ctx, q, entry); err != nil {
			return err
		}
	}
	return nil
}

// EntryOf returns an event about a standing approval, without its time and actor.
func EntryOf(r models.StandingApproval, subject string, data events.Data) events.Entry {
	return events.Entry{
		Scope: pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, SubjectUID: r.SubjectUID, Subject: subject, Action: r.ActionKey, AuthorizationID: r.AuthorizationID,
		Data: data,
	}
}

// Unapproved reports whether the reviewers who approved a standing approval lack the authority for it at a time.
func Unapproved(ctx context.Context, q *pg.Q, r models.StandingApproval, at time.Time) (bool, error) {
	if r.HoldID == nil {
		return false, nil
	}
	still, err := hold.StillApproved(ctx, q, pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}, *r.HoldID, at)
	return !still, err
}
