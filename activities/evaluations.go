package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/evaluation"
)

// EvaluationMoves are the moves of an evaluation (internal/authz/evaluation).
type EvaluationMoves interface {
	Close(ctx context.Context, m evaluation.Move) (evaluation.Outcome, error)
}

// EvaluationMove asks for one move of one evaluation.
type EvaluationMove struct {
	Evaluation string
	Actor      string // the credential that asked; empty for what time does
	RequestID  string
	At         time.Time // the workflow's time
}

// Evaluations are the activities of an evaluation.
type Evaluations struct {
	Moves EvaluationMoves
	Log   *slog.Logger
}

// Close computes the report and closes the evaluation.
func (a *Evaluations) Close(ctx context.Context, in EvaluationMove) (evaluation.Outcome, error) {
	out, err := a.Moves.Close(ctx, evaluation.Move{
		ID: in.Evaluation, Actor: in.Actor, RequestID: in.RequestID, At: moment(in.At),
		WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return evaluation.Outcome{}, report(ctx, a.Log, err)
	}
	return out, nil
}
