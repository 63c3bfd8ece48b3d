package change

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// subjectDocument has the values of a subject that a reinstatement changes.
type subjectDocument struct {
	Status    models.SubjectStatus `json:"status"`
	RevokedAt *string              `json:"revoked_at,omitempty"`
}

// Reinstate requests the end of a subject's revocation. A revocation is ended by a second principal always, whatever the environment requires: otherwise
// a thief of one key would undo what protects the subject from them.
func (s *Service) Reinstate(ctx context.Context, p identity.Principal, id, reason string) (*View, error) {
	if reason == "" {
		return nil, problem.Invalid([]any{"body", "reason"}, "reason is empty: say why the subject may act again, for the second principal who approves it", "value_error")
	}
	by := By{Actor: p.Actor(), RequestID: p.RequestID, Reason: reason}
	return s.proposeBy(ctx, p.Store(), by, func(q *pg.Q) (proposal, error) {
		row, err := found(subjectrow.Get(ctx, q, p.Store(), id))
		if err != nil {
			return proposal{}, err
		}
		if row.Status != models.SubjectRevoked {
			return proposal{}, problem.New(problem.Conflict, "The subject is not revoked.")
		}
		base, proposed := documentOf(row), subjectDocument{Status: models.SubjectActive}
		differences, err := fieldDifferences(base, proposed)
		return proposal{kind: models.ChangeSubjectReinstate, target: id, base: base, proposed: proposed, differences: differences}, err
	})
}

func documentOf(row models.Subject) subjectDocument {
	return subjectDocument{Status: row.Status, RevokedAt: apitime.OptionalTime(row.RevokedAt)}
}

// subjectBase is inForce of a reinstatement. It cannot be made of a subject that is erased or active.
func (t targets) subjectBase(ctx context.Context, c models.Change) (any, bool, error) {
	row, err := t.subject(ctx, t.Q, scopeOf(c), c.Target)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, false, nil
	}
	return documentOf(row), err == nil && row.Status == models.SubjectRevoked, err
}

// applySubject ends a revocation in the caller's transaction. What the revocation voided stays void.
func applySubject(ctx context.Context, q *pg.Q, c models.Change, by action.Author) error {
	row, err := subjectrow.Lock(ctx, q, by.Scope, c.Target)
	if err != nil {
		return err
	}
	reinstated, err := subjectrow.Reinstate(ctx, q, by.Scope, row.UID, by.At)
	if err != nil {
		return err
	}
	if !reinstated {
		return problem.New(problem.ChangeSuperseded, "The subject is not revoked any more.")
	}
	return events.Append(ctx, q, events.Entry{
		Scope: by.Scope, At: by.At, SubjectUID: row.UID, Subject: row.ExternalID, Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID,
		Data: events.SubjectReinstatedData{Change: c.ID},
	})
}

// ForgetSubject removes the id of an erased subject from the change requests about it. One that is pending cannot be approved any more.
func ForgetSubject(ctx context.Context, q *pg.Q, scope pg.Scope, id string) error {
	return forgetTarget(ctx, q, scope, models.ChangeSubjectReinstate, id)
}
