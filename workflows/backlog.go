package workflows

import (
	"context"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/countersign-dev/countersign/internal/platform/durable"
)

// taskTypes are the types of tasks by name.
var taskTypes = map[string]enumspb.TaskQueueType{"workflow": enumspb.TASK_QUEUE_TYPE_WORKFLOW, "activity": enumspb.TASK_QUEUE_TYPE_ACTIVITY}

// Pollers returns the workers that Temporal has seen within the last minutes, by identity and kind of tasks.
func (c *Client) Pollers(ctx context.Context) ([]durable.Poller, error) {
	if err := c.started(); err != nil {
		return nil, err
	}
	var out []durable.Poller
	for name, kind := range taskTypes {
		described, err := c.temporal.DescribeTaskQueue(ctx, TaskQueue, kind)
		if err != nil {
			return nil, unavailable(err)
		}
		for _, p := range described.GetPollers() {
			out = append(out, durable.Poller{Identity: p.GetIdentity(), Kind: name, LastSeen: p.GetLastAccessTime().AsTime()})
		}
	}
	slices.SortFunc(out, func(a, b durable.Poller) int { return strings.Compare(a.Identity+a.Kind, b.Identity+b.Kind) })
	return out, nil
}

// QueueBacklog summarises the tasks that wait for a worker.
type QueueBacklog struct {
	Type   string        // workflow or activity
	Count  int64         // approximate number of tasks
	Oldest time.Duration // approximate age of the oldest task
}

// Backlog returns the backlog of the task queue, one item per type of task.
func (c *Client) Backlog(ctx context.Context) ([]QueueBacklog, error) {
	if err := c.started(); err != nil {
		return nil, err
	}
	var out []QueueBacklog
	for name, kind := range taskTypes {
		response, err := c.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: c.space, TaskQueue: &taskqueuepb.TaskQueue{Name: TaskQueue}, TaskQueueType: kind, ReportStats: true,
		})
		if err != nil {
			return nil, unavailable(err)
		}
		stats := response.GetStats()
		out = append(out, QueueBacklog{Type: name, Count: stats.GetApproximateBacklogCount(), Oldest: stats.GetApproximateBacklogAge().AsDuration()})
	}
	return out, nil
}
