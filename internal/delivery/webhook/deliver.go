package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/tracing"
	"github.com/countersign-dev/countersign/models"
)

// concurrency is the maximum number of concurrent requests to one endpoint.
const concurrency = 8

// readAhead is the number of due deliveries that one query reads.
const readAhead = 64

// Observer receives every attempt, for metrics. It must return at once.
type Observer interface {
	// Attempted reports one attempt: whether it was the first of a delivery that no open breaker delayed, how long after the
	// event it began, and its result. Only first attempts measure our own latency: later ones wait for the receiver.
	Attempted(first bool, since time.Duration, o AttemptResult)
}

// DeliverOptions tune a Deliverer. The zero value has the defaults.
type DeliverOptions struct {
	Observer Observer      // nil observes nothing
	Linger   time.Duration // how long Deliver waits for more when nothing is due; default 1 s
	Poll     time.Duration // how often Deliver queries for due deliveries meanwhile; default 50 ms
}

// Deliverer sends the due deliveries of one endpoint per call. It has no state between calls: the caller stores the DeliverJob.
type Deliverer struct {
	store    *pg.Store
	clock    clock.Clock
	keyring  *keyring.Keyring
	sender   *Sender
	logger   *slog.Logger
	observer Observer // may be nil
	tracer   trace.Tracer

	budget, linger, poll time.Duration // budget is how long one Deliver may take
}

// NewDeliverer returns a deliverer. It uses every dependency but the waker.
func NewDeliverer(d Deps, o DeliverOptions) *Deliverer {
	return &Deliverer{
		store: d.Store, clock: d.Clock, keyring: d.Keyring, sender: d.Sender, logger: d.Log, observer: o.Observer, tracer: tracing.Tracer(d.Tracing, "webhook"),
		budget: 30 * time.Second, linger: orDefault(o.Linger, time.Second), poll: orDefault(o.Poll, 50*time.Millisecond),
	}
}

// DeliverJob is the input of one Deliver.
type DeliverJob struct {
	Endpoint string
	Workflow string          // id of the workflow, for events
	Breaker  Breaker         // from the previous DeliverResult; zero at first
	Stop     <-chan struct{} // when closed, no delivery is started and those under way finish; may be nil
}

// DeliverResult is the result of one Deliver.
type DeliverResult struct {
	Breaker Breaker
	Next    *time.Time // when the next delivery or probe is due; nil if no delivery is pending
	Gone    bool       // the endpoint is deleted or disabled: the workflow can end
}

// Deliver sends the endpoint's due deliveries until none is left, the breaker opens, the budget is used up, job.Stop is closed
// or ctx ends. It calls beat at least every second, for heartbeats.
//
// Two calls for one endpoint can overlap after a heartbeat timeout. Deliveries may then be sent twice, with the same
// webhook-id, but are recorded once.
func (d *Deliverer) Deliver(ctx context.Context, job DeliverJob, beat func()) (DeliverResult, error) {
	r := &deliverState{Deliverer: d, job: job, breaker: job.Breaker, underWay: map[string]models.Event{}, results: make(chan finishedAttempt, concurrency)}
	err := r.loop(ctx, beat)
	r.drain(ctx, beat)
	if errors.Is(err, errGone) {
		return DeliverResult{Gone: true}, nil
	}
	if err != nil {
		return DeliverResult{}, err
	}
	return r.nextWake(ctx)
}

// errGone ends a Deliver whose endpoint is deleted or disabled.
var errGone = errors.New("webhook: endpoint is gone")

// deliverState is the state of one Deliver. Its methods run in the goroutine of Deliver; send runs in one per request.
type deliverState struct {
	*Deliverer
	job      DeliverJob
	breaker  Breaker
	endpoint models.WebhookEndpoint
	secrets  [][]byte
	loaded   time.Time
	quiet    time.Time               // until when the fan-out leaves the endpoint to this Deliver
	held     time.Time               // when the breaker was last open: older events waited for the receiver
	underWay map[string]models.Event // the event of each delivery under way or not recorded yet, by delivery id
	queue    []dueDelivery           // read and not started
	read     time.Time               // when queue was read
	results  chan finishedAttempt
}

// finishedAttempt is a finished attempt.
type finishedAttempt struct {
	delivery dueDelivery
	at       time.Time
	outcome  AttemptResult
	dropped  bool // ctx ended first: unknown whether the receiver got it
}

// earlyProbe reports whether the delivery was attempted before it was due: as a probe, because nothing else was due.
func (r finishedAttempt) earlyProbe() bool { return r.delivery.NextAttemptAt.After(r.at) }

// loop starts due deliveries and records results until there is a reason to return. Deliveries may still be under way then.
func (r *deliverState) loop(ctx context.Context, beat func()) error {
	budget := time.NewTimer(r.budget)
	defer budget.Stop()
	idle := time.NewTimer(r.linger)
	defer idle.Stop()
	for {
		beat()
		if err := r.refresh(ctx); err != nil {
			return err
		}
		started, err := r.start(ctx)
		if err != nil {
			return err
		}
		// With nothing due and nothing under way, Deliver lingers for a moment, which saves a workflow task for each event of a
		// steady stream.
		if started > 0 || len(r.underWay) > 0 {
			idle.Reset(r.linger)
		} else if r.breaker.Open || clock.Fired(idle) {
			if more, err := r.release(ctx); err != nil || !more {
				return err
			}
			idle.Reset(r.linger)
			continue
		}
		// Wait for a result, but look for new deliveries at every poll.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-budget.C:
			_, err := r.release(ctx)
			return err
		case <-r.job.Stop:
			_, err := r.release(ctx)
			return err
		case first := <-r.results:
			if err := r.finish(ctx, r.collect(first)); err != nil {
				return err
			}
		case <-time.After(r.poll):
		}
	}
}

// finish records results, and starts the next deliveries that have been read.
func (r *deliverState) finish(ctx context.Context, results []finishedAttempt) error {
	var starting error
	// The receiver need not wait until they are stored, unless it failed and the breaker may open.
	if now := r.clock.Now(); !r.breaker.Open && !slices.ContainsFunc(results, failed) && r.current(now) {
		_, starting = r.startQueued(ctx, r.breaker.Slots(concurrency, len(r.underWay)-len(results), now), now)
	}
	// Recorded also after a failed start: nothing else has these results, and drain would wait for them.
	return errors.Join(r.record(ctx, results), starting)
}

// refreshEvery is how often a Deliver reads the endpoint's URL and secrets again. quietLife is how long the fan-out leaves an
// endpoint to a Deliver that stopped refreshing, because its process died, before it wakes the workflow.
const (
	refreshEvery = time.Second
	quietLife    = 5 * time.Second
)

// refresh reads the endpoint again and, when half of the last mark's time is over, marks it as being delivered to, so that the fan-out
// does not wake its workflow.
func (r *deliverState) refresh(ctx context.Context) error {
	now := r.clock.Now()
	if !r.loaded.IsZero() && now.Sub(r.loaded) < refreshEvery {
		return nil
	}
	if r.quiet.Sub(now) < quietLife/2 {
		until := now.Add(quietLife)
		there, err := setQuietUntil(ctx, r.store.Q, r.job.Endpoint, &until)
		if err != nil {
			return err
		}
		if !there {
			return errGone
		}
		r.quiet = until
	}
	var err error
	r.endpoint, err = endpointByID(ctx, r.store.Q, r.job.Endpoint)
	if errors.Is(err, pg.ErrNotFound) || err == nil && r.endpoint.Status != Enabled {
		return errGone
	}
	if err != nil {
		return err
	}
	rows, err := secretsOfEndpoint(ctx, r.store.Q, r.job.Endpoint, now)
	if err != nil {
		return err
	}
	r.secrets, err = openSecrets(r.keyring, r.job.Endpoint, rows)
	r.loaded = now
	return err
}

// start sends as many due deliveries as the breaker and the concurrency limit permit, and returns how many.
func (r *deliverState) start(ctx context.Context) (int, error) {
	now := r.clock.Now()
	limit := readAhead
	if r.breaker.Open {
		r.held, r.queue = now, nil
		limit = 1 // a probe, with the delivery that was attempted least
	}
	slots := r.breaker.Slots(concurrency, len(r.underWay), now)
	if slots == 0 {
		return 0, nil
	}
	if len(r.queue) == 0 || !r.current(now) {
		busy := slices.Collect(maps.Keys(r.underWay))
		r.read = now
		var err error
		if r.queue, err = dueDeliveries(ctx, r.store.Q, r.endpoint, now, busy, limit, r.breaker.Open); err != nil {
			return 0, err
		}
	}
	return r.startQueued(ctx, slots, now)
}

// current reports whether the queue may still be sent. Behind a slow receiver it is read anew: an event may have been erased since.
func (r *deliverState) current(now time.Time) bool { return now.Sub(r.read) <= r.poll }

// startQueued sends at most slots of the deliveries that have been read, and returns how many. One that has to wait for a preceding event
// stays in the queue.
func (r *deliverState) startQueued(ctx context.Context, slots int, now time.Time) (begun int, err error) {
	ahead := slices.Collect(maps.Values(r.underWay)) // events that are under way or wait before the next
	var waiting []dueDelivery
	for i, delivery := range r.queue {
		if begun == slots {
			waiting = append(waiting, r.queue[i:]...)
			break
		}
		shown, err := r.display(ctx, delivery.Event)
		if err != nil {
			return 0, err
		}
		body, err := bodyOf(delivery.Event, shown)
		if err != nil { // erased since: it can never be sent
			if err := discardDelivery(ctx, r.store.Q, delivery.WebhookDelivery, now); err != nil {
				return 0, err
			}
			continue
		}
		waits := slices.ContainsFunc(ahead, func(other models.Event) bool { return precedes(other, *delivery.Event) })
		ahead = append(ahead, *delivery.Event)
		if waits {
			waiting = append(waiting, delivery)
			continue
		}
		r.underWay[delivery.ID] = *delivery.Event
		begun++
		first := delivery.Attempts == 0 && delivery.Event.At.After(r.held)
		go r.send(ctx, delivery, first, now, Message{URL: r.endpoint.URL, ID: delivery.EventID, At: now, Body: body, Secrets: r.secrets})
	}
	r.queue = waiting
	return begun, nil
}

// precedes reports whether e must be received before other if both are due: e is earlier, and belongs to the same transaction
// or is about the same authorization. Events of one type in one transaction are unordered. No event waits for a delivery that
// failed and is to be retried later.
func precedes(e, other models.Event) bool {
	if e.Seq >= other.Seq {
		return false
	}
	related := e.AuthorizationID != nil && other.AuthorizationID != nil && *e.AuthorizationID == *other.AuthorizationID
	return related || e.Type != other.Type && together(e, other)
}

// together reports whether one transaction wrote both events.
func together(e, other models.Event) bool { return first(e) == first(other) }

// first returns the id of the first event of the transaction that wrote e.
func first(e models.Event) string {
	if e.Cause != nil {
		return *e.Cause
	}
	return e.ID
}

// bodyOf returns the request body of an event, the same bytes for every attempt as long as the details of its request are stored. It
// returns events.ErrErased for an event whose content was erased.
func bodyOf(e *models.Event, shown any) ([]byte, error) {
	if e == nil || e.ErasedAt != nil {
		return nil, events.ErrErased
	}
	m, err := events.NewMessage(*e)
	if err != nil {
		return nil, err
	}
	m.Display = shown
	return json.Marshal(m)
}

// display returns the details of the request that an event of a hold is about, for an endpoint that includes them; nil otherwise.
func (r *deliverState) display(ctx context.Context, e *models.Event) (any, error) {
	if !r.endpoint.IncludeDetails || e == nil || e.AuthorizationID == nil || !events.ShowsDetails(events.Type(e.Type)) {
		return nil, nil
	}
	sealed, err := challenge.ShownDetailsOf(ctx, r.store.Q, pg.Scope{Tenant: e.TenantID, Environment: e.EnvironmentID}, *e.AuthorizationID)
	if err != nil {
		return nil, err
	}
	details, err := display.NewVault(r.keyring).Open(*e.AuthorizationID, sealed)
	if err != nil || len(details) == 0 {
		return nil, err
	}
	return map[string]any{"details": details}, nil
}

// send makes one attempt, as a part of the trace that led to the event, and passes its result to the loop.
func (r *deliverState) send(ctx context.Context, delivery dueDelivery, first bool, at time.Time, m Message) {
	within, span := r.tracer.Start(tracing.Within(ctx, delivery.Trace), "webhook "+delivery.Type, trace.WithSpanKind(trace.SpanKindProducer))
	o := r.sender.Send(within, m)
	if !o.Succeeded {
		span.SetStatus(codes.Error, o.Error)
	}
	span.End()
	// An attempt that our own shutdown cut short says nothing about the receiver, unless there was a response.
	dropped := ctx.Err() != nil && o.StatusCode == 0
	if r.observer != nil && !dropped {
		r.observer.Attempted(first, at.Sub(delivery.Event.At), o)
	}
	r.results <- finishedAttempt{delivery: delivery, at: at, outcome: o, dropped: dropped}
}

// release marks the endpoint as no longer being delivered to, and then queries once more. The order matters: an event that was
// fanned out before the mark found the endpoint busy and did not wake its workflow, and is found by the query, or by that of nextWake.
func (r *deliverState) release(ctx context.Context) (more bool, err error) {
	if r.breaker.Open {
		// Nothing is sent before the probe, so new events need not wake the workflow.
		_, err := setQuietUntil(ctx, r.store.Q, r.job.Endpoint, &r.breaker.ProbeAt)
		return false, err
	}
	if _, err := setQuietUntil(ctx, r.store.Q, r.job.Endpoint, nil); err != nil {
		return false, err
	}
	r.loaded, r.quiet = time.Time{}, time.Time{} // if the loop goes on, refresh marks the endpoint again
	next, err := nextDueDelivery(ctx, r.store.Q, r.endpoint)
	return next != nil && !next.After(r.clock.Now()), err
}

// nextWake returns the result with the time of the next delivery or probe.
func (r *deliverState) nextWake(ctx context.Context) (DeliverResult, error) {
	next, err := nextDueDelivery(ctx, r.store.Q, r.endpoint)
	if err != nil {
		return DeliverResult{}, err
	}
	if next != nil && r.breaker.Open {
		next = &r.breaker.ProbeAt // the probe sends a delivery even if none is due
	}
	return DeliverResult{Breaker: r.breaker, Next: next}, nil
}

// orDefault returns d, or otherwise if d is zero.
func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// jitter returns a random number in [0, 1) that spreads retries and probes. It protects nothing, so it need not be
// unpredictable.
func jitter() float64 { return rand.Float64() } //nolint:gosec // see above
