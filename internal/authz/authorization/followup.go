package authorization

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// FollowUp decides the parent's request again. It assesses the subject as of r.At, applies the
// policy version that decided the parent, and reads anew whether the action is archived or the subject revoked: a follow-up
// decision may be a denial. It has the parent's nonce and hashes and a proof of its own. FollowUp is a settle.Decider.
func (s *Service) FollowUp(ctx context.Context, q *pg.Q, r settle.FollowUp) (models.Authorization, error) {
	now, scope := r.At, r.Scope
	parent, err := parentOf(ctx, q, scope, r.Parent)
	if err != nil {
		return parent, err
	}
	act, err := action.GetActionOrArchived(ctx, q, scope, parent.ActionID)
	if err != nil {
		return parent, err
	}
	force, err := s.actions.At(ctx, q, scope, act, parent.PolicyVersion)
	if err != nil {
		return parent, err
	}
	env, err := tenancy.GetEnvironment(ctx, q, scope) // not from the cache: a worker does not follow notifications of changed settings
	if err != nil {
		return parent, err
	}
	var pinned *string
	if parent.SessionPinned {
		pinned = parent.SessionID
	}
	// Without a pinned session the latest session counts: it includes what the user did since the first decision.
	counts := force.Rules.AgainCounts()
	wanted := Wanted{Subject: parent.SubjectUID, Session: pinned, Tallies: tallies(force.Rules, counts, now)}
	facts, err := ReadFactsForFollowUp(ctx, q, scope, wanted)
	if errors.Is(err, pg.ErrNotFound) {
		return parent, problem.NewNotFound()
	}
	if err != nil {
		return parent, err
	}
	details, err := s.detailsOf(ctx, q, force, parent)
	if err != nil {
		return parent, err
	}
	values, err := s.keptOf(ctx, q, force, parent)
	if err != nil {
		return parent, err
	}
	earlier, err := earlierRules(parent.Explanation)
	if err != nil {
		return parent, err
	}
	base := parent
	base.ParentID, base.IdempotencyKey, base.Mode = &parent.ID, nil, parent.Mode
	base.Outcome, base.OutcomeReportedAt, base.OutcomeNoteDigest = nil, nil, nil
	base.HoldApproved = base.HoldApproved || r.HoldApproved
	if r.ChallengeMethod != "" {
		base.ChallengeCompleted = &r.ChallengeMethod
	}
	d, err := s.decide(ctx, q, decisionInput{
		base: base, force: force, facts: facts, counts: counts, earlier: earlier, details: details, kept: values, kind: policy.EnvironmentKind(env.Kind), env: &env, archived: act.ArchivedAt != nil,
		start: now, actor: r.Actor, requestID: r.RequestID, workflowID: r.WorkflowID,
		cause: r.Cause,
	}, now)
	if err != nil {
		return parent, err
	}
	if r.Settle != nil {
		d.row.Settle = func(b *pgx.Batch) error { return r.Settle(b, d.row.Authorization, d.body) }
	}
	written, err := InsertDecision(ctx, q, &d.row)
	if err == nil && !written {
		err = settle.ErrChanged
	}
	if err != nil {
		return parent, err
	}
	s.store.Wake(pg.ChannelOutbox, "")
	return d.row.Authorization, nil
}

// detailsOf opens the details that the parent shows: a follow-up decision is about the same request and shows the same. They are
// none if the action shows none, or if their retention has passed.
func (s *Service) detailsOf(ctx context.Context, q *pg.Q, force *action.InForce, parent models.Authorization) ([]display.Detail, error) {
	if force.Display.Empty() {
		return nil, nil
	}
	sealed, err := challenge.ShownDetailsOf(ctx, q, pg.Scope{Tenant: parent.TenantID, Environment: parent.EnvironmentID}, parent.ID)
	if err != nil {
		return nil, err
	}
	return s.vault.Open(parent.ID, sealed)
}

// keptOf opens the values that are kept of the parent's request: the follow-up decision keeps the same. They are none if the
// action keeps none, or if their retention has passed.
func (s *Service) keptOf(ctx context.Context, q *pg.Q, force *action.InForce, parent models.Authorization) (*storedvalues.Values, error) {
	if force.Kept.Empty() {
		return nil, nil
	}
	sealed, err := keptValues(ctx, q, pg.Scope{Tenant: parent.TenantID, Environment: parent.EnvironmentID}, parent.ID)
	if err != nil {
		return nil, err
	}
	return s.kept.Open(parent.ID, sealed)
}
