package worker_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// TestWebhookWorkerProcess is the worker process that TestKilledWorkerLosesNoDelivery starts and kills.
func TestWebhookWorkerProcess(t *testing.T) {
	c := connected(t)
	b := &bundle{t: t, World: c.world, temporal: c.temporal, runs: workflows.NewClient(c.temporal, c.Namespace)}
	h := newWebhooks(b, c.keys, webhook.NewSender(webhook.Policy{AllowLoopback: true}))
	require.NoError(t, worker.Run(t.Context(), h.deps())) // until it is killed
}

// If a worker is killed in the middle of a batch, its deliveries are unrecorded. The next worker sends them again, each with the
// same id and body.
func TestKilledWorkerLosesNoDelivery(t *testing.T) {
	t.Parallel()
	h := setupWebhooks(t)
	cut := make(chan struct{})
	r := newFaultyReceiver(t, func(_ http.ResponseWriter, n int) bool {
		if n == 0 {
			<-cut // a response that arrives after the worker was killed
		}
		return n > 0
	})
	release := sync.OnceFunc(func() { close(cut) })
	t.Cleanup(release)
	h.endpoint(t, r.url)
	first, _ := h.bundle.process(t, "TestWebhookWorkerProcess", false)
	var ids []string
	for i := range 6 {
		ids = append(ids, h.logEvent(t, i))
	}
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.tries) == len(ids)
	}, 2*patience, patience/1000, "the batch is in flight")
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	release()

	h.process()
	require.Eventually(t, func() bool { return r.got(ids) }, 3*patience, patience/1000)
	h.eventually(t, len(ids), "select count(*) from webhook_deliveries where status = 'succeeded'")
	require.False(t, r.changed)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		require.GreaterOrEqual(t, r.tries[id], 2)
	}
}
