package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/settle"
)

// ChallengeMoves makes the moves of a challenge (challenge.Service).
type ChallengeMoves interface {
	Complete(ctx context.Context, m settle.Move) (challenge.Outcome, error)
	Cancel(ctx context.Context, m settle.Move) (challenge.Outcome, error)
	Expire(ctx context.Context, m settle.Move) (challenge.Outcome, error)
}

// HoldMoves makes the moves of a hold (hold.Service).
type HoldMoves interface {
	Review(ctx context.Context, m settle.Move) (hold.Outcome, error)
	Remind(ctx context.Context, m settle.Move) (hold.Outcome, error)
	Expire(ctx context.Context, m settle.Move) (hold.Outcome, error)
	Escalate(ctx context.Context, m settle.Move) (hold.Outcome, error)
}

// ChangeMoves makes the moves of a change request (change.Service).
type ChangeMoves interface {
	Decide(ctx context.Context, m settle.Move) (change.Outcome, error)
	Expire(ctx context.Context, m settle.Move) (change.Outcome, error)
}

// EvaluationMoves makes the move of an evaluation (evaluation.Service).
type EvaluationMoves interface {
	Close(ctx context.Context, m settle.Move) (evaluation.Outcome, error)
}

// Move is the payload of a move of one record. Histories contain it: fields are added, never renamed.
type Move struct {
	ID          string // of a hold: the held authorization
	Environment string
	Request     string    `json:",omitempty"` // hex digest of the stored request
	Resolution  string    `json:",omitempty"`
	Reason      string    `json:",omitempty"`
	Actor       string    `json:",omitempty"` // an id; empty for a move by time
	RequestID   string    `json:",omitempty"`
	At          time.Time `json:",omitzero"` // the workflow's time: a worker's wrong clock must not decide what is in time
}

// Moving returns the activity that makes a move.
func Moving[O any](log *slog.Logger, make func(context.Context, settle.Move) (O, error)) func(context.Context, Move) (O, error) {
	return func(ctx context.Context, in Move) (out O, err error) {
		request, err := digest(in.Request)
		if err != nil {
			return out, err
		}
		out, err = make(ctx, settle.Move{
			ID: in.ID, Environment: in.Environment, Request: request, Resolution: in.Resolution, Reason: in.Reason, Actor: in.Actor, RequestID: in.RequestID, At: moment(in.At),
			WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
		})
		if err != nil {
			return out, report(ctx, log, err)
		}
		return out, nil
	}
}
