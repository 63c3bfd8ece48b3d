package webhook

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Waker wakes the workflow of an endpoint, or starts it if it is not running. workflows.Client implements it. Reset clears
// the breaker, after a change of the endpoint.
type Waker interface {
	WakeEndpoint(ctx context.Context, environment, endpoint string, reset bool) error
}

// FanOut turns events into deliveries and wakes the endpoints' workflows. It is safe for concurrent use.
type FanOut struct {
	store  *pg.Store
	clock  clock.Clock
	waker  Waker
	logger *slog.Logger
}

// NewFanOut returns a fan-out that uses the store, the clock, the waker and the log of d.
func NewFanOut(d Deps) *FanOut {
	return &FanOut{store: d.Store, clock: d.Clock, waker: d.Waker, logger: d.Log}
}

// wakeClaim is how long a process that wakes an endpoint's workflow keeps others from doing so too.
const wakeClaim = 2 * time.Second

// Handle is the outbox handler of the topic "event": it creates a delivery of the event for every endpoint that subscribed to
// its type, and wakes their workflows. It also creates those of earlier events of the same transaction that have none yet:
// rows of the outbox are handled concurrently and in no order, and an effect must not be due before its cause. It is safe to
// repeat.
func (f *FanOut) Handle(ctx context.Context, row models.Outbox) error {
	return f.fan(ctx, row.EnvironmentID, map[string]string{row.Ref: row.Trace})
}

// HandleTogether does the work of Handle for several rows, with the statements of one for each environment.
func (f *FanOut) HandleTogether(ctx context.Context, rows []models.Outbox) error {
	traces := map[string]map[string]string{}
	for _, row := range rows {
		if traces[row.EnvironmentID] == nil {
			traces[row.EnvironmentID] = map[string]string{}
		}
		traces[row.EnvironmentID][row.Ref] = row.Trace
	}
	for environment, those := range traces {
		if err := f.fan(ctx, environment, those); err != nil {
			return err
		}
	}
	return nil
}

// fan delivers events of one environment, whose traces it gets by their ids. Those that are missing are past their retention.
func (f *FanOut) fan(ctx context.Context, environment string, traces map[string]string) error {
	endpoints, err := enabledEndpoints(ctx, f.store.Q, environment)
	if err != nil || len(endpoints) == 0 {
		return err
	}
	rows, err := events.WithCauses(ctx, f.store.Q, environment, slices.Collect(maps.Keys(traces)), maxCauses)
	if err != nil {
		return err
	}
	shared := map[string]string{} // by the first event of a transaction, all of whose events have one trace
	for _, e := range rows {
		if trace, there := traces[e.ID]; there {
			shared[first(e)] = trace
		}
	}
	var owed []models.WebhookDelivery
	now, since := f.clock.Now(), map[string]*int64{}
	for _, e := range rows {
		there, err := f.after(ctx, endpoints, e, since)
		if err != nil {
			return err
		}
		owed = append(owed, deliveries(e, there, shared[first(e)], now)...)
	}
	if len(owed) == 0 {
		return nil
	}
	if err := insertDeliveries(ctx, f.store.Q, owed); err != nil {
		return err
	}
	return f.wake(ctx, environment, owed)
}

// after returns the endpoints that were there when an event happened: an endpoint does not receive what was before it, however late its
// row of the outbox is handled. A clock that is behind dates events too early, so the order of the log decides about those; since keeps what
// was read of it, by endpoint.
func (f *FanOut) after(ctx context.Context, endpoints []models.WebhookEndpoint, e models.Event, since map[string]*int64) (there []models.WebhookEndpoint, err error) {
	for _, p := range endpoints {
		if e.At.Before(p.CreatedAt) {
			created, read := since[p.ID]
			if !read {
				if created, err = loggedSince(ctx, f.store.Q, p); err != nil {
					return nil, err
				}
				since[p.ID] = created
			}
			if created == nil || e.Seq < *created {
				continue
			}
		}
		there = append(there, p)
	}
	return there, nil
}

// maxCauses is how many earlier events of the same transaction Handle includes. Transactions that write more (the revocation
// of a subject with many open proofs) write one cause followed by effects whose order does not matter.
const maxCauses = 8

// deliveries returns a delivery for each endpoint that subscribed to the event. An endpoint does not receive events about
// itself: it would learn that it fails after it has recovered. A delivery is due as of the time of its event, so that an
// endpoint's deliveries are sent in the order of the events and not of the fan-out.
func deliveries(e models.Event, endpoints []models.WebhookEndpoint, trace string, now time.Time) []models.WebhookDelivery {
	// Audit-only events are not delivered, nor those whose content was erased in the meantime.
	payload, err := events.Payload(e)
	if err != nil || !events.Type(e.Type).Public() || e.ErasedAt != nil {
		return nil
	}
	due := now
	if e.At.Before(now) {
		due = e.At
	}
	var out []models.WebhookDelivery
	for _, p := range endpoints {
		if payload["endpoint"] == p.ID || !events.Matches(p.Events, events.Type(e.Type)) {
			continue
		}
		out = append(out, models.WebhookDelivery{ID: ids.New(ids.Delivery), EnvironmentID: e.EnvironmentID, EndpointID: p.ID, EventID: e.ID, Type: e.Type,
			Status: models.DeliveryPending, NextAttemptAt: due, CreatedAt: now, Trace: trace})
	}
	return out
}

// wake wakes the workflows of endpoints that no Deliver is working on. It must run after the deliveries are committed: a
// Deliver that ends queries for new deliveries after it has released the endpoint, so one of the two sees the other. A failed
// wake-up is only logged: the deliveries are stored, and Sweep finds them.
func (f *FanOut) wake(ctx context.Context, environment string, owed []models.WebhookDelivery) error {
	var endpoints []string
	for _, d := range owed {
		if !slices.Contains(endpoints, d.EndpointID) {
			endpoints = append(endpoints, d.EndpointID)
		}
	}
	now := f.clock.Now()
	idle, err := claimWake(ctx, f.store.Q, endpoints, now, now.Add(wakeClaim))
	if err != nil {
		return err
	}
	for _, id := range idle {
		if err := f.waker.WakeEndpoint(ctx, environment, id, false); err != nil {
			f.logger.LogAttrs(ctx, slog.LevelWarn, "the workflow of a webhook endpoint could not be woken", slog.String("endpoint", id),
				slog.String("error", err.Error()))
		}
	}
	return nil
}

// overdueAfter is how late a delivery may be before Sweep wakes the workflow of its endpoint; also the interval of Run.
const overdueAfter = 3 * time.Second

// Sweep wakes the workflows of endpoints with overdue deliveries: the wake-up was lost, or an operator terminated the workflow
// run. It returns how many it woke.
func (f *FanOut) Sweep(ctx context.Context) (int, error) {
	now := f.clock.Now()
	late, err := overdueEndpoints(ctx, f.store.Q, now.Add(-overdueAfter))
	if err != nil {
		return 0, err
	}
	for i, e := range late {
		if err := f.waker.WakeEndpoint(ctx, e.EnvironmentID, e.ID, false); err != nil {
			return i, err
		}
	}
	return len(late), nil
}

// Run calls Sweep at intervals until ctx ends.
func (f *FanOut) Run(ctx context.Context) {
	tick := time.NewTicker(overdueAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := f.Sweep(ctx); err != nil && ctx.Err() == nil {
			f.logger.LogAttrs(ctx, slog.LevelWarn, "waking the webhook endpoints with overdue deliveries failed", slog.String("error", err.Error()))
		}
	}
}
