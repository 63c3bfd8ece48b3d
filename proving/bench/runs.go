package bench

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/internal/local/dev"
)

// bareQueue is the task queue of bare runs, and bareUpdate the name of the update that ends one.
const (
	bareQueue  = "bench-bare"
	bareUpdate = "end"
	// barePollers is the number of long polls of the service's own worker.
	barePollers = 8
)

// bareRuns are workflow runs that do nothing but what every challenge and hold needs of Temporal: they wait for one update, which runs one
// local activity, and end. What they take is Temporal's, its SDK's and its database's.
type bareRuns struct {
	temporal client.Client
	worker   worker.Worker
}

// newBareRuns starts a worker of bare runs in this process. The caller calls close.
func newBareRuns(ctx context.Context, address string) (*bareRuns, error) {
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler)) // errors are returned
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: dev.Namespace, Logger: quiet})
	if err != nil {
		return nil, err
	}
	r := &bareRuns{c, worker.New(c, bareQueue, worker.Options{MaxConcurrentWorkflowTaskPollers: barePollers})}
	r.worker.RegisterWorkflow(bareRun)
	if err := r.worker.Start(); err != nil {
		c.Close()
		return nil, err
	}
	return r, nil
}

func (r *bareRuns) close() {
	r.worker.Stop()
	r.temporal.Close()
}

// bareRun waits for its update.
func bareRun(ctx workflow.Context) error {
	ended := false
	err := workflow.SetUpdateHandler(ctx, bareUpdate, func(ctx workflow.Context) error {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute})
		defer func() { ended = true }()
		return workflow.ExecuteLocalActivity(ctx, bareActivity).Get(ctx, nil)
	})
	if err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return ended })
}

func bareActivity(context.Context) error { return nil }

// options are those of the i-th run.
func (r *bareRuns) options(i int) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: fmt.Sprintf("bench-bare-%d", i), TaskQueue: bareQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}
}

// open starts n runs and waits until each waits for its update.
func (r *bareRuns) open(ctx context.Context, n int) error {
	return parallel(ctx, n, func(i int) error {
		run, err := r.temporal.ExecuteWorkflow(ctx, r.options(i), bareRun)
		if err != nil {
			return err
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			about, err := r.temporal.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
			// Four events: the start, and a workflow task that was scheduled, started and completed.
			if err != nil || about.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength() >= 4 {
				return err
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

// end ends the i-th run as a challenge is completed: by an update that would also start it.
func (r *bareRuns) end(ctx context.Context, i int) error {
	handle, err := r.temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: r.temporal.NewWithStartWorkflowOperation(r.options(i), bareRun),
		UpdateOptions:          client.UpdateWorkflowOptions{UpdateName: bareUpdate, WaitForStage: client.WorkflowUpdateStageAccepted},
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}
