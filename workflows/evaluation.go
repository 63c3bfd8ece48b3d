package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Evaluation waits until the evaluation is closed on request or reaches its end.
func Evaluation(ctx workflow.Context, in evaluation.WorkflowInput) (evaluation.Outcome, error) {
	return evaluations.run(ctx, in)
}

var evaluations = recordKind[evaluation.WorkflowInput, evaluation.Outcome]{
	start: func(in evaluation.WorkflowInput) startRequest {
		return startRequest{
			id: EvaluationID(in.Evaluation), input: in, kind: NameEvaluation, environment: in.Environment, state: evaluation.InProgress,
			summary: "Evaluation " + in.Evaluation, page: "evaluations/" + in.Evaluation,
		}
	},
	key:     func(in evaluation.WorkflowInput) (string, string) { return in.Evaluation, in.Environment },
	updates: []recordUpdate{{name: UpdateClose, activity: activities.EvaluationClose, about: "Close the evaluation now."}},
	slow:    true, // counts the decisions
	next: func(in evaluation.WorkflowInput) deadline {
		if in.EndsAt == nil {
			return deadline{}
		}
		return deadline{at: *in.EndsAt, activity: activities.EvaluationClose, timer: "the evaluation ends"}
	},
	read: activities.EvaluationClose, // without an actor it closes only an evaluation that is at its end
	closed: func(evaluation.Outcome, MoveRequest) error {
		return activities.Refuse(problem.EvaluationClosed, "The evaluation is closed.")
	},
	waits: func(in *evaluation.WorkflowInput, o evaluation.Outcome) bool {
		if o.Status == models.EvaluationClosed {
			return false
		}
		in.EndsAt = o.EndsAt
		return true
	},
	state: func(o evaluation.Outcome) (string, policy.Effect) { return o.Result, "" },
	opened: func(in evaluation.WorkflowInput) string {
		if in.EndsAt == nil {
			return "Open until it is closed on request."
		}
		return fmt.Sprintf("Open until %s.", formatTime(*in.EndsAt))
	},
	settled: func(o evaluation.Outcome) string { return fmt.Sprintf("Closed. Result: **%s**.", o.Result) },
}
