package webhook

import (
	"context"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Waker tells an endpoint's workflow that there is something to do, starting it where it does not run. Reset asks it to
// forget what it knows of failures: the endpoint was changed or enabled.
type Waker interface {
	WakeEndpoint(ctx context.Context, environment, endpoint string, reset bool) error
}

// FanOut turns events into deliveries and wakes the endpoints' workflows. It is safe for concurrent use.
type FanOut struct {
	store  *store.Store
	clock  clock.Clock
	waker  Waker
	logger *slog.Logger
}

// NewFanOut returns a fan-out that uses the store, the clock, the waker and the log of d.
func NewFanOut(d Deps) *FanOut {
	return &FanOut{store: d.Store, clock: d.Clock, waker: d.Waker, logger: d.Log}
}

// wakeFor is how long a wake-up is given to have effect before somebody else tries.
const wakeClaim = 2 * time.Second

// Handle is the outbox handler of topic "event": it owes the event to every endpoint that subscribed to its type and wakes
// their senders. The events before it in the same transaction are owed with it, if they are not yet: rows of the outbox are
// handled at once and in no order, and a consequence must not be due before its cause. It is safe to repeat.
func (f *FanOut) Handle(ctx context.Context, row models.Outbox) error {
	rows, err := f.store.Events().WithCauses(ctx, row.EnvironmentID, row.Ref, maxCauses)
	if err != nil || len(rows) == 0 {
		return err // none: past its retention
	}
	endpoints, err := f.store.Endpoints().Listening(ctx, row.EnvironmentID)
	if err != nil {
		return err
	}
	var owed []models.WebhookDelivery
	now := f.clock.Now()
	for _, e := range rows {
		owed = append(owed, deliveries(e, endpoints, now)...)
	}
	if len(owed) == 0 {
		return nil
	}
	if err := f.store.Deliveries().Insert(ctx, owed); err != nil {
		return err
	}
	return f.wake(ctx, row.EnvironmentID, owed)
}

// causes bounds how many earlier events of the same transaction an event takes along. The transactions that write more
// (a revoked subject with many open proofs) write one cause first and then consequences of equal rank.
const maxCauses = 8

// deliveries makes one for each endpoint that hears of the event. An endpoint is not told how it fares itself: it would
// hear that it fails when it no longer does. It is due as of the event, so that an endpoint's deliveries are sent in the
// order of the events and not in that of the fan-out.
func deliveries(e models.Event, endpoints []models.WebhookEndpoint, now time.Time) []models.WebhookDelivery {
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
		out = append(out, models.WebhookDelivery{ID: ids.New(ids.Delivery), EndpointID: p.ID, EventID: e.ID, Type: e.Type,
			Status: models.DeliveryPending, NextAttemptAt: due, CreatedAt: now})
	}
	return out
}

// wake wakes the senders that are not at work. It reads who is only after the deliveries are committed: a sender that
// leaves looks for new deliveries after it has said so, hence one of the two sees the other. A wake-up that fails is no
// error, the deliveries are there and Sweep finds them.
func (f *FanOut) wake(ctx context.Context, environment string, owed []models.WebhookDelivery) error {
	endpoints := make([]string, len(owed))
	for i, d := range owed {
		endpoints[i] = d.EndpointID
	}
	now := f.clock.Now()
	idle, err := f.store.Endpoints().ClaimWake(ctx, endpoints, now, now.Add(wakeClaim))
	if err != nil {
		return err
	}
	for _, id := range idle {
		if err := f.waker.WakeEndpoint(ctx, environment, id, false); err != nil {
			f.logger.LogAttrs(ctx, slog.LevelWarn, "a webhook sender could not be woken", slog.String("endpoint", id),
				slog.String("error", err.Error()))
		}
	}
	return nil
}

// overdue is how late a delivery may be before Sweep wonders whether anybody will make it.
const overdueAfter = 3 * time.Second

// Sweep wakes the senders of endpoints whose deliveries are overdue: their wake-up was lost, or their run was ended by
// hand. It answers how many.
func (f *FanOut) Sweep(ctx context.Context) (int, error) {
	now := f.clock.Now()
	late, err := f.store.Endpoints().Overdue(ctx, now.Add(-overdueAfter))
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

// Run sweeps until ctx ends.
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
			f.logger.LogAttrs(ctx, slog.LevelWarn, "the sweep for overdue webhooks failed", slog.String("error", err.Error()))
		}
	}
}
