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

// EvaluationClose asks the run to close the evaluation.
type EvaluationClose struct {
	Actor     string // credential:<id>
	RequestID string
}

// EvaluationResult is where an evaluation stands.
type EvaluationResult struct {
	Status string
	Result string // in_progress, passed or failed
}

// Evaluation waits until the evaluation is closed by somebody or at its end.
func Evaluation(ctx workflow.Context, in EvaluationInput) (EvaluationResult, error) {
	r := &evaluationRun{in: in, contest: newContest(ctx)}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateClose, r.asked, workflow.UpdateHandlerOptions{
		Validator: r.validate, Description: "Close the evaluation now.",
	})
	if err != nil {
		return EvaluationResult{}, err
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
	settled *EvaluationResult
}

// validate refuses what cannot succeed any more; a refusal leaves no trace in the history.
func (r *evaluationRun) validate(workflow.Context, EvaluationClose) error { return r.closed() }

func (r *evaluationRun) closed() error {
	if r.settled == nil {
		return nil
	}
	return activities.Refuse(problem.EvaluationClosed, "The evaluation is closed.")
}

func (r *evaluationRun) asked(ctx workflow.Context, m EvaluationClose) (EvaluationResult, error) {
	var out EvaluationResult
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
func (r *evaluationRun) run(ctx workflow.Context) (EvaluationResult, error) {
	for r.settled == nil {
		if err := r.wait(ctx); err != nil {
			return EvaluationResult{}, err
		}
		err := r.move(ctx, func() error {
			if r.settled != nil {
				return nil
			}
			return r.close(ctx, EvaluationClose{})
		})
		if err != nil {
			return EvaluationResult{}, err
		}
	}
	if err := becomes(ctx, r.settled.Result, ""); err != nil {
		return EvaluationResult{}, err
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

func (r *evaluationRun) close(ctx workflow.Context, m EvaluationClose) error {
	out, err := untilAnswered[activities.EvaluationOutcome](ctx, func(ctx workflow.Context, at time.Time) workflow.Future {
		return workflow.ExecuteActivity(slowStep(ctx, step(activities.EvaluationClose)), activities.EvaluationClose, activities.EvaluationMove{
			Evaluation: r.in.Evaluation, Actor: m.Actor, RequestID: m.RequestID, At: at,
		})
	})
	if err != nil {
		return err
	}
	if out.Status == string(models.EvaluationClosed) {
		r.settled = &EvaluationResult{Status: out.Status, Result: out.Result}
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
