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

// EvaluationOutcome is where the evaluation stands after the move.
type EvaluationOutcome struct {
	Status string
	Result string // in_progress, passed or failed
	EndsAt *time.Time
}

// Evaluations are the activities of an evaluation.
type Evaluations struct {
	Moves EvaluationMoves
	Log   *slog.Logger
}

// Close computes the report and closes the evaluation.
func (a *Evaluations) Close(ctx context.Context, in EvaluationMove) (EvaluationOutcome, error) {
	out, err := a.Moves.Close(ctx, evaluation.Move{
		ID: in.Evaluation, Actor: in.Actor, RequestID: in.RequestID, At: moment(in.At),
		WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return EvaluationOutcome{}, report(ctx, a.Log, err)
	}
	return EvaluationOutcome{Status: string(out.Status), Result: out.Result, EndsAt: out.EndsAt}, nil
}
