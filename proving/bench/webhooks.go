package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// webhookLoads are measured in this order, each with further endpoints. One endpoint accepts connections and never responds: its
// deliveries must not delay the others'. Each decision causes one delivery for each endpoint, so that the number of requests is the
// product of both.
var webhookLoads = []struct {
	endpoints int
	rate      int // decisions a second
	p99       float64
}{
	{endpoints: 3, rate: 100, p99: 1500},
	{endpoints: 41, rate: 25, p99: 1500}, // 1,000 requests a second to those that respond
}

// webhooks measures the time from a decision to its first attempt at each of the endpoints that respond. Later attempts wait for
// the receiver, and are not the service's own latency.
func webhooks(ctx context.Context, b *bench) error {
	if err := harness.NewAction(ctx, b.sdk, "payment.allow", countersign.PolicyRequirements{CoverageMin: "none"}); err != nil {
		return err
	}
	all, err := b.people(ctx, subjects, false)
	if err != nil {
		return err
	}
	ask := newRequests("payment.allow", func(i int) string { return all[i%len(all)].subject })
	var good []*arrivals
	defer func() {
		for _, a := range good {
			a.close()
		}
	}()
	dead, err := b.endpoint(ctx, forever)
	if err != nil {
		return err
	}
	defer dead.close()
	for _, load := range webhookLoads {
		for len(good) < load.endpoints-1 {
			a, err := b.endpoint(ctx, 0)
			if err != nil {
				return err
			}
			good = append(good, a)
		}
		if err := b.warmEndpoints(ctx, ask, good); err != nil {
			return err
		}
		before := b.usage(ctx)
		decided := loadgen.Open(ctx, float64(load.rate), openClients, b.Lasts, func(context.Context, int) error { return b.allowed(ask.next()) })
		told := loadgen.Result{Elapsed: decided.Elapsed}
		for _, a := range good {
			if err := a.await(ctx, decided.Done()); err != nil {
				return err
			}
			told.Latencies = append(told.Latencies, a.latencies()...)
		}
		r := row("webhooks", "decision to first attempt", fmt.Sprintf("%d/s, %d endpoints, one dead", load.rate, load.endpoints), told, b.usage(ctx).since(before))
		r.Meanwhile = decided.Done()
		b.add(r)
		b.report.under(fmt.Sprintf("decision to first attempt: p99 at %d/s, %d endpoints", load.rate, load.endpoints), r.P99, load.p99, "ms")
		b.memory(fmt.Sprintf("webhooks, %d endpoints", load.endpoints), r)
	}
	return nil
}

// endpoint starts a receiver that takes a time to respond, and registers it for decisions.
func (b *bench) endpoint(ctx context.Context, takes time.Duration) (*arrivals, error) {
	admin, err := b.admin()
	if err != nil {
		return nil, err
	}
	a, err := newArrivals(takes)
	if err != nil {
		return nil, err
	}
	_, err = admin.CreateWebhookEndpoint(ctx, countersign.WebhookEndpointCreate{URL: a.url, Events: []string{"authorization.decided"}})
	return a, err
}

// admin makes a client with the admin key, which endpoints are created with.
func (b *bench) admin() (*countersign.Client, error) {
	return harness.NewSDK(b.rig.API.URL, b.tenant.Admin, patience)
}

// warmRate is in decisions a second.
const warmRate = 20

// warmEndpoints delivers some events and then analyzes the tables, as Postgres does by itself within minutes: without statistics it
// reads all deliveries to find those that are due.
func (b *bench) warmEndpoints(ctx context.Context, ask *requests, good []*arrivals) error {
	first := loadgen.Open(ctx, warmRate, openClients, 3*time.Second, func(context.Context, int) error { return b.allowed(ask.next()) })
	for _, a := range good {
		if err := a.await(ctx, first.Done()); err != nil {
			return err
		}
		a.forget()
	}
	return analyze(ctx, b.rig.DatabaseURL())
}

// arrivals is a receiver that records how long after its decision each
// event arrived first.
type arrivals struct {
	url    string
	server *http.Server
	takes  atomic.Int64 // ns until it responds
	mu     sync.Mutex
	first  map[string]time.Duration
	ended  chan struct{}
}

// forever is how long a receiver takes that never responds.
const forever = time.Hour

// newArrivals starts a receiver on a free port.
func newArrivals(takes time.Duration) (*arrivals, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &arrivals{url: "http://" + l.Addr().String() + "/", first: map[string]time.Duration{}, ended: make(chan struct{})}
	a.takes.Store(int64(takes))
	a.server = &http.Server{Handler: a, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = a.server.Serve(l) }()
	return a, nil
}

// close stops the receiver and releases silent requests.
func (a *arrivals) close() {
	close(a.ended)
	_ = a.server.Close()
}

// ServeHTTP receives an event and records the latency of its first attempt.
// Retries of the same event, known by its webhook-id, do not change it.
func (a *arrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	if takes := time.Duration(a.takes.Load()); takes > 0 {
		select {
		case <-a.ended:
		case <-r.Context().Done():
		case <-time.After(takes):
		}
	}
	var event struct{ Timestamp time.Time }
	if json.NewDecoder(r.Body).Decode(&event) == nil {
		a.mu.Lock()
		if id := r.Header.Get("webhook-id"); a.first[id] == 0 {
			a.first[id] = at.Sub(event.Timestamp)
		}
		a.mu.Unlock()
	}
	w.WriteHeader(http.StatusNoContent)
}

// await returns once n events have arrived, or an error after two minutes.
func (a *arrivals) await(ctx context.Context, n int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	give := time.After(2 * time.Minute)
	for {
		if got := len(a.latencies()); got >= n {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-give:
			return fmt.Errorf("of %d events %d came", n, len(a.latencies()))
		}
	}
}

// forget removes what has arrived.
func (a *arrivals) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.first = map[string]time.Duration{}
}

// latencies returns the latency of each event that arrived.
func (a *arrivals) latencies() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]time.Duration, 0, len(a.first))
	for _, d := range a.first {
		out = append(out, d)
	}
	return out
}
