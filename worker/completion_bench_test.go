package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/worker"
)

// benchRate is the number of completions requested per second, independent of the responses (open loop).
const benchRate = 20

// BenchmarkCompletion measures the time from a completion request to its receipt: the request row, the update through Temporal,
// the transaction and the receipt. The workflows are already running, as they are when a user responds.
func BenchmarkCompletion(b *testing.B) {
	for _, x := range []struct {
		name string
		tune func(t *worker.Tuning)
	}{
		{"default", func(*worker.Tuning) {}},
		{"pollers=2", func(t *worker.Tuning) { t.WorkflowPollers, t.ActivityPollers = 2, 2 }},
		{"pollers=auto", func(t *worker.Tuning) { t.Autoscale = true }},
		{"slots=4", func(t *worker.Tuning) { t.WorkflowTasks, t.LocalActivities = 4, 4 }},
		{"cached=0", func(t *worker.Tuning) { t.CachedRuns = 0 }},
	} {
		b.Run(x.name, func(b *testing.B) {
			tuning := worker.DefaultTuning()
			x.tune(&tuning)
			benchmarkCompletion(b, tuning.Options())
		})
	}
}

func benchmarkCompletion(b *testing.B, options sdkworker.Options) {
	s := setup(b)
	s.runProcess(func(d *worker.Deps) { d.Options = options })
	challenges := make([]challenge.WorkflowInput, b.N)
	for i := range challenges {
		c := s.Challenge(time.Hour, "sandbox_confirm")
		run, _, err := s.challenges.WorkflowInput(b.Context(), c.EnvironmentID, c.ID)
		require.NoError(b, err)
		require.NoError(b, s.runs.StartChallenge(b.Context(), run))
		challenges[i] = run
	}
	took := make([]time.Duration, b.N)
	stopStarts := startContinuously(b, s)
	defer stopStarts()
	b.ResetTimer()
	tick := time.NewTicker(time.Second / benchRate)
	defer tick.Stop()
	var all sync.WaitGroup
	for i, run := range challenges {
		due := <-tick.C
		all.Go(func() {
			p, err := s.challenges.PrepareCompletion(b.Context(), s.Principal("crd_1"), run.Challenge, challenge.MethodSandboxConfirm, nil)
			require.NoError(b, err)
			_, err = s.runs.CompleteChallenge(b.Context(), p.Workflow, p.Request)
			require.NoError(b, err)
			_, err = s.challenges.Receipt(b.Context(), s.Scope, run.Challenge, p.Request)
			require.NoError(b, err)
			took[i] = time.Since(due)
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.Log(describe(took))
	b.ReportMetric(float64(percentile(took, .5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(percentile(took, .99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}

// startContinuously starts workflows at benchRate, as authorize does, until stop is called.
func startContinuously(b *testing.B, s *bundle) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(time.Second / benchRate)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			c := s.Challenge(time.Hour, "sandbox_confirm")
			run, _, err := s.challenges.WorkflowInput(b.Context(), c.EnvironmentID, c.ID)
			require.NoError(b, err)
			require.NoError(b, s.runs.StartChallenge(b.Context(), run))
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}
