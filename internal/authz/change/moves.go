package change

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// The states of a change request and the moves between them:
//
//	pending --- Decide (approve) -------------------------> approved, and the change is in force
//	pending --- Decide (approve, base not in force) ------> superseded, and nothing is changed
//	pending --- Decide (reject) --------------------------> rejected
//	pending --- Decide (withdraw, by the requester) ------> withdrawn
//	pending --- Expire (at ExpiresAt) --------------------> expired
//
// All but the first are final.

// Move is a request for one move of one change request.
type Move = settle.Move

// Outcome is the state of a change request after a move. Workflow histories contain it: fields are added, never renamed.
type Outcome struct {
	Status    models.ChangeStatus `json:"Status"`
	ExpiresAt time.Time           `json:"ExpiresAt,omitzero"`
}

// WorkflowInput is the input of the workflow of a change request.
type WorkflowInput struct {
	Change      string
	Environment string
	Kind        string
	Action      string    // the action's key; empty for settings of the environment
	ExpiresAt   time.Time `json:",omitzero"`
}

// Decide settles a change request in one transaction, and makes the change if it is approved. Repeating a move that was made
// returns its outcome.
func (s *Service) Decide(ctx context.Context, m Move) (Outcome, error) {
	var out Outcome
	after := func() {}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if m.Resolution != Approve {
			q = q.AsStored()
		}
		c, err := found(lockChange(ctx, q, m.Environment, m.ID))
		if err != nil {
			return err
		}
		if status := Effective(c, m.At); status != models.ChangePending {
			out = outcomeOf(c, status)
			return refuseSettled(status, m.Resolution)
		}
		if err := permit(ctx, q, c, m); err != nil {
			return err
		}
		to, made, err := s.settle(ctx, q, c, m)
		if made != nil {
			after = made
		}
		out = outcomeOf(c, to)
		return err
	})
	if err == nil {
		after()
	}
	return out, err
}

// permit refuses an actor who may not settle the change request this way. Only its requester withdraws it; a different principal
// in good standing approves or rejects it, and approves only what a requester in good standing asks for.
func permit(ctx context.Context, q *pg.Q, c models.Change, m Move) error {
	scope := scopeOf(c)
	by, requester, err := parties(ctx, q, c, m.Actor)
	own := requestedBy(c, by, requester)
	if err != nil {
		return err
	}
	if m.Resolution == Withdraw {
		if !own {
			return problem.New(problem.Forbidden, "Only the requester withdraws a change. Reject it instead.")
		}
		return nil
	}
	if own {
		return problem.New(problem.SelfApproval, "The change requires an approver other than the requester. Keys that one key issued count as that key. "+
			"The requester may withdraw it.")
	}
	right := identity.ChangeRight{Scopes: []string{string(models.ScopeAdmin)}, Permission: permission(c.Kind), Approves: true}
	may, err := identity.MayChangePrincipal(ctx, q, scope, m.Actor, right, m.At)
	if err != nil {
		return err
	}
	if !may {
		return problem.Newf(problem.Forbidden, "The change requires an approver with a valid admin key that has the permission %s, or with the role operator.",
			right.Permission)
	}
	if m.Resolution == Reject {
		return nil
	}
	// A change request asks for two people, and an account that may be the requester's is not a second one.
	if by.MayBeSame(requester) || by.Is(c.Principal) {
		return problem.New(problem.SelfApproval, "The change requires a second person, and the approver may be the requester: one was invited by the other, or one was invited and "+
			"an identity provider signs the other in. An operator who is neither confirms the account under People, or links the two.")
	}
	confirmed, err := identity.IsConfirmed(ctx, q, scope, by.Principal, c.CreatedAt)
	if err != nil {
		return err
	}
	if !confirmed {
		return problem.New(problem.Forbidden, "The approver was invited by a link that others saw, and no second operator had confirmed them when the change was requested. "+
			"Ask a confirmed operator to approve it.")
	}
	right.Scopes, right.Approves = append(right.Scopes, string(models.ScopeServer)), false
	may, err = identity.MayChangePrincipal(ctx, q, scope, c.ProposedBy, right, m.At)
	if err == nil && !may {
		return problem.New(problem.Conflict, "The access of the requester has ended since the request. Reject the change; a requester with access may request it again.")
	}
	return err
}

// parties returns who is behind an actor and behind the requester of a change.
func parties(ctx context.Context, q *pg.Q, c models.Change, actor string) (by, requester identity.Behind, err error) {
	if by, err = identity.PrincipalBehind(ctx, q, scopeOf(c), actor); err != nil {
		return by, requester, err
	}
	requester, err = identity.PrincipalBehind(ctx, q, scopeOf(c), c.ProposedBy)
	return by, requester, err
}

// requestedBy reports whether an actor requested a change. The requester's key may count as someone else by now; those of before and of now are
// both barred.
func requestedBy(c models.Change, by, requester identity.Behind) bool {
	return by.SamePrincipal(requester) || by.SamePrincipal(identity.Behind{Principal: c.Principal})
}

// settle moves a pending change request, whose row is locked, and makes the change if it is approved and still applies. It returns
// the new status and what to do after the commit, nil for nothing.
func (s *Service) settle(ctx context.Context, q *pg.Q, c models.Change, m Move) (models.ChangeStatus, func(), error) {
	to := map[string]models.ChangeStatus{
		Approve: models.ChangeApproved, Reject: models.ChangeRejected, Withdraw: models.ChangeWithdrawn,
	}[m.Resolution]
	if to == "" {
		return to, nil, problem.New(problem.Conflict, "resolution must be approve, reject or withdraw.")
	}
	if to == models.ChangeApproved {
		applies, err := stillApplies(ctx, s.locked(q, m.At), c)
		if err != nil {
			return to, nil, err
		}
		if !applies {
			to = models.ChangeSuperseded
		}
	}
	moved, err := resolveChange(ctx, q, c, to, m)
	if err != nil {
		return to, nil, err
	}
	if !moved {
		return to, nil, problem.New(problem.ChangeSettled, "The change was settled by another request.")
	}
	if err := recordSettled(ctx, q, c, to, m); err != nil || to != models.ChangeApproved {
		return to, nil, err
	}
	after, err := s.apply(ctx, q, c, action.Author{
		Scope: scopeOf(c), Actor: m.Actor, RequestID: m.RequestID, WorkflowID: m.WorkflowID, At: m.At,
	})
	return to, after, err
}

// stillApplies reports whether what a change was requested against is in force.
func stillApplies(ctx context.Context, t targets, c models.Change) (bool, error) {
	now, possible, err := t.inForce(ctx, c)
	if err != nil || !possible {
		return false, err
	}
	current, err := canonical.Digest(now)
	if err != nil {
		return false, err
	}
	base, err := digestsOf(c)
	return current == base.Before, err
}

// recordSettled records the event of a settled change request.
func recordSettled(ctx context.Context, q *pg.Q, c models.Change, to models.ChangeStatus, m Move) error {
	digests, err := digestsOf(c)
	if err != nil {
		return err
	}
	settled := events.ChangeApprovedData{ID: c.ID, Kind: string(c.Kind), RequestedBy: c.ProposedBy, ResolvedBy: m.Actor, Change: digests}
	data := map[models.ChangeStatus]events.Data{
		models.ChangeApproved: settled, models.ChangeRejected: events.ChangeRejectedData(settled),
		models.ChangeWithdrawn: events.ChangeWithdrawnData(settled), models.ChangeSuperseded: events.ChangeSupersededData(settled),
	}[to]
	return events.Append(ctx, q, events.Entry{
		Scope: scopeOf(c), At: m.At, Action: c.Action, Actor: m.Actor, RequestID: m.RequestID, WorkflowID: m.WorkflowID, Data: data,
	})
}

// Expire expires a change request that is pending and due, and returns its state in any case.
func (s *Service) Expire(ctx context.Context, m Move) (Outcome, error) {
	var out Outcome
	err := s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		c, err := found(lockChange(ctx, q, m.Environment, m.ID))
		if err != nil {
			return err
		}
		status, err := expire(ctx, q, c, Move{At: m.At, Actor: "workflow:" + m.WorkflowID, WorkflowID: m.WorkflowID})
		out = outcomeOf(c, status)
		return err
	})
	return out, err
}

// expire expires a change request if it is pending and due, and returns its status.
func expire(ctx context.Context, q *pg.Q, c models.Change, m Move) (models.ChangeStatus, error) {
	moved, err := expireChange(ctx, q, c, m.At)
	if err != nil || !moved {
		return c.Status, err
	}
	digests, err := digestsOf(c)
	if err != nil {
		return c.Status, err
	}
	data := events.ChangeExpiredData{ID: c.ID, Kind: string(c.Kind), ExpiresAt: apitime.Time(c.ExpiresAt), Change: digests}
	return models.ChangeExpired, events.Append(ctx, q, events.Entry{
		Scope: scopeOf(c), At: m.At, Action: c.Action, Actor: m.Actor, RequestID: m.RequestID, WorkflowID: m.WorkflowID, Data: data,
	})
}

func outcomeOf(c models.Change, status models.ChangeStatus) Outcome {
	return Outcome{Status: status, ExpiresAt: c.ExpiresAt.UTC()}
}

// WorkflowInput looks up what the workflow of a change request starts with, for the outbox relay. It returns false if the change
// request is settled, so that no workflow is needed.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	var c models.Change
	err := s.store.Write(ctx, func(q *pg.Q) (err error) {
		c, err = lockChange(ctx, q.AsStored(), environment, id)
		return err
	})
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return workflowInput(c), c.Status == models.ChangePending, err
}

func workflowInput(c models.Change) WorkflowInput {
	return WorkflowInput{
		Change: c.ID, Environment: c.EnvironmentID, Kind: string(c.Kind), Action: c.Action, ExpiresAt: c.ExpiresAt.UTC(),
	}
}

// prepare checks that the principal may settle the change request this way now. It returns the input of its workflow, and true
// if the change request is settled this way already.
func (s *Service) prepare(ctx context.Context, p identity.Principal, id, resolution string) (WorkflowInput, bool, error) {
	q := s.store.Q
	if resolution != Approve {
		q = q.AsStored()
	}
	c, err := visible(ctx, q, p, id)
	if err != nil {
		return WorkflowInput{}, false, err
	}
	// The row and not the clock: a decision that began in time may settle the change after its deadline, and the workflow knows it.
	if c.Status != models.ChangePending {
		return WorkflowInput{}, true, refuseSettled(c.Status, resolution)
	}
	m := Move{ID: id, Resolution: resolution, Actor: p.Actor(), At: s.clock.Now()}
	return workflowInput(c), false, permit(ctx, q, c, m)
}
