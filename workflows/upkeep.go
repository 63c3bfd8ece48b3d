package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/activities"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
)

// NameUpkeep is the registered name of the workflow. Histories refer to it: never rename it.
const NameUpkeep = "upkeep"

// UpkeepID returns the id of the schedule of a task. Temporal appends the time to the ids of its workflows.
func UpkeepID(task string) string { return NameUpkeep + "/" + task }

// upkeepBatches is the maximum number of batches of one workflow run; the next scheduled run continues.
const upkeepBatches = 200

// UpkeepInput starts one run of a task. Fields are added, never changed.
type UpkeepInput struct {
	Task string
}

// UpkeepResult counts what one workflow run did.
type UpkeepResult struct {
	Done int
}

// Upkeep runs a task batch by batch until nothing is left to do.
func Upkeep(ctx workflow.Context, in UpkeepInput) (UpkeepResult, error) {
	var out UpkeepResult
	for range upkeepBatches {
		var batch activities.UpkeepProgress
		err := workflow.ExecuteActivity(slowStep(ctx, in.Task), activities.UpkeepRun,
			activities.UpkeepBatch{Task: in.Task, At: workflow.Now(ctx)}).Get(ctx, &batch)
		if err != nil {
			// The schedule starts the task again, so there is no need to retry forever here.
			return out, err
		}
		out.Done += batch.Done
		if !batch.More {
			break
		}
	}
	return out, upsertState(ctx, "done", "")
}

// EnsureSchedules creates a schedule for each task, or updates the one that exists. Any number of processes may call it at the
// same time.
func (c *Client) EnsureSchedules(ctx context.Context, tasks []upkeep.Task) error {
	if err := c.started(); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := c.ensureSchedule(ctx, t); err != nil {
			return fmt.Errorf("schedule %s: %w", UpkeepID(t.Name), err)
		}
	}
	return nil
}

// ensureSchedule creates or updates the schedule of one task.
func (c *Client) ensureSchedule(ctx context.Context, t upkeep.Task) error {
	spec := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: t.Every}}, Jitter: t.Every / 10}
	action := &client.ScheduleWorkflowAction{
		ID: UpkeepID(t.Name), Workflow: NameUpkeep, Args: []any{UpkeepInput{Task: t.Name}}, TaskQueue: TaskQueue,
		TypedSearchAttributes: temporal.NewSearchAttributes(AttributeKind.ValueSet(NameUpkeep), AttributeState.ValueSet("running")),
		StaticSummary:         t.About,
	}
	_, err := c.temporal.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: UpkeepID(t.Name), Spec: spec, Action: action,
		// After an outage a task runs once, however often it was missed.
		CatchupWindow: max(t.Every, time.Minute),
	})
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return err
	}
	return c.temporal.ScheduleClient().GetHandle(ctx, UpkeepID(t.Name)).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			s := in.Description.Schedule
			s.Spec, s.Action = &spec, action
			return &client.ScheduleUpdate{Schedule: &s}, nil
		},
	})
}
