package worker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/worker"
)

// webhooks is the webhook delivery of the service on a real Postgres and a real Temporal server.
type webhooks struct {
	*bundle
	endpoints *webhook.Endpoints
	fan       *webhook.FanOut
	deliverer *webhook.Deliverer
}

func setupWebhooks(t testing.TB) *webhooks {
	t.Helper()
	b := setup(t)
	keys, err := keyring.Parse(b.master)
	require.NoError(t, err)
	sender := webhook.NewSender(webhook.Policy{AllowLoopback: true})
	t.Cleanup(sender.Close)
	return newWebhooks(b, keys, sender)
}

func newWebhooks(b *bundle, keys *keyring.Keyring, sender *webhook.Sender) *webhooks {
	deps := webhook.Deps{
		Store: b.Store, Clock: clock.System(), Keyring: keys, Sender: sender, Waker: b.runs, Log: slog.New(slog.DiscardHandler),
	}
	return &webhooks{
		bundle: b, endpoints: webhook.NewEndpoints(deps), fan: webhook.NewFanOut(deps),
		deliverer: webhook.NewDeliverer(deps, webhook.DeliverOptions{}),
	}
}

// process runs worker.Run with the fan-out until stop is called or the test ends.
func (h *webhooks) process() (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx, h.deps()) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(h.t, <-ended)
	})
	h.t.Cleanup(stop)
	return stop
}

// deps are the dependencies of a worker with the fan-out.
func (h *webhooks) deps() worker.Deps {
	d := worker.Deps{
		Temporal: h.temporal, Services: h.services(), Log: slog.New(slog.DiscardHandler), Background: []func(context.Context){h.fan.Run},
		Relay: &outbox.Relay{Store: h.Store, Clock: clock.System(), Log: slog.New(slog.DiscardHandler),
			Lanes: []outbox.Lane{worker.EventLane(h.fan)}},
	}
	d.Services.Endpoints = h.deliverer
	return d
}

func (h *webhooks) endpoint(t testing.TB, url string) (id, secret string) {
	t.Helper()
	e, secret, err := h.endpoints.Create(t.Context(), h.Principal("crd_1"), change.Endpoint{URL: &url, Events: &[]string{"subject.*"}})
	require.NoError(t, err)
	return e.ID, secret
}

// logEvent appends an event in its own transaction and returns its id.
func (h *webhooks) logEvent(t testing.TB, n int) string {
	t.Helper()
	row, err := events.Row(events.Entry{Scope: h.Scope, Data: events.SubjectCreatedData{}, At: clock.System().Now(), Subject: fmt.Sprint(n),
		SubjectUID: "sub_1", Actor: "credential:crd_1"})
	require.NoError(t, err)
	require.NoError(t, h.Store.Write(t.Context(), func(q *pg.Q) error { return events.InsertEvent(t.Context(), q, row, true) }))
	h.Store.Wake(pg.ChannelOutbox, "")
	return row.ID
}

// receiver is a webhook receiver that records when each message first arrived and how often.
type receiver struct {
	url    string
	secret string
	mu     sync.Mutex
	status int
	first  map[string]time.Time
	count  map[string]int
	hold   chan struct{}
	broken error // the first signature that did not verify
}

func newReceiver(t testing.TB) *receiver {
	l := &receiver{status: http.StatusNoContent, first: map[string]time.Time{}, count: map[string]int{}}
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

func (l *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	id := r.Header.Get("webhook-id")
	if _, again := l.first[id]; !again {
		l.first[id] = now
	}
	l.count[id]++
	if l.secret != "" && l.broken == nil {
		wh, err := standardwebhooks.NewWebhook(l.secret)
		if err == nil {
			err = wh.Verify(body, r.Header)
		}
		l.broken = err
	}
	status, hold := l.status, l.hold
	l.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(status)
}

func (l *receiver) got() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.first)
}

func (l *receiver) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func TestWebhookEventsAreDelivered(t *testing.T) {
	t.Parallel()
	h := setupWebhooks(t)
	h.process()
	l := newReceiver(t)
	_, l.secret = h.endpoint(t, l.url)
	for i := range 20 {
		h.logEvent(t, i)
	}
	require.Eventually(t, func() bool { return l.got() == 20 }, patience, 10*time.Millisecond)
	h.eventually(t, 20, "select count(*) from webhook_deliveries where status = 'succeeded'")
	require.NoError(t, l.broken)
	h.logEvent(t, 20)
	require.Eventually(t, func() bool { return l.got() == 21 }, patience, 10*time.Millisecond, "an idle sender is woken")
}

// Events logged while no worker runs, and messages in flight when a worker stops, are delivered by the next worker.
func TestWorkerRestartLosesNoDelivery(t *testing.T) {
	t.Parallel()
	h := setupWebhooks(t)
	stop := h.process()
	l := newReceiver(t)
	l.hold = make(chan struct{})
	_, l.secret = h.endpoint(t, l.url)
	ids := map[string]bool{}
	for i := range 30 {
		ids[h.logEvent(t, i)] = true
	}
	require.Eventually(t, func() bool { return l.got() > 0 }, patience, 10*time.Millisecond)
	close(l.hold)
	stop()
	for i := range 30 {
		ids[h.logEvent(t, 100+i)] = true
	}
	h.process()
	require.Eventually(t, func() bool { return l.got() == len(ids) }, patience, 10*time.Millisecond)
	for id := range l.first {
		require.True(t, ids[id])
	}
	require.NoError(t, l.broken)
	h.eventually(t, len(ids), "select count(*) from webhook_deliveries where status = 'succeeded'")
}

func TestRecoveredEndpointReceivesEverything(t *testing.T) {
	t.Parallel()
	h := setupWebhooks(t)
	h.process()
	l := newReceiver(t)
	l.status = http.StatusInternalServerError
	id, _ := h.endpoint(t, l.url)
	for i := range 25 {
		h.logEvent(t, i)
	}
	h.eventually(t, 1, "select count(*) from events where type = 'webhook.failing'")
	l.set(func() { l.status = http.StatusOK })
	// The owner repairs the endpoint and updates it. Otherwise the next probe would succeed.
	_, err := h.endpoints.Update(t.Context(), h.Principal("crd_1"), id, change.Endpoint{})
	require.NoError(t, err)
	h.eventually(t, 25, "select count(*) from webhook_deliveries where status = 'succeeded'")
}

// BenchmarkFirstAttempt measures the time from an event to the arrival of its first delivery attempt: 100 events a second to
// three endpoints, one of which never responds. One iteration is one event.
func BenchmarkFirstAttempt(b *testing.B) {
	h := setupWebhooks(b)
	h.process()
	good := []*receiver{newReceiver(b), newReceiver(b)}
	dead := newReceiver(b)
	dead.hold = make(chan struct{})
	b.Cleanup(func() { close(dead.hold) })
	for _, l := range append(good, dead) {
		h.endpoint(b, l.url)
	}
	due := make(map[string]time.Time, b.N)
	var mu sync.Mutex
	var all sync.WaitGroup
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		at := <-tick.C
		all.Go(func() {
			id := h.logEvent(b, i)
			mu.Lock()
			due[id] = at
			mu.Unlock()
		})
	}
	all.Wait()
	for _, l := range good {
		require.Eventually(b, func() bool { return l.got() == b.N }, patience, 10*time.Millisecond)
	}
	b.StopTimer()
	var took []time.Duration
	for _, l := range good {
		for id, at := range l.first {
			took = append(took, at.Sub(due[id]))
		}
	}
	slices.Sort(took)
	b.Log(describe(took))
	b.ReportMetric(float64(percentile(took, .5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(percentile(took, .99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}
