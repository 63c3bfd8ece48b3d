package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
)

// ChallengeMoves makes the moves of a challenge, each in one transaction (challenge.Service).
type ChallengeMoves interface {
	Complete(ctx context.Context, m challenge.Move) (challenge.Outcome, error)
	Cancel(ctx context.Context, m challenge.Move) (challenge.Outcome, error)
	Expire(ctx context.Context, m challenge.Move) (challenge.Outcome, error)
}

// ChallengeMove is the payload of a move of one challenge. Histories contain it: fields are added, never renamed.
type ChallengeMove struct {
	Challenge   string
	Environment string
	Request     string    // hex digest of the stored request; empty for an expiry
	At          time.Time // the workflow's time: a worker's wrong clock must not decide what is in time
}

// Challenges are the activities of a challenge.
type Challenges struct {
	Moves ChallengeMoves
	Log   *slog.Logger
}

// Complete completes the challenge and makes the follow-up decision.
func (a *Challenges) Complete(ctx context.Context, in ChallengeMove) (challenge.Outcome, error) {
	return a.move(ctx, in, a.Moves.Complete)
}

// Cancel cancels the challenge.
func (a *Challenges) Cancel(ctx context.Context, in ChallengeMove) (challenge.Outcome, error) {
	return a.move(ctx, in, a.Moves.Cancel)
}

// Expire expires the challenge if it is open and due, and returns its state in any case.
func (a *Challenges) Expire(ctx context.Context, in ChallengeMove) (challenge.Outcome, error) {
	return a.move(ctx, in, a.Moves.Expire)
}

// move decodes the payload, makes the move and maps its error.
func (a *Challenges) move(ctx context.Context, in ChallengeMove, f func(context.Context, challenge.Move) (challenge.Outcome, error)) (challenge.Outcome, error) {
	request, err := digest(in.Request)
	if err != nil {
		return challenge.Outcome{}, err
	}
	out, err := f(ctx, challenge.Move{
		ID: in.Challenge, Environment: in.Environment, Request: request, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return challenge.Outcome{}, report(ctx, a.Log, err)
	}
	return out, nil
}
