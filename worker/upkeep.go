package worker

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/workflows"
)

func registerUpkeep(r Registry, s Services) {
	a := &activities.Upkeep{Tasks: s.Upkeep, Log: s.Log}
	r.RegisterActivityWithOptions(a.Run, activity.RegisterOptions{Name: activities.UpkeepRun})
}

// KeepSchedules returns a background loop that creates the schedule of each task, retrying every 5 seconds while Temporal is
// unavailable, until it succeeds or ctx ends.
func KeepSchedules(c *workflows.Client, tasks []upkeep.Task, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		for {
			err := c.EnsureSchedules(ctx, tasks)
			if err == nil {
				return
			}
			log.DebugContext(ctx, "cannot create the schedules; retrying", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Second):
			}
		}
	}
}
