package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/change"
)

// ChangeMoves makes the moves of a change request, each in one transaction (change.Service).
type ChangeMoves interface {
	Decide(ctx context.Context, m change.Move) (change.Outcome, error)
	Expire(ctx context.Context, m change.Move) (change.Outcome, error)
}

// ChangeMove is the payload of a move of one change request. Histories contain it: fields are added, never renamed.
type ChangeMove struct {
	Change      string
	Environment string
	Resolution  string // empty for an expiry, as are the next two
	Actor       string
	RequestID   string
	At          time.Time // the workflow's time
}

// Changes are the activities of a change request.
type Changes struct {
	Moves ChangeMoves
	Log   *slog.Logger
}

// Decide settles the change request and makes the change if it is approved.
func (a *Changes) Decide(ctx context.Context, in ChangeMove) (change.Outcome, error) {
	return a.move(ctx, in, a.Moves.Decide)
}

// Expire expires the change request if it is pending and due, and returns its state in any case.
func (a *Changes) Expire(ctx context.Context, in ChangeMove) (change.Outcome, error) {
	return a.move(ctx, in, a.Moves.Expire)
}

// move makes the move and maps its error.
func (a *Changes) move(ctx context.Context, in ChangeMove, f func(context.Context, change.Move) (change.Outcome, error)) (change.Outcome, error) {
	out, err := f(ctx, change.Move{
		ID: in.Change, Environment: in.Environment, Resolution: in.Resolution, Actor: in.Actor, RequestID: in.RequestID, At: moment(in.At),
		WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return change.Outcome{}, report(ctx, a.Log, err)
	}
	return out, nil
}
