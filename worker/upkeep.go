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

// KeepSchedules sees to it that each task has its schedule, trying until Temporal answers or ctx ends. It is one of a
// worker's background loops.
func KeepSchedules(c *workflows.Client, tasks []upkeep.Task, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		for {
			err := c.EnsureSchedules(ctx, tasks)
			if err == nil {
				return
			}
			log.DebugContext(ctx, "the schedules cannot be made; trying again", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Second):
			}
		}
	}
}
