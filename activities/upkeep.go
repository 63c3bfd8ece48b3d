package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
)

// UpkeepRun is the registered name of the activity of upkeep. Histories refer to it: never rename it.
const UpkeepRun = "upkeep.run"

// UpkeepTasks runs recurring tasks (upkeep.Service).
type UpkeepTasks interface {
	Run(ctx context.Context, task string, at time.Time, by string) (done int, more bool, err error)
}

// UpkeepBatch is the payload of one batch of a task.
type UpkeepBatch struct {
	Task string
	At   time.Time `json:",omitzero"` // the workflow's time
}

// UpkeepProgress reports how much was done and whether there may be more.
type UpkeepProgress struct {
	Done int
	More bool
}

// Upkeep is the activity of upkeep.
type Upkeep struct {
	Tasks UpkeepTasks
	Log   *slog.Logger
}

// Run runs one batch of a task.
func (a *Upkeep) Run(ctx context.Context, in UpkeepBatch) (UpkeepProgress, error) {
	done, more, err := a.Tasks.Run(ctx, in.Task, moment(in.At), activity.GetInfo(ctx).WorkflowExecution.ID)
	if err != nil {
		return UpkeepProgress{}, report(ctx, a.Log, err)
	}
	return UpkeepProgress{Done: done, More: more}, nil
}
