package worker

import (
	"time"

	sdkworker "go.temporal.io/sdk/worker"
)

// Tuning is how much a worker process does at once.
type Tuning struct {
	WorkflowPollers int // long polls for workflow tasks, at least 2
	ActivityPollers int // long polls for activities
	Autoscale       bool
	WorkflowTasks   int // at once, at least 2
	LocalActivities int // at once: the steps of challenges and holds
	Activities      int // at once: most wait for a webhook receiver
	CachedRuns      int // waiting workflow runs in memory, at some 30 kB each; others are rebuilt from their history on their next event
}

// DefaultTuning returns the settings of a worker on half a core to two. A poller serves either the shared queue or the sticky one, so
// with the SDK's default of two an update waits while starts arrive in bursts; idle pollers cost next to nothing.
// BenchmarkCompletion, 20 completions and 20 starts a second on two busy cores: p99 76 and 119 ms, with the SDK's defaults 92 and
// 128 ms.
func DefaultTuning() Tuning {
	return Tuning{WorkflowPollers: 8, ActivityPollers: 4, WorkflowTasks: 64, LocalActivities: 64, Activities: 256, CachedRuns: 2000}
}

// Options returns the worker's options. The size of the cache is one of the process and not of a worker.
func (t Tuning) Options() sdkworker.Options {
	sdkworker.SetStickyWorkflowCacheSize(t.CachedRuns)
	o := sdkworker.Options{
		MaxConcurrentWorkflowTaskExecutionSize:  t.WorkflowTasks,
		MaxConcurrentLocalActivityExecutionSize: t.LocalActivities,
		MaxConcurrentActivityExecutionSize:      t.Activities,
		StickyScheduleToStartTimeout:            time.Second, // short, because the loss of a worker is noticed only after it
		WorkerStopTimeout:                       stopTimeout,
	}
	if t.Autoscale {
		o.WorkflowTaskPollerBehavior, o.ActivityTaskPollerBehavior = upTo(t.WorkflowPollers), upTo(t.ActivityPollers)
	} else {
		o.MaxConcurrentWorkflowTaskPollers, o.MaxConcurrentActivityTaskPollers = t.WorkflowPollers, t.ActivityPollers
	}
	return o
}

// upTo returns pollers whose number follows the load, from two to most.
func upTo(most int) sdkworker.PollerBehavior {
	return sdkworker.NewPollerBehaviorAutoscaling(sdkworker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: 2, MinimumNumberOfPollers: 2, MaximumNumberOfPollers: most,
	})
}
