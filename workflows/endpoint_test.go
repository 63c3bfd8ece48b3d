package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// scriptedSender returns one result per batch from a script, the last line for ever, and notes when and with what
// breaker it was called.
type scriptedSender struct {
	env    *testsuite.TestWorkflowEnvironment
	script []func(now time.Time) (webhook.DeliverResult, error)
	calls  []time.Duration // since the start
	open   []bool
}

func (s *scriptedSender) Deliver(_ context.Context, job webhook.DeliverJob, beat func()) (webhook.DeliverResult, error) {
	beat()
	now := s.env.Now()
	n := min(len(s.calls), len(s.script)-1)
	s.calls = append(s.calls, now.Sub(start).Round(time.Second))
	s.open = append(s.open, job.Breaker.Open)
	return s.script[n](now)
}

func nothing(time.Time) (webhook.DeliverResult, error) { return webhook.DeliverResult{}, nil }
func gone(time.Time) (webhook.DeliverResult, error)    { return webhook.DeliverResult{Gone: true}, nil }

func dueIn(d time.Duration) func(time.Time) (webhook.DeliverResult, error) {
	return func(now time.Time) (webhook.DeliverResult, error) {
		at := now.Add(d)
		return webhook.DeliverResult{Next: &at}, nil
	}
}

func brokenFor(d time.Duration) func(time.Time) (webhook.DeliverResult, error) {
	return func(now time.Time) (webhook.DeliverResult, error) {
		at := now.Add(d)
		return webhook.DeliverResult{Next: &at, Breaker: webhook.Breaker{Open: true, ProbeAt: at, Backoff: d, Failures: 5}}, nil
	}
}

func runEndpoint(t *testing.T, script ...func(time.Time) (webhook.DeliverResult, error)) (*scriptedSender, *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	sender := &scriptedSender{script: script}
	env := environment(t, worker.Services{Endpoints: sender})
	sender.env = env
	return sender, env
}

func wake(env *testsuite.TestWorkflowEnvironment, after time.Duration, reset bool) {
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalWake, workflows.EndpointWake{Reset: reset}) }, after)
}

var endpointInput = workflows.EndpointInput{Endpoint: "whe_1", Environment: "env_1"}

func TestEndpointSendsWhenDueAndWhenSignaled(t *testing.T) {
	t.Parallel()
	sender, env := runEndpoint(t, dueIn(5*time.Minute), nothing, nothing, nothing)
	wake(env, 6*time.Minute, false)
	env.ExecuteWorkflow(workflows.NameEndpoint, endpointInput)
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError(), "with nothing owed for a while the run ends")
	require.Equal(t, []time.Duration{0, 5 * time.Minute, 6 * time.Minute}, sender.calls)
}

// A clock that was ahead may have set the time of the next delivery: the database is asked again in between.
func TestEndpointLooksForDeliveriesBeforeADistantTime(t *testing.T) {
	t.Parallel()
	sender, env := runEndpoint(t, dueIn(3*time.Hour), nothing)
	env.ExecuteWorkflow(workflows.NameEndpoint, endpointInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []time.Duration{0, 15 * time.Minute}, sender.calls)
}

func TestEndpointDeletedEndsTheWorkflow(t *testing.T) {
	t.Parallel()
	sender, env := runEndpoint(t, gone)
	env.ExecuteWorkflow(workflows.NameEndpoint, endpointInput)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, sender.calls, 1)
}

func TestEndpointWithOpenBreakerWaitsForProbe(t *testing.T) {
	t.Parallel()
	sender, env := runEndpoint(t, brokenFor(5*time.Minute), nothing)
	for i := range 20 {
		wake(env, time.Duration(i+1)*time.Second, false)
	}
	env.ExecuteWorkflow(workflows.NameEndpoint, endpointInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []time.Duration{0, 5 * time.Minute}, sender.calls)
	require.Equal(t, []bool{false, true}, sender.open, "the breaker goes with the next batch")
}

func TestEndpointResetClosesBreakerAndSends(t *testing.T) {
	t.Parallel()
	sender, env := runEndpoint(t, brokenFor(5*time.Minute), nothing)
	wake(env, time.Second, false)
	wake(env, 30*time.Second, true)
	env.ExecuteWorkflow(workflows.NameEndpoint, endpointInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []time.Duration{0, 30 * time.Second}, sender.calls)
	require.Equal(t, []bool{false, false}, sender.open)
}

func TestEndpointRetriesDatabaseFaults(t *testing.T) {
	t.Parallel()
	fault := func(time.Time) (webhook.DeliverResult, error) {
		return webhook.DeliverResult{}, errors.New("connection refused")
	}
	sender, env := runEndpoint(t, fault, fault, fault, nothing)
	env.ExecuteWorkflow(workflows.NameEndpoint, endpointInput)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, sender.calls, 4)
}

func TestEndpointContinuesAsNewWithItsBreaker(t *testing.T) {
	t.Parallel()
	sender, env := runEndpoint(t, brokenFor(time.Minute))
	env.ExecuteWorkflow(workflows.NameEndpoint, endpointInput)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Equal(t, workflows.NameEndpoint, next.WorkflowType.Name)
	require.Len(t, sender.calls, 500)
}

func TestEndpointIDNamesTheRecord(t *testing.T) {
	t.Parallel()
	require.Equal(t, "endpoint/whe_1", workflows.EndpointID("whe_1"))
}
