package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// settleEvery is the pause between two looks at whether every task queue knows a new routing, which takes some 100 ms. askAfter is when the
// task queues themselves are asked. settleWithin is longer than the pauses after which Temporal repeats what failed.
const (
	settleEvery  = 50 * time.Millisecond
	askAfter     = 5 * time.Second
	settleWithin = time.Minute
)

// settled waits until every task queue knows a change of the routing, unless it failed with err.
//
// Temporal counts the task queues that do not know it yet. A loaded server can lose count, and reports from then on that the change is in
// progress (github.com/temporalio/temporal/issues/11842): after askAfter it is enough that the task queues name the new routing. Of a queue
// with partitions the root responds; the others follow it within milliseconds.
func (r *Rollout) settled(ctx context.Context, err error) error {
	var unknown *serviceerror.NotFound
	var refused *serviceerror.FailedPrecondition
	if errors.As(err, &unknown) || errors.As(err, &refused) {
		return fmt.Errorf("%w (%w)", ErrNoBuild, err)
	}
	ask, give := time.After(askAfter), time.After(settleWithin)
	asking := false
	for err == nil {
		var info *deploymentpb.WorkerDeploymentInfo
		if info, err = r.describe(ctx); err != nil {
			break
		}
		if info.GetRoutingConfigUpdateState() != enums.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS {
			return nil
		}
		if asking {
			if known, err := r.known(ctx, info.GetRoutingConfig()); known || err != nil {
				return err
			}
		}
		select {
		case <-ask:
			asking = true
		case <-give:
			return ErrUnsettled
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleEvery):
		}
	}
	return err
}

// known reports whether the task queues of the builds that receive tasks know a routing. Without such a build there is none to ask.
func (r *Rollout) known(ctx context.Context, routing *deploymentpb.RoutingConfig) (bool, error) {
	asked := 0
	for _, build := range []string{routing.GetCurrentDeploymentVersion().GetBuildId(), routing.GetRampingDeploymentVersion().GetBuildId()} {
		if build == "" {
			continue
		}
		d, err := r.temporal.WorkflowService().DescribeWorkerDeploymentVersion(ctx, &workflowservice.DescribeWorkerDeploymentVersionRequest{
			Namespace: r.namespace, DeploymentVersion: &deploymentpb.WorkerDeploymentVersion{DeploymentName: r.deployment, BuildId: build},
		})
		if err != nil {
			return false, err
		}
		for _, queue := range d.GetVersionTaskQueues() {
			out, err := r.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
				Namespace: r.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue.GetName()}, TaskQueueType: queue.GetType(),
			})
			if err != nil || !follows(out.GetVersioningInfo(), routing) {
				return false, err
			}
			asked++
		}
	}
	return asked > 0, nil
}

// follows reports whether a task queue gives its tasks to the builds of a routing, in its shares.
func follows(queue *taskqueuepb.TaskQueueVersioningInfo, routing *deploymentpb.RoutingConfig) bool {
	return queue.GetCurrentDeploymentVersion().GetBuildId() == routing.GetCurrentDeploymentVersion().GetBuildId() &&
		queue.GetRampingDeploymentVersion().GetBuildId() == routing.GetRampingDeploymentVersion().GetBuildId() &&
		queue.GetRampingVersionPercentage() == routing.GetRampingVersionPercentage()
}
