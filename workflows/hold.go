package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// HoldInput is the input of the workflow of a hold. Histories contain it: fields are added, never renamed.
type HoldInput struct {
	Authorization string
	Environment   string
	Action        string // the action's key
	RemindAt      time.Time
	DueAt         time.Time
	EscalateAt    time.Time // of the next escalation to another team; zero if there is none
}

// HoldReview is the argument of the update review. Request is the hex digest of the whole review, which the service stored
// before it sent the update.
type HoldReview struct {
	Request    string
	Resolution string // approve or reject
}

// Hold waits until the hold is approved, rejected or expired, and reminds the reviewers in between. Time never approves.
func Hold(ctx workflow.Context, in HoldInput) (hold.Outcome, error) {
	r := &holdRun{in: in, moveLock: newMoveLock(ctx)}
	if err := r.setup(ctx); err != nil {
		return hold.Outcome{}, err
	}
	r.record(ctx, "Authorization %s on %s is held. Reviewers have until %s.", in.Authorization, in.Action, formatTime(in.DueAt))
	return r.run(ctx)
}

// statePartlyApproved is the state attribute of a pending hold that has some of its approvals.
const statePartlyApproved = "partly_approved"

// holdRun is the state of one workflow run.
type holdRun struct {
	moveLock
	timeline
	in       HoldInput
	settled  *hold.Outcome
	signaled bool
}

// setup registers the handlers. It must not block: an update that arrives before its handler is registered fails.
func (r *holdRun) setup(ctx workflow.Context) error {
	watchSettled(ctx, func(workflow.Context) { r.signaled = true })
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateReview, r.review,
		workflow.UpdateHandlerOptions{Validator: r.validate, Description: "Record a reviewer's approval or rejection."})
}

// validate refuses requests that cannot succeed any more. A refusal by a validator adds no event to the history.
func (r *holdRun) validate(ctx workflow.Context, m HoldReview) error {
	if m.Request == "" || (m.Resolution != hold.Approve && m.Resolution != hold.Reject) {
		return activities.Refuse(problem.Conflict, "The review has no digest or no resolution.")
	}
	if r.settled != nil {
		return r.closed(m.Resolution)
	}
	if !r.moving() && !workflow.Now(ctx).Before(r.in.DueAt) {
		return activities.Refuse(problem.ReviewExpired, "The hold has expired.")
	}
	return nil
}

// closed returns the refusal of a hold that is settled. It is nil if the hold was resolved the same way: a repeated review
// returns the result of the first.
func (r *holdRun) closed(resolution string) error {
	switch {
	case r.settled.Status == models.HoldExpired:
		return activities.Refuse(problem.ReviewExpired, "The hold has expired.")
	case r.settled.Status == models.HoldApproved && resolution == hold.Approve,
		r.settled.Status == models.HoldRejected && resolution == hold.Reject:
		return nil
	default:
		return activities.Refuse(problem.ReviewResolved, fmt.Sprintf("The hold is %s.", r.settled.Status))
	}
}

// review records one review. It checks again once it has the lock: another review may have settled the hold meanwhile.
func (r *holdRun) review(ctx workflow.Context, m HoldReview) (hold.Outcome, error) {
	var out hold.Outcome
	err := r.move(ctx, func() error {
		if r.settled != nil {
			out = *r.settled
			return r.closed(m.Resolution)
		}
		var err error
		if out, err = r.step(ctx, activities.HoldReview, m.Request); err != nil || r.settled != nil {
			r.recordRefusal(ctx, "A review", err)
			return err
		}
		r.record(ctx, "Approved by %d of %d reviewers.", out.Approvals, out.Required)
		return r.partlyApproved(ctx)
	})
	return out, err
}

// partlyApproved sets the state attribute of a hold that has some of its approvals and waits for more.
func (r *holdRun) partlyApproved(ctx workflow.Context) error {
	return upsertState(ctx, statePartlyApproved, "")
}

// run waits until a review settles the hold or its next deadline.
func (r *holdRun) run(ctx workflow.Context) (hold.Outcome, error) {
	for r.settled == nil {
		next, due := r.next()
		woken, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      max(next.Sub(workflow.Now(ctx)), 0),
			TimerOptions: workflow.TimerOptions{Summary: holdTimer(due)},
		}, func() bool { return r.settled != nil || r.signaled })
		if err != nil {
			return hold.Outcome{}, err
		}
		if woken {
			due = activities.HoldExpire // reads the hold, and expires it only if it is due
		}
		if err := r.byTime(ctx, due); err != nil {
			return hold.Outcome{}, err
		}
	}
	if err := upsertState(ctx, string(r.settled.Status), r.settled.Decision); err != nil {
		return hold.Outcome{}, err
	}
	return *r.settled, finish(ctx)
}

// next returns the next deadline and the activity that is due at it.
func (r *holdRun) next() (time.Time, string) {
	at, due := r.in.DueAt, activities.HoldExpire
	if !r.in.RemindAt.IsZero() && r.in.RemindAt.Before(at) {
		at, due = r.in.RemindAt, activities.HoldRemind
	}
	if !r.in.EscalateAt.IsZero() && r.in.EscalateAt.Before(at) {
		at, due = r.in.EscalateAt, activities.HoldEscalate
	}
	return at, due
}

// holdTimer describes the timer of a deadline in the history.
func holdTimer(due string) string {
	switch due {
	case activities.HoldRemind:
		return "the reviewers are reminded"
	case activities.HoldEscalate:
		return "a second team may approve as well"
	default:
		return "the hold expires"
	}
}

// byTime makes the move that is due.
func (r *holdRun) byTime(ctx workflow.Context, due string) error {
	return r.move(ctx, func() error {
		r.signaled = false
		if r.settled != nil {
			return nil
		}
		_, err := r.step(ctx, due, "")
		if err != nil || r.settled != nil {
			return err
		}
		switch due {
		case activities.HoldRemind:
			r.record(ctx, "The reviewers were reminded at half time.")
		case activities.HoldEscalate:
			r.record(ctx, "A team has not approved in time. A second team may approve as well; nothing is approved.")
		}
		return nil
	})
}

// step runs one move as a local activity and takes its outcome over.
func (r *holdRun) step(ctx workflow.Context, activity, request string) (hold.Outcome, error) {
	out, err := retryStep[hold.Outcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteLocalActivity(quickStep(ctx, stepSummary(activity)), activity,
			activities.HoldMove{Authorization: r.in.Authorization, Environment: r.in.Environment, Request: request, At: at})
	})
	if err != nil {
		return hold.Outcome{}, err
	}
	if out.Status == models.HoldPending {
		r.in.RemindAt, r.in.DueAt, r.in.EscalateAt = out.RemindAt, out.DueAt, out.EscalateAt
		return out, nil
	}
	r.settled = &out
	r.recordSettled(ctx)
	return out, nil
}

// recordSettled adds the outcome to the timeline.
func (r *holdRun) recordSettled(ctx workflow.Context) {
	switch s := *r.settled; s.Status {
	case models.HoldApproved:
		r.record(ctx, "Approved by as many reviewers as the policy requires. %s", followUpLine(s.Decision, s.Authorization))
	case models.HoldRejected:
		r.record(ctx, "Rejected by a reviewer. The authorization has the outcome manually_rejected.")
	case models.HoldExpired:
		r.record(ctx, "Expired: not enough reviewers approved in time, and time never approves.")
	default:
		r.record(ctx, "The hold is %s.", s.Status)
	}
}

// HoldInputOf converts the domain\'s input to that of the workflow.
func HoldInputOf(r hold.WorkflowInput) HoldInput {
	return HoldInput{
		Authorization: r.Authorization, Environment: r.Environment, Action: r.Action, RemindAt: r.RemindAt, DueAt: r.DueAt, EscalateAt: r.EscalateAt,
	}
}

func (in HoldInput) start() startRequest {
	return startRequest{
		id: HoldID(in.Authorization), input: in, kind: NameHold, environment: in.Environment, action: in.Action, decision: "hold", state: string(models.HoldPending),
		summary: fmt.Sprintf("%s waits for a reviewer, authorization %s", in.Action, in.Authorization), page: "decisions/" + in.Authorization,
	}
}
