package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
)

// ChallengeMoves are the moves of a challenge, each one transaction (internal/authz/challenge).
type ChallengeMoves interface {
	Complete(ctx context.Context, m challenge.Move) (challenge.Outcome, error)
	Cancel(ctx context.Context, m challenge.Move) (challenge.Outcome, error)
	Expire(ctx context.Context, m challenge.Move) (challenge.Outcome, error)
}

// ChallengeMove asks for one move of one challenge.
type ChallengeMove struct {
	Challenge string
	Request   string    // hex digest of what was asked; empty for an expiry
	At        time.Time // the workflow's time, which no worker's clock can bend
}

// Challenges are the activities of a challenge.
type Challenges struct {
	Moves ChallengeMoves
	Log   *slog.Logger
}

// Complete completes the challenge and decides again.
func (a *Challenges) Complete(ctx context.Context, in ChallengeMove) (challenge.Outcome, error) {
	return a.move(ctx, in, a.Moves.Complete)
}

// Cancel cancels the challenge.
func (a *Challenges) Cancel(ctx context.Context, in ChallengeMove) (challenge.Outcome, error) {
	return a.move(ctx, in, a.Moves.Cancel)
}

// Expire expires the challenge where it is open and due, and says where it stands in any case.
func (a *Challenges) Expire(ctx context.Context, in ChallengeMove) (challenge.Outcome, error) {
	return a.move(ctx, in, a.Moves.Expire)
}

func (a *Challenges) move(ctx context.Context, in ChallengeMove, f func(context.Context, challenge.Move) (challenge.Outcome, error)) (challenge.Outcome, error) {
	request, err := digest(in.Request)
	if err != nil {
		return challenge.Outcome{}, err
	}
	out, err := f(ctx, challenge.Move{
		ID: in.Challenge, Request: request, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return challenge.Outcome{}, report(ctx, a.Log, err)
	}
	return out, nil
}
