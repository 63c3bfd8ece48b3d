package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// EvaluationInput starts the run of an evaluation. Fields are added, never changed.
type EvaluationInput struct {
	Evaluation  string
	Environment string
	EndsAt      *time.Time // nil: open until somebody closes it
}

// Evaluation waits until the evaluation is closed by somebody or at its end.
func Evaluation(ctx workflow.Context, in EvaluationInput) (evaluation.Outcome, error) {
	r := &evaluationRun{in: in, contest: newContest(ctx)}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateClose, r.asked, workflow.UpdateHandlerOptions{
		Validator: r.validate, Description: "Close the evaluation now.",
	})
	if err != nil {
		return evaluation.Outcome{}, err
	}
	if in.EndsAt != nil {
		r.tell(ctx, "Open until %s.", said(*in.EndsAt))
	} else {
		r.tell(ctx, "Open until somebody closes it.")
	}
	return r.run(ctx)
}

type evaluationRun struct {
	contest
	story
	in      EvaluationInput
	settled *evaluation.Outcome
}

// validate refuses what cannot succeed any more; a refusal leaves no trace in the history.
func (r *evaluationRun) validate(workflow.Context, evaluation.CloseRequest) error { return r.closed() }

func (r *evaluationRun) closed() error {
	if r.settled == nil {
		return nil
	}
	return activities.Refuse(problem.EvaluationClosed, "The evaluation is closed.")
}

func (r *evaluationRun) asked(ctx workflow.Context, m evaluation.CloseRequest) (evaluation.Outcome, error) {
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

// run waits for the close or the end.
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
	if err := becomes(ctx, r.settled.Result, ""); err != nil {
		return evaluation.Outcome{}, err
	}
	return *r.settled, finish(ctx)
}

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

func (r *evaluationRun) close(ctx workflow.Context, m evaluation.CloseRequest) error {
	out, err := untilAnswered[evaluation.Outcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteActivity(slowStep(ctx, step(activities.EvaluationClose)), activities.EvaluationClose, activities.EvaluationMove{
			Evaluation: r.in.Evaluation, Actor: m.Actor, RequestID: m.RequestID, At: at,
		})
	})
	if err != nil {
		return err
	}
	if out.Status == models.EvaluationClosed {
		r.settled = &out
		r.tell(ctx, "Closed. Result: **%s**.", out.Result)
		return nil
	}
	r.in.EndsAt = out.EndsAt
	return nil
}

// EvaluationInputOf is the input of the run of an evaluation.
func EvaluationInputOf(r evaluation.WorkflowInput) EvaluationInput {
	return EvaluationInput{Evaluation: r.Evaluation, Environment: r.Environment, EndsAt: r.EndsAt}
}

func (in EvaluationInput) about() about {
	return about{
		kind: NameEvaluation, environment: in.Environment, state: evaluation.InProgress, summary: "Evaluation " + in.Evaluation,
	}
}
