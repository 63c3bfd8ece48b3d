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

// HoldInput starts the run of a hold. Fields are added, never changed.
type HoldInput struct {
	Authorization string
	Environment   string
	Action        string // the action's key
	RemindAt      time.Time
	DueAt         time.Time
}

// HoldReview asks the run to take a review in. Request is the digest of the whole review, kept in Postgres before.
type HoldReview struct {
	Request    string
	Resolution string // approve or reject
}

// Hold waits until the hold is approved, rejected or expired, and reminds of it in between. Time never approves.
func Hold(ctx workflow.Context, in HoldInput) (hold.Outcome, error) {
	r := &holdRun{in: in, contest: newContest(ctx)}
	if err := r.setup(ctx); err != nil {
		return hold.Outcome{}, err
	}
	r.tell(ctx, "Authorization %s on %s is held. Reviewers have until %s.", in.Authorization, in.Action, said(in.DueAt))
	return r.run(ctx)
}

// statePartlyApproved is the state attribute of a pending hold that has some of its approvals.
const statePartlyApproved = "partly_approved"

type holdRun struct {
	contest
	story
	in      HoldInput
	settled *hold.Outcome
	poked   bool
}

// setup registers the handlers; it must not block.
func (r *holdRun) setup(ctx workflow.Context) error {
	watchSettled(ctx, func(workflow.Context) { r.poked = true })
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateReview, r.review,
		workflow.UpdateHandlerOptions{Validator: r.validate, Description: "Take a reviewer's approval or rejection in."})
}

// validate refuses what cannot succeed any more; a refusal leaves no trace in the history.
func (r *holdRun) validate(ctx workflow.Context, m HoldReview) error {
	if m.Request == "" || (m.Resolution != hold.Approve && m.Resolution != hold.Reject) {
		return activities.Refuse(problem.Conflict, "The review has no digest or no resolution.")
	}
	if r.settled != nil {
		return r.closed(m.Resolution)
	}
	if !workflow.Now(ctx).Before(r.in.DueAt) {
		return activities.Refuse(problem.ReviewExpired, "The hold has expired.")
	}
	return nil
}

// closed is nil for a hold that was resolved just this way: a repeated review gets the answer the first one got.
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

// review takes one review in. It looks again when its turn has come: another may have settled the hold meanwhile.
func (r *holdRun) review(ctx workflow.Context, m HoldReview) (hold.Outcome, error) {
	var out hold.Outcome
	err := r.move(ctx, func() error {
		if r.settled != nil {
			out = *r.settled
			return r.closed(m.Resolution)
		}
		var err error
		if out, err = r.step(ctx, activities.HoldReview, m.Request); err != nil || r.settled != nil {
			r.refused(ctx, "A review", err)
			return err
		}
		r.tell(ctx, "Approved by %d of %d reviewers.", out.Approvals, out.Required)
		return r.partlyApproved(ctx)
	})
	return out, err
}

// partlyApproved shows that the hold has some of its approvals and waits for more.
func (r *holdRun) partlyApproved(ctx workflow.Context) error {
	if !showsPartialApprovals(ctx) {
		return nil
	}
	return becomes(ctx, statePartlyApproved, "")
}

// run waits for a review or the next deadline.
func (r *holdRun) run(ctx workflow.Context) (hold.Outcome, error) {
	for r.settled == nil {
		next, due := r.next()
		woken, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      max(next.Sub(workflow.Now(ctx)), 0),
			TimerOptions: workflow.TimerOptions{Summary: holdTimer(due)},
		}, func() bool { return r.settled != nil || r.poked })
		if err != nil {
			return hold.Outcome{}, err
		}
		if woken {
			due = activities.HoldExpire // looks where the hold stands, and expires nothing that is not due
		}
		if err := r.byTime(ctx, due); err != nil {
			return hold.Outcome{}, err
		}
	}
	if err := becomes(ctx, string(r.settled.Status), r.settled.Decision); err != nil {
		return hold.Outcome{}, err
	}
	return *r.settled, finish(ctx)
}

// next is the next deadline and what is due at it.
func (r *holdRun) next() (time.Time, string) {
	if !r.in.RemindAt.IsZero() && r.in.RemindAt.Before(r.in.DueAt) {
		return r.in.RemindAt, activities.HoldRemind
	}
	return r.in.DueAt, activities.HoldExpire
}

func holdTimer(due string) string {
	if due == activities.HoldRemind {
		return "the reviewers are reminded"
	}
	return "the hold expires"
}

func (r *holdRun) byTime(ctx workflow.Context, due string) error {
	return r.move(ctx, func() error {
		r.poked = false
		if r.settled != nil {
			return nil
		}
		_, err := r.step(ctx, due, "")
		if err == nil && r.settled == nil && due == activities.HoldRemind {
			r.tell(ctx, "Half of the time is over; the reviewers were reminded.")
		}
		return err
	})
}

func (r *holdRun) step(ctx workflow.Context, activity, request string) (hold.Outcome, error) {
	out, err := untilAnswered[hold.Outcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteLocalActivity(quickStep(ctx, step(activity)), activity,
			activities.HoldMove{Authorization: r.in.Authorization, Request: request, At: at})
	})
	if err != nil {
		return hold.Outcome{}, err
	}
	if out.Status == models.HoldPending {
		r.in.RemindAt, r.in.DueAt = out.RemindAt, out.DueAt
		return out, nil
	}
	r.settled = &out
	r.tellSettled(ctx)
	return out, nil
}

func (r *holdRun) tellSettled(ctx workflow.Context) {
	switch s := *r.settled; s.Status {
	case models.HoldApproved:
		r.tell(ctx, "Approved, by as many reviewers as the policy wants. %s", decidedAgain(s.Decision, s.Authorization))
	case models.HoldRejected:
		r.tell(ctx, "Rejected by a reviewer. The outcome manually_rejected is on the authorization.")
	case models.HoldExpired:
		r.tell(ctx, "Expired: not enough reviewers approved in time, and time never approves.")
	default:
		r.tell(ctx, "The hold is %s.", s.Status)
	}
}

// HoldInputOf is the input of the run of a hold.
func HoldInputOf(r hold.WorkflowInput) HoldInput {
	return HoldInput{Authorization: r.Authorization, Environment: r.Environment, Action: r.Action, RemindAt: r.RemindAt, DueAt: r.DueAt}
}

func (in HoldInput) about() about {
	return about{
		kind: NameHold, environment: in.Environment, action: in.Action, decision: "hold", state: string(models.HoldPending),
		summary: fmt.Sprintf("%s waits for a reviewer, authorization %s", in.Action, in.Authorization),
	}
}
