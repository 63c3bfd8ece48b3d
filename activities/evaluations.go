package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
)

// EvaluationMoves makes the moves of an evaluation (evaluation.Service).
type EvaluationMoves interface {
	Close(ctx context.Context, m evaluation.Move) (evaluation.Outcome, error)
}

// EvaluationMove is the payload of a close of one evaluation. Histories contain it: fields are added, never renamed.
type EvaluationMove struct {
	Evaluation  string
	Environment string
	Actor       string // credential:<id>; empty for a close at the end of the evaluation
	RequestID   string
	At          time.Time // the workflow's time
}

// Evaluations are the activities of an evaluation.
type Evaluations struct {
	Moves EvaluationMoves
	Log   *slog.Logger
}

// Close computes the report and closes the evaluation.
func (a *Evaluations) Close(ctx context.Context, in EvaluationMove) (evaluation.Outcome, error) {
	out, err := a.Moves.Close(ctx, evaluation.Move{
		ID: in.Evaluation, Environment: in.Environment, Actor: in.Actor, RequestID: in.RequestID, At: moment(in.At),
		WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return evaluation.Outcome{}, report(ctx, a.Log, err)
	}
	return out, nil
}
