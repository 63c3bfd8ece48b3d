package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// ChangeInput is the input of the workflow of a change request. Histories contain it: fields are added, never renamed.
type ChangeInput struct {
	Change      string
	Environment string
	Kind        string
	Action      string // the action's key; empty for settings of the environment
	ExpiresAt   time.Time
}

// ChangeDecision is the argument of the update decide. The actor is an id.
type ChangeDecision struct {
	Resolution string // approve, reject or withdraw
	Actor      string
	RequestID  string
}

// Change waits until the change request is approved, rejected or withdrawn, or expires. Time never approves.
func Change(ctx workflow.Context, in ChangeInput) (change.Outcome, error) {
	r := &changeRun{in: in, moveLock: newMoveLock(ctx)}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateDecide, r.decide, workflow.UpdateHandlerOptions{
		Validator: r.validate, Description: "Record the decision about the change.",
	})
	if err != nil {
		return change.Outcome{}, err
	}
	r.record(ctx, "Change %s (%s) waits for a second approver until %s.", in.Change, in.Kind, formatTime(in.ExpiresAt))
	return r.run(ctx)
}

// changeRun is the state of one workflow run.
type changeRun struct {
	moveLock
	timeline
	in      ChangeInput
	settled *change.Outcome
}

// validate refuses requests that cannot succeed any more. A refusal by a validator adds no event to the history.
func (r *changeRun) validate(ctx workflow.Context, m ChangeDecision) error {
	switch {
	case m.Actor == "" || changeStatusOf[m.Resolution] == "":
		return activities.Refuse(problem.Conflict, "The decision has no actor or no resolution.")
	case r.settled != nil:
		return r.closed(m.Resolution)
	case !r.moving() && !workflow.Now(ctx).Before(r.in.ExpiresAt):
		return activities.Refuse(problem.ChangeExpired, "The change has expired.")
	default:
		return nil
	}
}

// changeStatusOf maps a resolution to the status that it leads to.
var changeStatusOf = map[string]models.ChangeStatus{
	change.Approve: models.ChangeApproved, change.Reject: models.ChangeRejected, change.Withdraw: models.ChangeWithdrawn,
}

// closed returns the refusal of a change request that is settled. It is nil if it was settled the same way: a repeated decision
// returns the result of the first.
func (r *changeRun) closed(resolution string) error {
	switch {
	case r.settled.Status == changeStatusOf[resolution]:
		return nil
	case r.settled.Status == models.ChangeExpired:
		return activities.Refuse(problem.ChangeExpired, "The change has expired.")
	default:
		return activities.Refuse(problem.ChangeSettled, fmt.Sprintf("The change is %s.", r.settled.Status))
	}
}

// decide settles the change request. It checks again once it has the lock: another decision may have settled it meanwhile.
func (r *changeRun) decide(ctx workflow.Context, m ChangeDecision) (change.Outcome, error) {
	var out change.Outcome
	err := r.move(ctx, func() error {
		if r.settled != nil {
			out = *r.settled
			return r.closed(m.Resolution)
		}
		var err error
		out, err = r.step(ctx, activities.ChangeDecide, m)
		r.recordRefusal(ctx, "A decision", err)
		return err
	})
	return out, err
}

// run waits until a decision settles the change request or it is due.
func (r *changeRun) run(ctx workflow.Context) (change.Outcome, error) {
	for r.settled == nil {
		_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      max(r.in.ExpiresAt.Sub(workflow.Now(ctx)), 0),
			TimerOptions: workflow.TimerOptions{Summary: "the change expires"},
		}, func() bool { return r.settled != nil })
		if err != nil {
			return change.Outcome{}, err
		}
		if err := r.expire(ctx); err != nil {
			return change.Outcome{}, err
		}
	}
	if err := upsertState(ctx, string(r.settled.Status), ""); err != nil {
		return change.Outcome{}, err
	}
	return *r.settled, finish(ctx)
}

// expire expires the change request unless a decision settled it.
func (r *changeRun) expire(ctx workflow.Context) error {
	return r.move(ctx, func() error {
		if r.settled != nil {
			return nil
		}
		_, err := r.step(ctx, activities.ChangeExpire, ChangeDecision{})
		return err
	})
}

// step runs one move as a local activity and takes its outcome over.
func (r *changeRun) step(ctx workflow.Context, activity string, m ChangeDecision) (change.Outcome, error) {
	out, err := retryStep[change.Outcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteLocalActivity(quickStep(ctx, stepSummary(activity)), activity, activities.ChangeMove{
			Change: r.in.Change, Environment: r.in.Environment, Resolution: m.Resolution, Actor: m.Actor, RequestID: m.RequestID, At: at,
		})
	})
	if err != nil {
		return change.Outcome{}, err
	}
	if out.Status == models.ChangePending {
		r.in.ExpiresAt = out.ExpiresAt
		return out, nil
	}
	r.settled = &out
	r.recordSettled(ctx)
	return out, nil
}

// recordSettled adds the outcome to the timeline.
func (r *changeRun) recordSettled(ctx workflow.Context) {
	switch r.settled.Status {
	case models.ChangeApproved:
		r.record(ctx, "Approved by a second principal. The change is in force.")
	case models.ChangeSuperseded:
		r.record(ctx, "Approved, but what the change was requested against is no longer in force. Nothing was changed.")
	case models.ChangeExpired:
		r.record(ctx, "Expired: no one approved in time, and time never approves.")
	default:
		r.record(ctx, "The change is %s. Nothing was changed.", r.settled.Status)
	}
}

// ChangeInputOf converts the domain's input to that of the workflow.
func ChangeInputOf(r change.WorkflowInput) ChangeInput {
	return ChangeInput{Change: r.Change, Environment: r.Environment, Kind: r.Kind, Action: r.Action, ExpiresAt: r.ExpiresAt}
}

func (in ChangeInput) start() startRequest {
	return startRequest{
		id: ChangeID(in.Change), input: in, kind: NameChange, environment: in.Environment, action: in.Action, state: string(models.ChangePending),
		summary: fmt.Sprintf("%s waits for a second approver, change %s", in.Kind, in.Change), page: "changes/" + in.Change,
	}
}
