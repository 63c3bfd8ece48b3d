package webhook

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// failed reports whether an attempt did not succeed.
func failed(res finishedAttempt) bool { return !res.outcome.Succeeded }

// recordWithin limits the time to record results, which ctx does not.
const recordWithin = 5 * time.Second

// record stores the results of some attempts in one transaction: the attempts, the new state of their deliveries, and the
// consequences for the endpoint. It returns errGone if the endpoint was disabled. It continues after ctx has ended because the worker
// stops: what a receiver got would otherwise be sent again.
func (r *deliverState) record(ctx context.Context, results []finishedAttempt) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	for _, res := range results {
		delete(r.underWay, res.delivery.ID)
	}
	results = slices.DeleteFunc(results, func(res finishedAttempt) bool { return res.dropped })
	attempts := make([]Attempted, len(results))
	for i, res := range results {
		attempts[i] = r.attempted(res)
	}
	var now condition
	err := r.store.Write(ctx, func(q *pg.Q) error {
		now = condition{breaker: r.breaker, failingSince: r.endpoint.FailingSince}
		if err := recordAttempts(ctx, q, attempts); err != nil {
			return err
		}
		well := false // the endpoint is known not to be failing
		for _, res := range results {
			if now.gone {
				break // the endpoint is disabled
			}
			var err error
			if !well || !res.outcome.Succeeded {
				now, err = r.concludeEndpoint(ctx, q, now, res)
			}
			if err != nil {
				return err
			}
			well = res.outcome.Succeeded
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.breaker, r.endpoint.FailingSince = now.breaker, now.failingSince
	if now.gone {
		return errGone
	}
	return nil
}

// condition is the state that an endpoint's results have led to.
type condition struct {
	breaker      Breaker
	failingSince *time.Time // as stored
	gone         bool
}

// attempted returns what is stored of an attempt: its result, and the state and next attempt of its delivery.
func (r *deliverState) attempted(res finishedAttempt) Attempted {
	o, n := res.outcome, res.delivery.Attempts+1
	status, next := models.DeliverySucceeded, (*time.Time)(nil)
	switch {
	case o.Succeeded:
	case res.earlyProbe() && !o.Abort:
		// A probe with a delivery that was not yet due does not count as one of its attempts.
		n, status = res.delivery.Attempts, models.DeliveryPending
	default:
		status = models.DeliveryFailed
		if at, final := nextTry(n, o, r.clock.Now(), jitter()); !final {
			status, next = models.DeliveryPending, &at
		}
	}
	return Attempted{Status: status, Next: next, WebhookAttempt: attemptOf(res.delivery.WebhookDelivery, o, n, res.at)}
}

// attemptOf returns the row of the n-th attempt of a delivery.
func attemptOf(d models.WebhookDelivery, o AttemptResult, n int, at time.Time) models.WebhookAttempt {
	return models.WebhookAttempt{
		ID: ids.New(ids.Delivery), EnvironmentID: d.EnvironmentID, DeliveryID: d.ID, EndpointID: d.EndpointID, EventID: d.EventID,
		Type: d.Type, Attempt: n, At: at, StatusCode: optional(o.StatusCode), LatencyMS: int(o.Latency.Milliseconds()),
		ResponseDigest: optional(o.Digest), Error: optional(o.Error), Succeeded: o.Succeeded,
	}
}

// concludeEndpoint applies one result to the breaker and the endpoint: a success after failures closes the breaker and
// hastens the pending deliveries, a 410 or DisableAfter of failures disables the endpoint. The endpoint is written only when its
// condition changes: every server has its table, which is locked for that.
func (r *deliverState) concludeEndpoint(ctx context.Context, q *pg.Q, c condition, res finishedAttempt) (condition, error) {
	now := r.clock.Now()
	var change Change
	c.breaker, change = c.breaker.Observe(res.outcome, now, jitter())
	if res.outcome.Succeeded {
		if c.failingSince != nil {
			if err := recordSuccess(ctx, q, r.job.Endpoint); err != nil {
				return c, err
			}
			c.failingSince = nil
		}
		if change != Closed {
			return c, nil
		}
		if err := makeDeliveriesDue(ctx, q, r.endpoint, now); err != nil {
			return c, err
		}
		return c, r.appendEvent(ctx, q, now, events.WebhookRecoveredData{Endpoint: r.job.Endpoint, Reason: "probe_succeeded"})
	}
	if c.failingSince == nil || res.at.Before(*c.failingSince) {
		since, err := recordFailure(ctx, q, r.job.Endpoint, res.at)
		if err != nil {
			return c, err
		}
		c.failingSince = &since
	}
	since := *c.failingSince
	if res.outcome.Gone || now.Sub(since) >= DisableAfter {
		reason := "failing"
		if res.outcome.Gone {
			reason = "gone"
		}
		c.gone = true
		return c, r.disable(ctx, q, reason, since, now)
	}
	if change == Opened {
		return c, r.appendEvent(ctx, q, now, events.WebhookFailingData{
			Endpoint: r.job.Endpoint, Reason: res.outcome.Error, FailingSince: apitime.Time(since), Failures: &c.breaker.Failures,
		})
	}
	return c, nil
}

// disable disables the endpoint and records webhook.disabled, unless it is disabled already.
func (r *deliverState) disable(ctx context.Context, q *pg.Q, reason string, since, now time.Time) error {
	disabled, err := disableEndpoint(ctx, q, r.endpoint, reason, now)
	if err != nil || !disabled {
		return err
	}
	return r.appendEvent(ctx, q, now, events.WebhookDisabledData{Endpoint: r.job.Endpoint, Reason: reason, FailingSince: apitime.Time(since)})
}

// appendEvent appends an event about the endpoint's health to the environment's log, and so to the environment's other endpoints.
func (r *deliverState) appendEvent(ctx context.Context, q *pg.Q, now time.Time, data events.Data) error {
	return events.Append(ctx, q, events.Entry{
		Scope: pg.Scope{Tenant: r.endpoint.TenantID, Environment: r.endpoint.EnvironmentID}, At: now,
		Actor: "workflow:" + r.job.Workflow, WorkflowID: r.job.Workflow, Data: data,
	})
}

// collect returns the first result with all others that have arrived, so that one transaction records them.
func (r *deliverState) collect(first finishedAttempt) []finishedAttempt {
	out := []finishedAttempt{first}
	for {
		select {
		case next := <-r.results:
			out = append(out, next)
		default:
			return out
		}
	}
}

// drain waits for the requests under way and records them, even after ctx has ended because the worker stops. Their own
// deadlines limit the wait.
func (r *deliverState) drain(ctx context.Context, beat func()) {
	for len(r.underWay) > 0 {
		select {
		case res := <-r.results:
			r.recordLast(ctx, res)
		case <-time.After(time.Second):
			beat()
		}
	}
}

// recordLast records a result while the process shuts down. A failure is logged only: the delivery stays pending and is sent
// again with the same webhook-id.
func (r *deliverState) recordLast(ctx context.Context, res finishedAttempt) {
	if err := r.record(ctx, []finishedAttempt{res}); err != nil && !errors.Is(err, errGone) {
		r.logger.LogAttrs(ctx, slog.LevelWarn, "a webhook attempt was not recorded and will be repeated",
			slog.String("endpoint", r.job.Endpoint), slog.String("error", err.Error()))
	}
}

// optional returns a pointer to v, or nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
