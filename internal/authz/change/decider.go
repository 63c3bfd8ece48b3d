package change

import (
	"context"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Decision is a resolution with its actor.
type Decision struct {
	Resolution string
	Reason     string // why, for the record; may be empty
	Actor      string
	RequestID  string
}

// Workflow serialises the decisions about a change request (workflows.Client). Its errors are problems, or durable.ErrClosed.
type Workflow interface {
	DecideChange(ctx context.Context, in WorkflowInput, d Decision) (Outcome, error)
	RestartChange(ctx context.Context, in WorkflowInput) error
}

// Decider settles change requests for the API and the console.
type Decider struct {
	changes  *Service
	workflow Workflow
}

// NewDecider returns a Decider.
func NewDecider(changes *Service, workflow Workflow) *Decider {
	return &Decider{changes: changes, workflow: workflow}
}

// Decide approves, rejects or withdraws a change request on behalf of the principal and returns it. Repeating a decision returns
// the settled change request. Refusals are self_approval, forbidden, conflict, change_settled, change_expired and
// change_superseded.
func (d *Decider) Decide(ctx context.Context, p identity.Principal, id, resolution, reason string) (*View, error) {
	if err := action.CheckReason(reason); err != nil {
		return nil, err
	}
	in, done, err := d.changes.prepare(ctx, p, id, resolution)
	if err != nil {
		return nil, err
	}
	if done {
		return d.settled(ctx, p, id, resolution)
	}
	out, err := d.workflow.DecideChange(ctx, in, Decision{Resolution: resolution, Reason: reason, Actor: p.Actor(), RequestID: p.RequestID})
	if err == nil && out.Status == models.ChangePending {
		return nil, problem.NewUnavailable("The change is not settled yet. Repeat the request.", nil)
	}
	return settle.Resolution[*View]{
		Decides: []problem.Code{problem.ChangeExpired, problem.ChangeSettled, problem.ChangeSuperseded},
		Record:  func(ctx context.Context, _ bool) (*View, error) { return d.settled(ctx, p, id, resolution) },
		Restart: func(ctx context.Context) error { return d.workflow.RestartChange(ctx, in) },
	}.After(ctx, err)
}

// settled returns a change request that was resolved this way, and its refusal otherwise.
func (d *Decider) settled(ctx context.Context, p identity.Principal, id, resolution string) (*View, error) {
	row, err := visible(ctx, d.changes.store.AsStored(), p, id)
	if err != nil {
		return nil, err
	}
	status := Effective(row, d.changes.clock.Now())
	if status == models.ChangePending {
		return nil, problem.NewUnavailable("The change is not settled yet. Repeat the request.", nil)
	}
	if err := refuseSettled(status, resolution); err != nil {
		return nil, err
	}
	return d.changes.seen(ctx, p, row)
}
