package workflows

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// QueueBacklog is what waits on the task queue for a worker.
type QueueBacklog struct {
	Type   string // workflow or activity
	Count  int64  // tasks, about
	Oldest time.Duration
}

// Backlog asks Temporal how much waits for the workers.
func (c *Client) Backlog(ctx context.Context) ([]QueueBacklog, error) {
	var out []QueueBacklog
	for name, kind := range map[string]enumspb.TaskQueueType{
		"workflow": enumspb.TASK_QUEUE_TYPE_WORKFLOW, "activity": enumspb.TASK_QUEUE_TYPE_ACTIVITY,
	} {
		answer, err := c.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: c.space, TaskQueue: &taskqueuepb.TaskQueue{Name: TaskQueue}, TaskQueueType: kind, ReportStats: true,
		})
		if err != nil {
			return nil, unavailable(err)
		}
		stats := answer.GetStats()
		out = append(out, QueueBacklog{Type: name, Count: stats.GetApproximateBacklogCount(), Oldest: stats.GetApproximateBacklogAge().AsDuration()})
	}
	return out, nil
}
