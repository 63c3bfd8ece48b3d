package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/subject/recovery"
)

// RecoveryAdvance is the registered name of the activity of a recovery. Histories refer to it: never rename it.
const RecoveryAdvance = "recovery.advance"

// RecoveryMoves advances recoveries (recovery.Service).
type RecoveryMoves interface {
	Advance(ctx context.Context, step recovery.Step) (recovery.Progress, error)
}

// RecoveryStep is the payload of the moves of a recovery that are due.
type RecoveryStep struct {
	Recovery    string
	Environment string
	At          time.Time `json:",omitzero"` // the workflow's time
}

// RecoveryStanding is the state of a recovery.
type RecoveryStanding struct {
	Status string
	Next   time.Time `json:",omitzero"` // when the next move is due by time alone
	Over   bool      // the recovery has ended
}

// Recoveries are the activities of a recovery.
type Recoveries struct {
	Moves RecoveryMoves
	Log   *slog.Logger
}

// Advance makes the moves that are due and returns the state of the recovery.
func (a *Recoveries) Advance(ctx context.Context, in RecoveryStep) (RecoveryStanding, error) {
	out, err := a.Moves.Advance(ctx, recovery.Step{
		ID: in.Recovery, Environment: in.Environment, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return RecoveryStanding{}, report(ctx, a.Log, err)
	}
	return RecoveryStanding{Status: string(out.Status), Next: out.Next, Over: recovery.Over(out.Status)}, nil
}
