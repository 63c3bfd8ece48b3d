package authorization

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Again says why a decision is made anew.
type Again struct {
	Parent          models.Authorization
	ChallengeMethod string // the method of the challenge that was completed; empty for a review
	HoldApproved    bool
	At              time.Time // the time of the move, which its workflow tells: every retry, on whichever worker, decides as of it
	Actor           string
	RequestID       string
	WorkflowID      string
	// Cause is the event that leads to the follow-up decision, which it names; nil for none. It is written with the events of
	// that decision, ahead of them.
	Cause func(followUp models.Authorization) events.Entry
}

// DecideAgain decides the parent's request anew, in the caller's transaction: the subject is assessed as of At, under
// the policy version that decided the parent, and the world is looked at again (action archived, subject revoked). The
// child carries the parent's nonce and hashes and a proof of its own. It answers the child and its AuthorizeResponse.
func (s *Service) DecideAgain(ctx context.Context, q *store.Q, in Again) (models.Authorization, []byte, error) {
	now := in.At
	parent := in.Parent
	scope := store.Scope{Tenant: parent.TenantID, Environment: parent.EnvironmentID}
	act, err := q.Actions().Any(ctx, scope, parent.ActionID)
	if err != nil {
		return parent, nil, err
	}
	force, err := s.actions.At(ctx, q, scope, act, parent.PolicyVersion)
	if err != nil {
		return parent, nil, err
	}
	env, err := q.Environments().Get(ctx, scope) // read anew: a worker follows no notices of changed settings
	if err != nil {
		return parent, nil, err
	}
	var pinned *string
	if parent.SessionPinned {
		pinned = parent.SessionID
	}
	// Without a pin it is the session that is the latest by now: what the person did since counts.
	facts, err := q.Decisions().FactsForFollowUp(ctx, scope, parent.SubjectUID, pinned)
	if errors.Is(err, store.ErrNotFound) {
		return parent, nil, problem.NewNotFound()
	}
	if err != nil {
		return parent, nil, err
	}
	base := parent
	base.ParentID, base.IdempotencyKey, base.Mode = &parent.ID, nil, parent.Mode
	base.Outcome, base.OutcomeReportedAt, base.OutcomeNoteDigest = nil, nil, nil
	base.HoldApproved = base.HoldApproved || in.HoldApproved
	if in.ChallengeMethod != "" {
		base.ChallengeCompleted = &in.ChallengeMethod
	}
	d, body, err := s.decide(ctx, q, decisionInput{
		base: base, force: force, facts: facts, kind: policy.EnvironmentKind(env.Kind), env: &env, archived: act.ArchivedAt != nil,
		start: now, actor: in.Actor, requestID: in.RequestID, workflowID: in.WorkflowID,
		cause: in.Cause,
	}, now)
	if err != nil {
		return parent, nil, err
	}
	written, err := q.Decisions().Insert(ctx, d)
	if err != nil {
		return parent, nil, err
	}
	if !written {
		return parent, nil, problem.NewUnavailable("The subject was changed while the decision was made. Try again.", nil)
	}
	return d.Authorization, body, nil
}
