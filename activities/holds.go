package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/hold"
)

// HoldMoves are the moves of a hold, each one transaction (internal/authz/hold).
type HoldMoves interface {
	Review(ctx context.Context, m hold.Move) (hold.Outcome, error)
	Remind(ctx context.Context, m hold.Move) (hold.Outcome, error)
	Expire(ctx context.Context, m hold.Move) (hold.Outcome, error)
}

// HoldMove asks for one move of one hold.
type HoldMove struct {
	Authorization string
	Request       string    // hex digest of the review; empty for what time does
	At            time.Time // the workflow's time
}

// Holds are the activities of a hold.
type Holds struct {
	Moves HoldMoves
	Log   *slog.Logger
}

// Review counts a review in and, where it settles the hold, settles it.
func (a *Holds) Review(ctx context.Context, in HoldMove) (hold.Outcome, error) {
	return a.move(ctx, in, a.Moves.Review)
}

// Remind tells whoever listens that the hold still waits.
func (a *Holds) Remind(ctx context.Context, in HoldMove) (hold.Outcome, error) {
	return a.move(ctx, in, a.Moves.Remind)
}

// Expire expires the hold where it is pending and due, and says where it stands in any case.
func (a *Holds) Expire(ctx context.Context, in HoldMove) (hold.Outcome, error) {
	return a.move(ctx, in, a.Moves.Expire)
}

func (a *Holds) move(ctx context.Context, in HoldMove, f func(context.Context, hold.Move) (hold.Outcome, error)) (hold.Outcome, error) {
	request, err := digest(in.Request)
	if err != nil {
		return hold.Outcome{}, err
	}
	out, err := f(ctx, hold.Move{
		ID: in.Authorization, Request: request, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return hold.Outcome{}, report(ctx, a.Log, err)
	}
	return out, nil
}
