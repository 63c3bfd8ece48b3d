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

// ChallengeInput is the input of the workflow of a challenge. Histories contain it: fields are added, never renamed.
type ChallengeInput struct {
	Challenge     string
	Authorization string
	Environment   string
	Action        string // the action's key
	ExpiresAt     time.Time
}

// ChallengeMove is the argument of the updates complete and cancel. Request is the hex digest of the whole request, which
// the service stored before it sent the update.
type ChallengeMove struct {
	Request string
}

// Challenge waits until the challenge is completed, cancelled or expired.
func Challenge(ctx workflow.Context, in ChallengeInput) (challenge.Outcome, error) {
	r := &challengeRun{in: in, moveLock: newMoveLock(ctx)}
	if err := r.setup(ctx); err != nil {
		return challenge.Outcome{}, err
	}
	r.record(ctx, "Opened by authorization %s on %s; expires at %s.", in.Authorization, in.Action, formatTime(in.ExpiresAt))
	return r.run(ctx)
}

// challengeRun is the state of one workflow run.
type challengeRun struct {
	moveLock
	timeline
	in       ChallengeInput
	settled  *challenge.Outcome
	signaled bool
}

// setup registers the handlers. It must not block: an update that arrives before its handler is registered fails.
func (r *challengeRun) setup(ctx workflow.Context) error {
	watchSettled(ctx, func(workflow.Context) { r.signaled = true })
	if err := r.handle(ctx, UpdateComplete, activities.ChallengeComplete, "Complete the challenge by a verified request."); err != nil {
		return err
	}
	return r.handle(ctx, UpdateCancel, activities.ChallengeCancel, "Cancel the challenge.")
}

// handle registers the handler of one update.
func (r *challengeRun) handle(ctx workflow.Context, update, activity, about string) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, update,
		func(ctx workflow.Context, m ChallengeMove) (challenge.Outcome, error) {
			return r.handleMove(ctx, activity, m)
		},
		workflow.UpdateHandlerOptions{Validator: r.validate, Description: about})
}

// validate refuses requests that cannot succeed any more. A refusal by a validator adds no event to the history.
func (r *challengeRun) validate(ctx workflow.Context, m ChallengeMove) error {
	if m.Request == "" {
		return activities.Refuse(problem.Conflict, "The request has no digest.")
	}
	if err := r.closed(); err != nil {
		return err
	}
	if !r.moving() && !workflow.Now(ctx).Before(r.in.ExpiresAt) {
		return activities.Refuse(problem.ChallengeExpired, "The challenge has expired.")
	}
	return nil
}

// closed returns the refusal of a challenge that is settled, and nil for an open one.
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

// handleMove makes a requested move. It checks again once it has the lock: another move may have settled the challenge
// while this one waited.
func (r *challengeRun) handleMove(ctx workflow.Context, activity string, m ChallengeMove) (challenge.Outcome, error) {
	var out challenge.Outcome
	err := r.move(ctx, func() error {
		if err := r.closed(); err != nil {
			return err
		}
		if err := r.step(ctx, activity, m.Request); err != nil {
			r.recordRefusal(ctx, "The request", err)
			return err
		}
		out = *r.settled
		return nil
	})
	return out, err
}

// run waits until a move settles the challenge or the challenge expires.
func (r *challengeRun) run(ctx workflow.Context) (challenge.Outcome, error) {
	for r.settled == nil {
		_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      max(r.in.ExpiresAt.Sub(workflow.Now(ctx)), 0),
			TimerOptions: workflow.TimerOptions{Summary: "the challenge expires"},
		}, func() bool { return r.settled != nil || r.signaled })
		if err != nil {
			return challenge.Outcome{}, err
		}
		if err := r.expire(ctx); err != nil {
			return challenge.Outcome{}, err
		}
	}
	if err := upsertState(ctx, string(r.settled.Status), r.settled.Decision); err != nil {
		return challenge.Outcome{}, err
	}
	return *r.settled, finish(ctx)
}

// expire expires the challenge if it is due. It also reads the state of a challenge that was settled outside the workflow.
func (r *challengeRun) expire(ctx workflow.Context) error {
	return r.move(ctx, func() error {
		r.signaled = false
		if r.settled != nil {
			return nil
		}
		return r.step(ctx, activities.ChallengeExpire, "")
	})
}

// step runs one move as a local activity and takes its outcome over.
func (r *challengeRun) step(ctx workflow.Context, activity, request string) error {
	out, err := retryStep[challenge.Outcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteLocalActivity(quickStep(ctx, stepSummary(activity)), activity,
			activities.ChallengeMove{Challenge: r.in.Challenge, Environment: r.in.Environment, Request: request, At: at})
	})
	if err != nil {
		return err
	}
	if out.Status == models.ChallengeOpen {
		r.in.ExpiresAt = out.ExpiresAt
		return nil
	}
	r.settled = &out
	r.recordSettled(ctx)
	return nil
}

// recordSettled adds the outcome to the timeline.
func (r *challengeRun) recordSettled(ctx workflow.Context) {
	switch s := *r.settled; s.Status {
	case models.ChallengeCompleted:
		r.record(ctx, "Completed. %s", followUpLine(s.Decision, s.Authorization))
	case models.ChallengeCancelled:
		r.record(ctx, "Cancelled by the relying party, or because the user was recovered or erased.")
	case models.ChallengeExpired:
		r.record(ctx, "Expired: it was not completed in time.")
	case models.ChallengeFailed:
		r.record(ctx, "Failed: five assertions were refused.")
	default:
		r.record(ctx, "The challenge is %s.", s.Status)
	}
}

// ChallengeInputOf converts the domain\'s input to that of the workflow.
func ChallengeInputOf(r challenge.WorkflowInput) ChallengeInput {
	return ChallengeInput{
		Challenge: r.Challenge, Authorization: r.Authorization, Environment: r.Environment, Action: r.Action, ExpiresAt: r.ExpiresAt,
	}
}

func (in ChallengeInput) start() startRequest {
	return startRequest{
		id: ChallengeID(in.Challenge), input: in, kind: NameChallenge, environment: in.Environment, action: in.Action, decision: "challenge", state: string(models.ChallengeOpen),
		summary: fmt.Sprintf("Step-up for %s, authorization %s", in.Action, in.Authorization), page: "decisions/" + in.Authorization,
	}
}
