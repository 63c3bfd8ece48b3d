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

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// concurrency bounds the requests under way to one endpoint.
const concurrency = 8

// Observer hears of every try; metrics hang off it. It must return at once.
type Observer interface {
	// Attempted tells of one try: whether it was the first of a delivery that no broken receiver held up, how long after the
	// event it began, and its outcome. What a receiver held up says nothing of how fast we are.
	Attempted(first bool, since time.Duration, o AttemptResult)
}

// DeliverOptions tune a Deliverer. The zero value has the defaults.
type DeliverOptions struct {
	Observer Observer      // nil observes nothing
	Budget   time.Duration // how long one Deliver may take; default 30 s
	Linger   time.Duration // how long Deliver waits for more when nothing is due; default 1 s
	Poll     time.Duration // how often Deliver queries for due deliveries meanwhile; default 50 ms
}

// Deliverer sends the due deliveries of one endpoint per call. It has no state between calls: the caller stores the DeliverJob.
type Deliverer struct {
	store    *store.Store
	clock    clock.Clock
	keyring  *keyring.Keyring
	sender   *Sender
	logger   *slog.Logger
	observer Observer // may be nil

	budget, linger, poll time.Duration
}

// NewDeliverer returns a deliverer. It uses every dependency but the waker.
func NewDeliverer(d Deps, o DeliverOptions) *Deliverer {
	return &Deliverer{
		store: d.Store, clock: d.Clock, keyring: d.Keyring, sender: d.Sender, logger: d.Log, observer: o.Observer,
		budget: orDefault(o.Budget, 30*time.Second), linger: orDefault(o.Linger, time.Second), poll: orDefault(o.Poll, 50*time.Millisecond),
	}
}

// Job is what one Deliver works on.
type DeliverJob struct {
	Endpoint string
	Workflow string // id of the run, for the log
	Breaker  Breaker
	Stop     <-chan struct{} // when closed, nothing more is begun and what is under way may finish; may be nil
}

// Result is how a Deliver ended.
type DeliverResult struct {
	Breaker Breaker
	Next    *time.Time // when there is something to do again; nil where nothing is owed
	Gone    bool       // the endpoint is deleted or disabled
}

// Deliver sends the endpoint's due deliveries until none is left, the breaker opens, the budget is used up or ctx ends.
// Beat is called at least every second. Should two of them overlap, after a time-out, deliveries may be sent twice, with
// the same webhook-id, and are counted once.
func (d *Deliverer) Deliver(ctx context.Context, job DeliverJob, beat func()) (DeliverResult, error) {
	r := &delivering{Deliverer: d, job: job, breaker: job.Breaker, underWay: map[string]models.Event{}, results: make(chan attemptDone, concurrency)}
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

// errGone ends a run whose endpoint is deleted or disabled.
var errGone = errors.New("webhook: endpoint is gone")

type delivering struct {
	*Deliverer
	job      DeliverJob
	breaker  Breaker
	endpoint models.WebhookEndpoint
	secrets  [][]byte
	loaded   time.Time
	held     time.Time               // when the breaker was last seen open: what had happened by then waited for the receiver
	underWay map[string]models.Event // by the delivery's id: what it carries
	results  chan attemptDone
}

type attemptDone struct {
	delivery store.DueDelivery
	at       time.Time
	outcome  AttemptResult
	dropped  bool // ctx ended first: nobody knows what the receiver got
}

// early reports whether a delivery was tried before its time: as a probe, with nothing else due.
func (r attemptDone) earlyProbe() bool { return r.delivery.NextAttemptAt.After(r.at) }

func (r *delivering) loop(ctx context.Context, beat func()) error {
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
		if started > 0 || len(r.underWay) > 0 {
			idle.Reset(r.linger)
		} else if r.breaker.Open || expired(idle) {
			if more, err := r.release(ctx); err != nil || !more {
				return err
			}
			idle.Reset(r.linger)
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-budget.C:
			return nil
		case <-r.job.Stop:
			return nil
		case first := <-r.results:
			if err := r.record(ctx, r.collect(first)); err != nil {
				return err
			}
		case <-time.After(r.poll):
		}
	}
}

// refreshEvery bounds how old the endpoint's URL and secrets may be, and quietFor how long a sender that died keeps the
// fan-out from waking another.
const (
	refreshEvery = time.Second
	quietLife    = 5 * time.Second
)

// refresh reads the endpoint again and says that it is being looked after.
func (r *delivering) refresh(ctx context.Context) error {
	now := r.clock.Now()
	if !r.loaded.IsZero() && now.Sub(r.loaded) < refreshEvery {
		return nil
	}
	until := now.Add(quietLife)
	there, err := r.store.Endpoints().Quiet(ctx, r.job.Endpoint, &until)
	if err != nil {
		return err
	}
	if !there {
		return errGone
	}
	if r.endpoint, err = r.store.Endpoints().ByID(ctx, r.job.Endpoint); err != nil {
		return err
	}
	rows, err := r.store.Endpoints().Secrets(ctx, r.job.Endpoint, now)
	if err != nil {
		return err
	}
	r.secrets, err = openSecrets(r.keyring, r.job.Endpoint, rows)
	r.loaded = now
	return err
}

// start begins as many due deliveries as the breaker and the bound on concurrency allow.
func (r *delivering) start(ctx context.Context) (int, error) {
	now := r.clock.Now()
	if r.breaker.Open {
		r.held = now
	}
	slots := r.breaker.Slots(concurrency, len(r.underWay), now)
	if slots == 0 {
		return 0, nil
	}
	busy := make([]string, 0, len(r.underWay))
	for id := range r.underWay {
		busy = append(busy, id)
	}
	// Twice as many as there are slots: some may have to wait for their cause.
	due, err := r.store.Deliveries().Due(ctx, r.job.Endpoint, now, busy, 2*slots, r.breaker.Open)
	if err != nil {
		return 0, err
	}
	begun := 0
	ahead := slices.Collect(maps.Values(r.underWay)) // what is sent, or waits, ahead of the next
	for _, delivery := range due {
		if begun == slots {
			break
		}
		body, err := bodyOf(delivery.Event)
		if err != nil {
			if err := r.store.Deliveries().Discard(ctx, delivery.ID, now); err != nil {
				return 0, err
			}
			continue
		}
		waits := slices.ContainsFunc(ahead, func(other models.Event) bool { return precedes(other, *delivery.Event) })
		ahead = append(ahead, *delivery.Event)
		if waits {
			continue
		}
		r.underWay[delivery.ID] = *delivery.Event
		begun++
		first := delivery.Attempts == 0 && delivery.Event.At.After(r.held)
		go r.send(ctx, delivery, first, now, Message{URL: r.endpoint.URL, ID: delivery.EventID, At: now, Body: body, Secrets: r.secrets})
	}
	return begun, nil
}

// precedes reports whether an event is received ahead of another that is due too: an earlier one of the same transaction, or
// about the same authorization. Events of one type in one transaction are of equal rank and do not wait for each other, nor
// does any event wait for a delivery that failed and is tried again later.
func precedes(e, other models.Event) bool {
	if !store.At(e).Before(store.At(other)) {
		return false
	}
	related := e.AuthorizationID != nil && other.AuthorizationID != nil && *e.AuthorizationID == *other.AuthorizationID
	return related || e.TxID == other.TxID && e.Type != other.Type
}

// bodyOf makes the request body of an event: the same bytes at every try. An event that was erased has nothing left to tell.
func bodyOf(e *models.Event) ([]byte, error) {
	if e == nil || e.ErasedAt != nil {
		return nil, events.ErrErased
	}
	m, err := events.NewMessage(*e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

func (r *delivering) send(ctx context.Context, delivery store.DueDelivery, first bool, at time.Time, m Message) {
	o := r.sender.Send(ctx, m)
	// A try that was cut short by our own ending says nothing of the receiver, unless an answer had come.
	dropped := ctx.Err() != nil && o.StatusCode == 0
	if r.observer != nil && !dropped {
		r.observer.Attempted(first, at.Sub(delivery.Event.At), o)
	}
	r.results <- attemptDone{delivery: delivery, at: at, outcome: o, dropped: dropped}
}

// gather takes whatever else has come back, so that one transaction records it all.
func (r *delivering) collect(first attemptDone) []attemptDone {
	out := []attemptDone{first}
	for {
		select {
		case next := <-r.results:
			out = append(out, next)
		default:
			return out
		}
	}
}

// leave says that nobody looks after the endpoint any more and then looks once again: an event that was fanned out in
// between saw the endpoint looked after and woke nobody.
func (r *delivering) release(ctx context.Context) (more bool, err error) {
	if r.breaker.Open {
		// Until the probe nothing is sent whatever comes, so nobody need be woken.
		_, err := r.store.Endpoints().Quiet(ctx, r.job.Endpoint, &r.breaker.ProbeAt)
		return false, err
	}
	if _, err := r.store.Endpoints().Quiet(ctx, r.job.Endpoint, nil); err != nil {
		return false, err
	}
	r.loaded = time.Time{} // whoever stays says again that it does
	next, err := r.store.Deliveries().Next(ctx, r.job.Endpoint)
	return next != nil && !next.After(r.clock.Now()), err
}

// rest says when to come back.
func (r *delivering) nextWake(ctx context.Context) (DeliverResult, error) {
	next, err := r.store.Deliveries().Next(ctx, r.job.Endpoint)
	if err != nil {
		return DeliverResult{}, err
	}
	if next != nil && r.breaker.Open {
		next = &r.breaker.ProbeAt // with what is due, or with what is not due yet
	}
	return DeliverResult{Breaker: r.breaker, Next: next}, nil
}

// drain waits for the requests under way and records them, also when ctx has ended (a worker that stops cuts them short).
// Their own deadlines bound the wait.
func (r *delivering) drain(ctx context.Context, beat func()) {
	for len(r.underWay) > 0 {
		select {
		case res := <-r.results:
			r.recordLast(context.WithoutCancel(ctx), res)
		case <-time.After(time.Second):
			beat()
		}
	}
}

func (r *delivering) recordLast(ctx context.Context, res attemptDone) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := r.record(ctx, []attemptDone{res}); err != nil && !errors.Is(err, errGone) {
		r.logger.LogAttrs(ctx, slog.LevelWarn, "a webhook attempt was not recorded and will be made again",
			slog.String("endpoint", r.job.Endpoint), slog.String("error", err.Error()))
	}
}

func expired(t *time.Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// jitter spreads retries and probes; it guards nothing, so it need not be unpredictable.
func jitter() float64 { return rand.Float64() } //nolint:gosec // see above
