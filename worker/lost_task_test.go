package worker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

// A worker that stops finishes every task that it has received. A task that it dropped would delay its review until it times out.
func TestStoppingWorkersFailNoReview(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startWorker()
	var reviewed atomic.Int64
	ctx, end := context.WithCancel(t.Context())
	var reviewers sync.WaitGroup
	for range 4 {
		reviewers.Go(func() {
			for ctx.Err() == nil {
				h := b.Hold(time.Hour, 2)
				for _, credential := range []string{"crd_ann", "crd_bob"} {
					p := b.review(t, h, credential, hold.Approve)
					if _, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request); err != nil {
						t.Errorf("review by %s: %v", credential, err)
					}
					reviewed.Add(1)
				}
			}
		})
	}
	for range 30 {
		stop := b.startWorker()
		enough := reviewed.Load() + 12
		require.Eventually(t, func() bool { return reviewed.Load() >= enough }, patience, 5*time.Millisecond)
		stop()
	}
	end()
	reviewers.Wait()
}

// A worker that receives a task and is never heard of again delays a review, and does not fail it.
func TestReviewOutlivesAWorkerThatIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.Hold(time.Hour, 1)
	p := b.review(t, h, "crd_ann", hold.Approve)
	type result struct {
		status models.HoldStatus
		err    error
	}
	reviewed := make(chan result, 1)
	go func() {
		out, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
		reviewed <- result{out.Status, err}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience) // the SDK requires a deadline
	defer cancel()
	_, err := b.temporal.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: b.namespace, Identity: "lost",
		TaskQueue: &taskqueue.TaskQueue{Name: workflows.TaskQueue, Kind: enums.TASK_QUEUE_KIND_NORMAL},
	})
	require.NoError(t, err)
	b.startWorker()
	require.Equal(t, result{status: models.HoldApproved}, <-reviewed)
}
