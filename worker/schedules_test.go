package worker_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// A starting worker creates the schedules, another updates them, and a schedule runs its task.
func TestSchedulesRunTheirTasks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var done atomic.Int64
	task := upkeep.Task{Name: "count", Every: time.Hour, About: "Count", Do: func(context.Context, time.Time, string) (int, bool, error) {
		done.Add(1)
		return 1, false, nil
	}}
	service, err := upkeep.New(task)
	require.NoError(t, err)
	b.runProcess(func(d *worker.Deps) {
		d.Services.Upkeep = service
		d.Background = append(d.Background, worker.KeepSchedules(b.runs, service.Tasks(), slog.New(slog.DiscardHandler)))
	})
	require.Eventually(t, func() bool {
		_, err := b.temporal.ScheduleClient().GetHandle(t.Context(), workflows.UpkeepID("count")).Describe(t.Context())
		return err == nil
	}, patience, 20*time.Millisecond)
	task.Every = time.Second
	require.NoError(t, b.runs.EnsureSchedules(t.Context(), []upkeep.Task{task}))
	require.Eventually(t, func() bool { return done.Load() > 1 }, patience, 20*time.Millisecond, "every second, not every hour")
}
