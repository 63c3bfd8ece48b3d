package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/hold"
)

// HoldMoves makes the moves of a hold, each in one transaction (hold.Service).
type HoldMoves interface {
	Review(ctx context.Context, m hold.Move) (hold.Outcome, error)
	Remind(ctx context.Context, m hold.Move) (hold.Outcome, error)
	Expire(ctx context.Context, m hold.Move) (hold.Outcome, error)
	Escalate(ctx context.Context, m hold.Move) (hold.Outcome, error)
}

// HoldMove is the payload of a move of one hold. Histories contain it: fields are added, never renamed.
type HoldMove struct {
	Authorization string
	Environment   string
	Request       string    // hex digest of the stored review; empty for a reminder or an expiry
	At            time.Time // the workflow's time
}

// Holds are the activities of a hold.
type Holds struct {
	Moves HoldMoves
	Log   *slog.Logger
}

// Review records a review and settles the hold if the review is decisive.
func (a *Holds) Review(ctx context.Context, in HoldMove) (hold.Outcome, error) {
	return a.move(ctx, in, a.Moves.Review)
}

// Remind records the reminder event of a hold that still waits.
func (a *Holds) Remind(ctx context.Context, in HoldMove) (hold.Outcome, error) {
	return a.move(ctx, in, a.Moves.Remind)
}

// Expire expires the hold if it is pending and due, and returns its state in any case.
func (a *Holds) Expire(ctx context.Context, in HoldMove) (hold.Outcome, error) {
	return a.move(ctx, in, a.Moves.Expire)
}

// Escalate records the escalations of the hold that are due. It approves nothing.
func (a *Holds) Escalate(ctx context.Context, in HoldMove) (hold.Outcome, error) {
	return a.move(ctx, in, a.Moves.Escalate)
}

// move decodes the payload, makes the move and maps its error.
func (a *Holds) move(ctx context.Context, in HoldMove, f func(context.Context, hold.Move) (hold.Outcome, error)) (hold.Outcome, error) {
	request, err := digest(in.Request)
	if err != nil {
		return hold.Outcome{}, err
	}
	out, err := f(ctx, hold.Move{
		ID: in.Authorization, Environment: in.Environment, Request: request, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return hold.Outcome{}, report(ctx, a.Log, err)
	}
	return out, nil
}
