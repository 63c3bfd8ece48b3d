package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// countingSender returns the result of the n-th batch, counted from 0, and counts the batches.
type countingSender struct {
	mu     sync.Mutex
	n      int
	answer func(n int) (webhook.DeliverResult, error)
}

func (s *countingSender) Deliver(context.Context, webhook.DeliverJob, func()) (webhook.DeliverResult, error) {
	s.mu.Lock()
	n := s.n
	s.n++
	s.mu.Unlock()
	return s.answer(n)
}

func (s *countingSender) batches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// endpointScenarios end with an endpoint that is gone: a run with nothing to do would wait for ten minutes.
func endpointScenarios() map[string]func() scenario {
	of := func(answer func(n int) (webhook.DeliverResult, error), drive func(t *testing.T, wake func(reset bool), batches func(n int))) func() scenario {
		return func() scenario {
			sender := &countingSender{answer: answer}
			return scenario{
				id: workflows.EndpointID("whe_1"), services: worker.Services{Endpoints: sender},
				drive: func(t *testing.T, c *workflows.Client) {
					drive(t, func(reset bool) { require.NoError(t, c.WakeEndpoint(t.Context(), "env_1", "whe_1", reset)) }, func(n int) {
						require.Eventually(t, func() bool { return sender.batches() >= n }, time.Minute, 10*time.Millisecond)
					})
				},
			}
		}
	}
	return map[string]func() scenario{
		"endpoint-woken-again": of(func(n int) (webhook.DeliverResult, error) {
			return webhook.DeliverResult{Gone: n == 2}, nil
		}, func(_ *testing.T, wake func(bool), batches func(int)) {
			for n := range 3 {
				wake(false)
				batches(n + 1)
			}
		}),
		"endpoint-retries-when-due": of(func(n int) (webhook.DeliverResult, error) {
			at := time.Now().Add(soon)
			return webhook.DeliverResult{Next: &at, Gone: n == 1}, nil
		}, func(_ *testing.T, wake func(bool), batches func(int)) {
			wake(false)
			batches(2)
		}),
		"endpoint-failing-then-reset": of(func(n int) (webhook.DeliverResult, error) {
			if n == 1 {
				return webhook.DeliverResult{Gone: true}, nil
			}
			at := time.Now().Add(distant)
			return webhook.DeliverResult{Next: &at, Breaker: webhook.Breaker{Open: true, ProbeAt: at, Backoff: distant, Failures: webhook.Threshold}}, nil
		}, func(_ *testing.T, wake func(bool), batches func(int)) {
			wake(false)
			batches(1)
			wake(false)
			wake(true)
			batches(2)
		}),
		"endpoint-through-an-outage": of(func(n int) (webhook.DeliverResult, error) {
			if n == 0 {
				return webhook.DeliverResult{}, errUnavailable
			}
			return webhook.DeliverResult{Gone: true}, nil
		}, func(_ *testing.T, wake func(bool), batches func(int)) {
			wake(false)
			batches(2)
		}),
	}
}
