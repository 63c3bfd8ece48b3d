package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// EvaluationInput is the input of the workflow of an evaluation. Histories contain it: fields are added, never renamed.
type EvaluationInput struct {
	Evaluation  string
	Environment string
	EndsAt      *time.Time // nil: open until it is closed on request
}

// Evaluation waits until the evaluation is closed on request or reaches its end.
func Evaluation(ctx workflow.Context, in EvaluationInput) (evaluation.Outcome, error) {
	r := &evaluationRun{in: in, moveLock: newMoveLock(ctx)}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateClose, r.handleClose, workflow.UpdateHandlerOptions{
		Validator: r.validate, Description: "Close the evaluation now.",
	})
	if err != nil {
		return evaluation.Outcome{}, err
	}
	if in.EndsAt != nil {
		r.record(ctx, "Open until %s.", formatTime(*in.EndsAt))
	} else {
		r.record(ctx, "Open until it is closed on request.")
	}
	return r.run(ctx)
}

// evaluationRun is the state of one workflow run.
type evaluationRun struct {
	moveLock
	timeline
	in      EvaluationInput
	settled *evaluation.Outcome
}

// validate refuses requests that cannot succeed any more. A refusal by a validator adds no event to the history.
func (r *evaluationRun) validate(workflow.Context, evaluation.CloseRequest) error { return r.closed() }

// closed returns the refusal of an evaluation that is closed.
func (r *evaluationRun) closed() error {
	if r.settled == nil {
		return nil
	}
	return activities.Refuse(problem.EvaluationClosed, "The evaluation is closed.")
}

// handleClose closes the evaluation on request, unless another close had the lock first.
func (r *evaluationRun) handleClose(ctx workflow.Context, m evaluation.CloseRequest) (evaluation.Outcome, error) {
	var out evaluation.Outcome
	err := r.move(ctx, func() error {
		if err := r.closed(); err != nil {
			return err
		}
		if err := r.close(ctx, m); err != nil {
			return err
		}
		out = *r.settled
		return nil
	})
	return out, err
}

// run waits until the evaluation is closed on request or reaches its end.
func (r *evaluationRun) run(ctx workflow.Context) (evaluation.Outcome, error) {
	for r.settled == nil {
		if err := r.wait(ctx); err != nil {
			return evaluation.Outcome{}, err
		}
		err := r.move(ctx, func() error {
			if r.settled != nil {
				return nil
			}
			return r.close(ctx, evaluation.CloseRequest{})
		})
		if err != nil {
			return evaluation.Outcome{}, err
		}
	}
	if err := upsertState(ctx, r.settled.Result, ""); err != nil {
		return evaluation.Outcome{}, err
	}
	return *r.settled, finish(ctx)
}

// wait returns when the evaluation is settled or at its end, whichever is first.
func (r *evaluationRun) wait(ctx workflow.Context) error {
	closed := func() bool { return r.settled != nil }
	if r.in.EndsAt == nil {
		return workflow.Await(ctx, closed)
	}
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout:      max(r.in.EndsAt.Sub(workflow.Now(ctx)), 0),
		TimerOptions: workflow.TimerOptions{Summary: "the evaluation ends"},
	}, closed)
	return err
}

// close runs the activity that counts and closes. A zero request closes only an evaluation that is at its end.
func (r *evaluationRun) close(ctx workflow.Context, m evaluation.CloseRequest) error {
	out, err := retryStep[evaluation.Outcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteActivity(slowStep(ctx, stepSummary(activities.EvaluationClose)), activities.EvaluationClose, activities.EvaluationMove{
			Evaluation: r.in.Evaluation, Environment: r.in.Environment, Actor: m.Actor, RequestID: m.RequestID, At: at,
		})
	})
	if err != nil {
		return err
	}
	if out.Status == models.EvaluationClosed {
		r.settled = &out
		r.record(ctx, "Closed. Result: **%s**.", out.Result)
		return nil
	}
	r.in.EndsAt = out.EndsAt
	return nil
}

// EvaluationInputOf converts the domain\'s input to that of the workflow.
func EvaluationInputOf(r evaluation.WorkflowInput) EvaluationInput {
	return EvaluationInput{Evaluation: r.Evaluation, Environment: r.Environment, EndsAt: r.EndsAt}
}

func (in EvaluationInput) start() startRequest {
	return startRequest{
		id: EvaluationID(in.Evaluation), input: in, kind: NameEvaluation, environment: in.Environment, state: evaluation.InProgress, summary: "Evaluation " + in.Evaluation, page: "evaluations/" + in.Evaluation,
	}
}
