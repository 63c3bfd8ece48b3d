package authorization

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// FollowUp decides the parent's request again. It assesses the subject as of r.At, applies the
// policy version that decided the parent, and reads anew whether the action is archived or the subject revoked: a follow-up
// decision may be a denial. It has the parent's nonce and hashes and a proof of its own. FollowUp is a settle.Decider.
//
// A limit of the resource is counted anew, in one transaction that has the limit's locks: what the request reserved of it has an end.
func (s *Service) FollowUp(ctx context.Context, q *pg.Q, r settle.FollowUp) (models.Authorization, error) {
	p, err := s.prepareFollowUp(ctx, q, r)
	if err != nil {
		return p.in.base, err
	}
	var out models.Authorization
	switch {
	case p.in.opens != nil:
		err = s.store.Write(ctx, func(q *pg.Q) (err error) {
			out, err = s.followUpOn(ctx, q, r, p)
			return err
		})
	case len(p.wanted.Locks) == 0:
		out, err = s.followUpOn(ctx, q, r, p)
	default:
		out, err = s.followUpUnderLimit(ctx, r, p)
	}
	if err == nil {
		s.store.Wake(pg.ChannelOutbox, "")
	}
	return out, err
}

// followUpUnderLimit decides as decideUnderLimit does.
func (s *Service) followUpUnderLimit(ctx context.Context, r settle.FollowUp, p preparedFollowUp) (out models.Authorization, err error) {
	err = s.underLocks(ctx, turnsOf(r.Scope.Environment, p.wanted), func(q *pg.Q, before *ahead) (err error) {
		p.in.ahead = before
		out, err = s.followUpOn(ctx, q, r, p)
		return err
	})
	if isBusy(err) {
		err = busy(err)
	}
	return out, err
}

// preparedFollowUp is everything about a follow-up decision that is known before its facts are read.
type preparedFollowUp struct {
	in     decisionInput
	wanted Wanted
}

// prepareFollowUp reads what the parent's request is decided by.
func (s *Service) prepareFollowUp(ctx context.Context, q *pg.Q, r settle.FollowUp) (p preparedFollowUp, err error) {
	parent, err := parentOf(ctx, q, r.Scope, r.Parent)
	if p.in.base = parent; err != nil {
		return p, err
	}
	act, err := action.GetActionOrArchived(ctx, q, r.Scope, parent.ActionID)
	if err != nil {
		return p, err
	}
	force, err := s.actions.At(ctx, q, r.Scope, act, parent.PolicyVersion)
	if err != nil {
		return p, err
	}
	env, err := tenancy.GetEnvironment(ctx, q, r.Scope) // not from the cache: a worker does not follow notifications of changed settings
	if err != nil {
		return p, err
	}
	p.in = decisionInput{
		base: followingUp(parent, r), force: force, counts: force.Rules.AgainCounts(), kind: policy.EnvironmentKind(env.Kind), env: &env, archived: act.ArchivedAt != nil,
		start: r.At, actor: r.Actor, requestID: r.RequestID, workflowID: r.WorkflowID, cause: r.Cause,
	}
	if parent.OpensStanding != nil {
		p.in.opens = &opening{}
	}
	if p.in.details, err = s.detailsOf(ctx, q, force, parent); err != nil {
		return p, err
	}
	if p.in.kept, err = s.storedValuesOf(ctx, q, force, parent); err != nil {
		return p, err
	}
	if p.in.earlier, err = earlierRules(parent.Explanation); err != nil {
		return p, err
	}
	response, err := s.readStored(&parent)
	if err != nil {
		return p, err
	}
	p.in.people = response.people
	// Without a pinned session the latest session counts: it includes what the user did since the first decision.
	p.wanted = Wanted{Subject: parent.SubjectUID, Tallies: tallies(force.Rules, p.in.counts, r.At), At: r.At}
	if parent.SessionPinned {
		p.wanted.Session = parent.SessionID
	}
	return p, s.countAgain(ctx, q, &p)
}

// followingUp returns the row of a follow-up decision: its parent's, with what has changed since.
func followingUp(parent models.Authorization, r settle.FollowUp) models.Authorization {
	out := parent
	out.ParentID, out.IdempotencyKey = &parent.ID, nil
	out.Outcome, out.OutcomeReportedAt, out.OutcomeNoteDigest = nil, nil, nil
	out.HoldApproved, out.BreakGlass = out.HoldApproved || r.HoldApproved, out.BreakGlass || r.BreakGlass
	if r.ChallengeMethod != "" {
		out.ChallengeCompleted = &r.ChallengeMethod
	}
	return out
}

// countAgain adds what the rules that limit the resource read anew. Nothing is added for a request that reserves what it needs until it is settled.
func (s *Service) countAgain(ctx context.Context, q *pg.Q, p *preparedFollowUp) error {
	in, again := &p.in, p.in.force.Rules.Recount()
	if len(again.Aggregates) == 0 || in.opens != nil || in.base.Mode != models.ModeEnforce {
		return nil
	}
	scope := pg.Scope{Tenant: in.base.TenantID, Environment: in.base.EnvironmentID}
	waiting, waits, err := aggregate.WaitingRequest(ctx, q, scope, in.base.Nonce)
	if err != nil || !waits {
		return err
	}
	if !in.kept.KnowsAll(again.Context, again.Resource) {
		in.again = rules.Forgotten
		return nil
	}
	in.again = rules.Recounted
	p.wanted.Waits, p.wanted.Resource = waiting.Subject, []string{waiting.Resource}
	if in.base.ResourceDigest != waiting.Resource { // under which version 1.0.0 counted
		p.wanted.Resource = append(p.wanted.Resource, in.base.ResourceDigest)
	}
	p.wanted.Carried = s.digests.CarriedResource(scope.Environment, p.wanted.Resource)
	for _, l := range locks(in.force) {
		if l.Resource {
			p.wanted.Locks = append(p.wanted.Locks, l)
		}
	}
	sent, resource := in.kept.Request()
	of := counting{environment: scope.Environment, context: map[string]any{}, except: waiting.Request}
	if err := json.Unmarshal(sent, &of.context); err != nil {
		return err
	}
	if in.aggregates, p.wanted.Reads, err = s.reads(in.force, of, again.Aggregates, p.wanted.At); err != nil {
		return err
	}
	known := rules.Vars{
		Context: sent, Resource: rules.Resource{Type: in.base.ResourceType, ID: resource},
		Action: actionVars(in.force, in.base.Mode), Audience: in.base.Audience, Environment: in.kind, Subject: rules.Subject{ID: waiting.Subject},
	}
	in.lookup, err = s.lists.Lookup(in.force.Lists, in.force.Rules.ListedFor(ctx, known))
	p.wanted.Lookup = in.lookup
	return err
}

// followUpOn reads the facts, decides and writes.
func (s *Service) followUpOn(ctx context.Context, q *pg.Q, r settle.FollowUp, p preparedFollowUp) (models.Authorization, error) {
	facts, err := ReadFactsForFollowUp(ctx, q, r.Scope, p.wanted)
	if errors.Is(err, pg.ErrNotFound) {
		return p.in.base, problem.NewNotFound()
	}
	if err != nil {
		return p.in.base, err
	}
	p.in.ahead.use(&facts, r.At)
	p.in.facts = facts
	if p.in.opens != nil {
		if p.in.opens, err = openedBy(ctx, q, r, p.in.base); err != nil {
			return p.in.base, err
		}
	}
	d, err := s.decide(ctx, q, p.in, r.At)
	if err != nil {
		return p.in.base, err
	}
	if d.in.opens != nil {
		if err := d.advance(ctx, q, r); err != nil {
			return p.in.base, err
		}
	}
	if r.Settle != nil {
		d.row.Settle = func(b *pgx.Batch) error { return r.Settle(b, d.row.Authorization, d.body) }
	}
	written, err := InsertDecision(ctx, q, &d.row)
	if err == nil && !written {
		err = settle.ErrChanged
	}
	return d.row.Authorization, err
}

// detailsOf opens the details that the parent shows: a follow-up decision is about the same request and shows the same. They are
// none if the action shows none, or if their retention has passed.
func (s *Service) detailsOf(ctx context.Context, q *pg.Q, force *action.InForce, parent models.Authorization) ([]display.Detail, error) {
	if force.Display.Empty() && parent.OpensStanding == nil {
		return nil, nil
	}
	sealed, err := challenge.ShownDetailsOf(ctx, q, pg.Scope{Tenant: parent.TenantID, Environment: parent.EnvironmentID}, parent.ID)
	if err != nil {
		return nil, err
	}
	return s.vault.Open(parent.ID, sealed)
}

// storedValuesOf opens the values that are kept of the parent's request: the follow-up decision keeps the same. They are none if the
// action keeps none, or if their retention has passed.
func (s *Service) storedValuesOf(ctx context.Context, q *pg.Q, force *action.InForce, parent models.Authorization) (*storedvalues.Values, error) {
	if force.Waiting.Empty() {
		return nil, nil
	}
	sealed, err := keptValues(ctx, q, pg.Scope{Tenant: parent.TenantID, Environment: parent.EnvironmentID}, parent.ID)
	if err != nil {
		return nil, err
	}
	return s.kept.Open(parent.ID, sealed)
}
