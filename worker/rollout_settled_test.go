package worker_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/countersign-dev/countersign/workflows/rollout"
)

// lostCount is a client of a Temporal server that lost count of the task queues that know a routing: each change stays in progress. Its
// first descriptions of task queues are without a routing, as if they were slow to receive it.
type lostCount struct {
	client.Client
	service *lostCountService
}

func (l lostCount) WorkflowService() workflowservice.WorkflowServiceClient { return l.service }

type lostCountService struct {
	workflowservice.WorkflowServiceClient
	slow  int64
	asked atomic.Int64
}

func (l *lostCountService) DescribeWorkerDeployment(
	ctx context.Context, in *workflowservice.DescribeWorkerDeploymentRequest, o ...grpc.CallOption,
) (*workflowservice.DescribeWorkerDeploymentResponse, error) {
	out, err := l.WorkflowServiceClient.DescribeWorkerDeployment(ctx, in, o...)
	if info := out.GetWorkerDeploymentInfo(); info != nil {
		info.RoutingConfigUpdateState = enums.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS
	}
	return out, err
}

func (l *lostCountService) DescribeTaskQueue(
	ctx context.Context, in *workflowservice.DescribeTaskQueueRequest, o ...grpc.CallOption,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	out, err := l.WorkflowServiceClient.DescribeTaskQueue(ctx, in, o...)
	if l.asked.Add(1) <= l.slow {
		out = nil
	}
	return out, err
}

func TestRolloutOnAServerThatLostCount(t *testing.T) {
	t.Parallel()
	b, _ := rollouts(t)
	b.startBuild(t, newBuild)
	lost := &lostCountService{WorkflowServiceClient: b.temporal.WorkflowService(), slow: 3}
	r := rollout.New(lostCount{Client: b.temporal, service: lost}, b.namespace, "countersign")
	b.route(t, func() error { return r.Ramp(t.Context(), newBuild, 25) })
	require.Greater(t, lost.asked.Load(), lost.slow)
	require.NoError(t, r.SetCurrent(t.Context(), newBuild))
	_, err := r.Rollback(t.Context(), newBuild)
	require.NoError(t, err)
	s, err := r.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, oldBuild, s.Current)
}
