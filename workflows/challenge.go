package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// ChallengeInput starts the run of a challenge. Fields are added, never changed.
type ChallengeInput struct {
	Challenge     string
	Authorization string
	Environment   string
	Action        string // the action's key
	ExpiresAt     time.Time
}

// ChallengeMove asks the run for a move. Request is the digest of the whole request, kept in Postgres before.
type ChallengeMove struct {
	Request string
}

// Challenge waits until the challenge is completed, cancelled or expired.
func Challenge(ctx workflow.Context, in ChallengeInput) (challenge.Outcome, error) {
	r := &challengeRun{in: in, contest: newContest(ctx)}
	if err := r.setup(ctx); err != nil {
		return challenge.Outcome{}, err
	}
	r.tell(ctx, "Opened by authorization %s on %s. The person has until %s.", in.Authorization, in.Action, said(in.ExpiresAt))
	return r.run(ctx)
}

type challengeRun struct {
	contest
	story
	in      ChallengeInput
	settled *challenge.Outcome
	poked   bool
}

// setup registers the handlers; it must not block.
func (r *challengeRun) setup(ctx workflow.Context) error {
	watchSettled(ctx, func(workflow.Context) { r.poked = true })
	if err := r.handle(ctx, UpdateComplete, activities.ChallengeComplete, "Complete the challenge by a verified request."); err != nil {
		return err
	}
	return r.handle(ctx, UpdateCancel, activities.ChallengeCancel, "Cancel the challenge.")
}

func (r *challengeRun) handle(ctx workflow.Context, update, activity, about string) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, update,
		func(ctx workflow.Context, m ChallengeMove) (challenge.Outcome, error) {
			return r.asked(ctx, activity, m)
		},
		workflow.UpdateHandlerOptions{Validator: r.validate, Description: about})
}

// validate refuses what cannot succeed any more; a refusal leaves no trace in the history.
func (r *challengeRun) validate(ctx workflow.Context, m ChallengeMove) error {
	if m.Request == "" {
		return activities.Refuse(problem.Conflict, "The request has no digest.")
	}
	if err := r.closed(); err != nil {
		return err
	}
	if !workflow.Now(ctx).Before(r.in.ExpiresAt) {
		return activities.Refuse(problem.ChallengeExpired, "The challenge has expired.")
	}
	return nil
}

func (r *challengeRun) closed() error {
	switch {
	case r.settled == nil:
		return nil
	case r.settled.Status == models.ChallengeExpired:
		return activities.Refuse(problem.ChallengeExpired, "The challenge has expired.")
	default:
		return activities.Refuse(problem.ChallengeClosed, fmt.Sprintf("The challenge is %s.", r.settled.Status))
	}
}

// asked makes a move that somebody asked for. It looks again when its turn has come: another move may have settled the
// challenge while this one waited.
func (r *challengeRun) asked(ctx workflow.Context, activity string, m ChallengeMove) (challenge.Outcome, error) {
	var out challenge.Outcome
	err := r.move(ctx, func() error {
		if err := r.closed(); err != nil {
			return err
		}
		if err := r.step(ctx, activity, m.Request); err != nil {
			r.refused(ctx, "What was asked", err)
			return err
		}
		out = *r.settled
		return nil
	})
	return out, err
}

// run waits for a move or the deadline.
func (r *challengeRun) run(ctx workflow.Context) (challenge.Outcome, error) {
	for r.settled == nil {
		_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      max(r.in.ExpiresAt.Sub(workflow.Now(ctx)), 0),
			TimerOptions: workflow.TimerOptions{Summary: "the challenge expires"},
		}, func() bool { return r.settled != nil || r.poked })
		if err != nil {
			return challenge.Outcome{}, err
		}
		if err := r.expire(ctx); err != nil {
			return challenge.Outcome{}, err
		}
	}
	if err := becomes(ctx, string(r.settled.Status), r.settled.Decision); err != nil {
		return challenge.Outcome{}, err
	}
	return *r.settled, finish(ctx)
}

// expire expires the challenge if it is due, and learns where it stands if it was settled past the run.
func (r *challengeRun) expire(ctx workflow.Context) error {
	return r.move(ctx, func() error {
		r.poked = false
		if r.settled != nil {
			return nil
		}
		return r.step(ctx, activities.ChallengeExpire, "")
	})
}

func (r *challengeRun) step(ctx workflow.Context, activity, request string) error {
	out, err := untilAnswered[challenge.Outcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteLocalActivity(quickStep(ctx, step(activity)), activity,
			activities.ChallengeMove{Challenge: r.in.Challenge, Request: request, At: at})
	})
	if err != nil {
		return err
	}
	if out.Status == models.ChallengeOpen {
		r.in.ExpiresAt = out.ExpiresAt
		return nil
	}
	r.settled = &out
	r.tellSettled(ctx)
	return nil
}

func (r *challengeRun) tellSettled(ctx workflow.Context) {
	switch s := *r.settled; s.Status {
	case models.ChallengeCompleted:
		r.tell(ctx, "Completed. %s", decidedAgain(s.Decision, s.Authorization))
	case models.ChallengeCancelled:
		r.tell(ctx, "Cancelled: by the relying party, or because the person is recovered or erased.")
	case models.ChallengeExpired:
		r.tell(ctx, "Expired: nobody completed it in time.")
	case models.ChallengeFailed:
		r.tell(ctx, "Failed: five assertions were refused.")
	default:
		r.tell(ctx, "The challenge is %s.", s.Status)
	}
}

// ChallengeInputOf is the input of the run of a challenge.
func ChallengeInputOf(r challenge.WorkflowInput) ChallengeInput {
	return ChallengeInput{
		Challenge: r.Challenge, Authorization: r.Authorization, Environment: r.Environment, Action: r.Action, ExpiresAt: r.ExpiresAt,
	}
}

func (in ChallengeInput) about() about {
	return about{
		kind: NameChallenge, environment: in.Environment, action: in.Action, decision: "challenge", state: string(models.ChallengeOpen),
		summary: fmt.Sprintf("Step-up for %s, asked by authorization %s", in.Action, in.Authorization),
	}
}
