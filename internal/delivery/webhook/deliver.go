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

// Deliverer sends what is due to one endpoint at a time. Its state between batches is the Job that the caller keeps.
type Deliverer struct {
	Store    *store.Store
	Clock    clock.Clock
	Keyring  *keyring.Keyring
	Sender   *Sender
	Log      *slog.Logger
	Observer Observer // may be nil

	Budget time.Duration // how long one Deliver may go on; default 30 s
	Linger time.Duration // how long it waits for more when nothing is due; default 1 s
	Poll   time.Duration // how often it looks meanwhile; default 50 ms
}

// Job is what one Deliver works on.
type Job struct {
	Endpoint string
	Workflow string // id of the run, for the log
	Breaker  Breaker
	Stop     <-chan struct{} // when closed, nothing more is begun and what is under way may finish; may be nil
}

// Result is how a Deliver ended.
type Result struct {
	Breaker Breaker
	Next    *time.Time // when there is something to do again; nil where nothing is owed
	Gone    bool       // the endpoint is deleted or disabled
}

// Deliver sends the endpoint's due deliveries until none is left, the breaker opens, the budget is used up or ctx ends.
// Beat is called at least every second. Should two of them overlap, after a time-out, deliveries may be sent twice, with
// the same webhook-id, and are counted once.
func (d *Deliverer) Deliver(ctx context.Context, job Job, beat func()) (Result, error) {
	r := &run{Deliverer: d, job: job, breaker: job.Breaker, underWay: map[string]models.Event{}, results: make(chan result, concurrency)}
	err := r.loop(ctx, beat)
	r.drain(ctx, beat)
	if errors.Is(err, errGone) {
		return Result{Gone: true}, nil
	}
	if err != nil {
		return Result{}, err
	}
	return r.rest(ctx)
}

// errGone ends a run whose endpoint is deleted or disabled.
var errGone = errors.New("webhook: endpoint is gone")

type run struct {
	*Deliverer
	job      Job
	breaker  Breaker
	endpoint models.WebhookEndpoint
	secrets  [][]byte
	loaded   time.Time
	held     time.Time               // when the breaker was last seen open: what had happened by then waited for the receiver
	underWay map[string]models.Event // by the delivery's id: what it carries
	results  chan result
}

type result struct {
	delivery store.DueDelivery
	at       time.Time
	outcome  AttemptResult
	dropped  bool // ctx ended first: nobody knows what the receiver got
}

// early reports whether a delivery was tried before its time: as a probe, with nothing else due.
func (r result) early() bool { return r.delivery.NextAttemptAt.After(r.at) }

func (r *run) loop(ctx context.Context, beat func()) error {
	budget := time.NewTimer(or(r.Budget, 30*time.Second))
	defer budget.Stop()
	idle := time.NewTimer(or(r.Linger, time.Second))
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
			idle.Reset(or(r.Linger, time.Second))
		} else if r.breaker.Open || expired(idle) {
			if more, err := r.leave(ctx); err != nil || !more {
				return err
			}
			idle.Reset(or(r.Linger, time.Second))
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
			if err := r.record(ctx, r.gather(first)); err != nil {
				return err
			}
		case <-time.After(or(r.Poll, 50*time.Millisecond)):
		}
	}
}

// refreshEvery bounds how old the endpoint's URL and secrets may be, and quietFor how long a sender that died keeps the
// fan-out from waking another.
const (
	refreshEvery = time.Second
	quietFor     = 5 * time.Second
)

// refresh reads the endpoint again and says that it is being looked after.
func (r *run) refresh(ctx context.Context) error {
	now := r.Clock.Now()
	if !r.loaded.IsZero() && now.Sub(r.loaded) < refreshEvery {
		return nil
	}
	until := now.Add(quietFor)
	there, err := r.Store.Endpoints().Quiet(ctx, r.job.Endpoint, &until)
	if err != nil {
		return err
	}
	if !there {
		return errGone
	}
	if r.endpoint, err = r.Store.Endpoints().ByID(ctx, r.job.Endpoint); err != nil {
		return err
	}
	rows, err := r.Store.Endpoints().Secrets(ctx, r.job.Endpoint, now)
	if err != nil {
		return err
	}
	r.secrets, err = openSecrets(r.Keyring, r.job.Endpoint, rows)
	r.loaded = now
	return err
}

// start begins as many due deliveries as the breaker and the bound on concurrency allow.
func (r *run) start(ctx context.Context) (int, error) {
	now := r.Clock.Now()
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
	due, err := r.Store.Deliveries().Due(ctx, r.job.Endpoint, now, busy, 2*slots, r.breaker.Open)
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
			if err := r.Store.Deliveries().Discard(ctx, delivery.ID, now); err != nil {
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

func (r *run) send(ctx context.Context, delivery store.DueDelivery, first bool, at time.Time, m Message) {
	o := r.Sender.Send(ctx, m)
	// A try that was cut short by our own ending says nothing of the receiver, unless an answer had come.
	dropped := ctx.Err() != nil && o.StatusCode == 0
	if r.Observer != nil && !dropped {
		r.Observer.Attempted(first, at.Sub(delivery.Event.At), o)
	}
	r.results <- result{delivery: delivery, at: at, outcome: o, dropped: dropped}
}

// gather takes whatever else has come back, so that one transaction records it all.
func (r *run) gather(first result) []result {
	out := []result{first}
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
func (r *run) leave(ctx context.Context) (more bool, err error) {
	if r.breaker.Open {
		// Until the probe nothing is sent whatever comes, so nobody need be woken.
		_, err := r.Store.Endpoints().Quiet(ctx, r.job.Endpoint, &r.breaker.ProbeAt)
		return false, err
	}
	if _, err := r.Store.Endpoints().Quiet(ctx, r.job.Endpoint, nil); err != nil {
		return false, err
	}
	r.loaded = time.Time{} // whoever stays says again that it does
	next, err := r.Store.Deliveries().Next(ctx, r.job.Endpoint)
	return next != nil && !next.After(r.Clock.Now()), err
}

// rest says when to come back.
func (r *run) rest(ctx context.Context) (Result, error) {
	next, err := r.Store.Deliveries().Next(ctx, r.job.Endpoint)
	if err != nil {
		return Result{}, err
	}
	if next != nil && r.breaker.Open {
		next = &r.breaker.ProbeAt // with what is due, or with what is not due yet
	}
	return Result{Breaker: r.breaker, Next: next}, nil
}

// drain waits for the requests under way and records them, also when ctx has ended (a worker that stops cuts them short).
// Their own deadlines bound the wait.
func (r *run) drain(ctx context.Context, beat func()) {
	for len(r.underWay) > 0 {
		select {
		case res := <-r.results:
			r.recordLast(context.WithoutCancel(ctx), res)
		case <-time.After(time.Second):
			beat()
		}
	}
}

func (r *run) recordLast(ctx context.Context, res result) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := r.record(ctx, []result{res}); err != nil && !errors.Is(err, errGone) {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "a webhook attempt was not recorded and will be made again",
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

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// jitter spreads retries and probes; it guards nothing, so it need not be unpredictable.
func jitter() float64 { return rand.Float64() } //nolint:gosec // see above
