package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/internal/subject/recovery"
)

// RecoveryAdvance is the name under which the activity of a recovery is registered.
const RecoveryAdvance = "recovery.advance"

// RecoveryMoves are the moves of a recovery (internal/subject/recovery).
type RecoveryMoves interface {
	Advance(ctx context.Context, step recovery.Step) (recovery.Progress, error)
}

// RecoveryStep asks for the moves of a recovery that are due.
type RecoveryStep struct {
	Recovery string
	At       time.Time // the workflow's time
}

// RecoveryStanding is where a recovery stands.
type RecoveryStanding struct {
	Status string
	Next   time.Time // when it is due to move by time alone
	Over   bool      // no move leads on from here
}

// Recoveries are the activities of a recovery.
type Recoveries struct {
	Moves RecoveryMoves
	Log   *slog.Logger
}

// Advance makes the moves that are due and says where the recovery stands.
func (a *Recoveries) Advance(ctx context.Context, in RecoveryStep) (RecoveryStanding, error) {
	out, err := a.Moves.Advance(ctx, recovery.Step{
		ID: in.Recovery, At: moment(in.At), WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
	})
	if err != nil {
		return RecoveryStanding{}, report(ctx, a.Log, err)
	}
	return RecoveryStanding{Status: string(out.Status), Next: out.Next, Over: recovery.Over(out.Status)}, nil
}
