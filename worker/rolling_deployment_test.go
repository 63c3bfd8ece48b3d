package worker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// flagOfNewerCode is recorded by the newer code of these tests, as TemporalChangeVersion names it.
const flagOfNewerCode = "review-noted-1"

// newerCode makes a worker run workflow code with one flag more than the product's: whenever it receives an update, it records the flag.
type newerCode struct {
	interceptor.WorkerInterceptorBase
}

func (*newerCode) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &newerInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type newerInbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *newerInbound) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	workflow.GetVersion(ctx, strings.TrimSuffix(flagOfNewerCode, "-1"), workflow.DefaultVersion, 1)
	return i.Next.ExecuteUpdate(ctx, in)
}

// startNewerWorker starts a worker with the newer workflow code.
func (b *bundle) startNewerWorker(t *testing.T) {
	t.Helper()
	options := worker.DefaultTuning().Options()
	options.Interceptors = append(options.Interceptors, &newerCode{})
	w := worker.New(worker.Deps{Temporal: b.temporal, Services: b.services(), Options: options})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// startOlderWorker starts a worker with the product's workflow code.
func (b *bundle) startOlderWorker(t *testing.T) (stop func()) {
	t.Helper()
	w := worker.New(worker.Deps{Temporal: b.temporal, Services: b.services(), Options: worker.DefaultTuning().Options()})
	require.NoError(t, w.Start())
	return w.Stop
}

// flagsOf returns the flags that a hold's workflow recorded.
func (b *bundle) flagsOf(t *testing.T, h models.Hold) []string {
	t.Helper()
	d, err := b.temporal.DescribeWorkflow(t.Context(), workflows.HoldID(h.AuthorizationID), "")
	require.NoError(t, err)
	flags, _ := d.TypedSearchAttributes.GetKeywordList(temporal.NewSearchAttributeKeyKeywordList("TemporalChangeVersion"))
	return flags
}

// stateOf returns the state search attribute of a hold's workflow.
func (b *bundle) stateOf(t *testing.T, h models.Hold) string {
	t.Helper()
	d, err := b.temporal.DescribeWorkflow(t.Context(), workflows.HoldID(h.AuthorizationID), "")
	require.NoError(t, err)
	state, _ := d.TypedSearchAttributes.GetKeyword(workflows.AttributeState)
	return state
}

// A pending hold survives a deployment with changed workflow code. Its workflow keeps its history of the older code and continues
// with the new code. A new hold uses the new code from the start.
func TestHoldSurvivesAWorkflowCodeChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, fresh := b.Hold(time.Hour, 2), b.Hold(time.Hour, 2)
	review := func(h models.Hold, reviewer string) string {
		p := b.review(t, h, reviewer, hold.Approve)
		var status string
		require.Eventually(t, func() bool {
			out, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
			status = string(out.Status)
			return err == nil
		}, patience, 50*time.Millisecond)
		return status
	}
	stop := b.startOlderWorker(t)
	require.Equal(t, "pending", review(old, "crd_ann"))
	require.Empty(t, b.flagsOf(t, old))
	stop()

	sdkworker.PurgeStickyWorkflowCache()
	b.startNewerWorker(t)
	require.Equal(t, "pending", review(fresh, "crd_ann"))
	require.Equal(t, []string{flagOfNewerCode}, b.flagsOf(t, fresh))
	require.Equal(t, "approved", review(old, "crd_bob"), "the workflow was rebuilt from the older code's history")
	require.Equal(t, "approved", review(fresh, "crd_bob"))
	for _, h := range []models.Hold{old, fresh} {
		require.Eventually(t, func() bool { return b.stateOf(t, h) == "approved" }, patience, 50*time.Millisecond)
	}
	require.Equal(t, 2, b.Events("hold.approved"))
}

// During a rolling deployment workers of both versions take tasks from the same queue. Each hold resolves once.
func TestHoldResolvesOnceDuringARollingDeployment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.startOlderWorker(t)
	t.Cleanup(stop)
	b.startNewerWorker(t)
	holds := make([]models.Hold, 4)
	for i := range holds {
		holds[i] = b.Hold(time.Hour, 2)
	}
	for _, reviewer := range []string{"crd_ann", "crd_bob"} {
		for _, h := range holds {
			p := b.review(t, h, reviewer, hold.Approve)
			require.Eventually(t, func() bool {
				_, err := b.runs.ReviewHold(t.Context(), p.Workflow, p.Resolution, p.Request)
				return err == nil
			}, 2*patience, 50*time.Millisecond)
		}
	}
	require.Equal(t, len(holds), b.Events("hold.approved"))
	require.Equal(t, len(holds), b.Count("select count(*) from authorizations where parent_id is not null"))
}
