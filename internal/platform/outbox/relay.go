package outbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Handler does the work of one row. If it returns an error, the row is retried after a backoff; rows are never dropped.
type Handler func(ctx context.Context, row models.Outbox) error

// Together does the work of several rows as one. If it returns an error, each of them is passed to its own handler, so that a row
// whose work cannot be done delays no other.
type Together func(ctx context.Context, rows []models.Outbox) error

// Later is an error that asks for a longer wait before the next attempt than the backoff, because the receiver named one.
type Later struct {
	Wait time.Duration
	Err  error
}

// Error returns the text of the cause.
func (l Later) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l Later) Unwrap() error { return l.Err }

// Lane is a set of topics that share workers. Topics that depend on different systems belong in different lanes, so that an
// unavailable system delays only its own topics.
type Lane struct {
	Name     string
	Handlers map[string]Handler // by topic
	// Does the work of at most mostTogether rows; nil: each is handled alone.
	Together Together
	// Handlers, or batches of rows, at work at once; default 8.
	Workers int
	// Started is closed once the system that the topics depend on takes requests: the lane waits, and no row backs off, until
	// then. Nil: the lane begins at once.
	Started <-chan struct{}
	// How long one handler of the lane may take; default the relay's.
	Timeout time.Duration
}

// Observer is notified of the relay's work, for metrics. Its methods must not block.
type Observer interface {
	// Relayed reports one attempt: how long the row waited since it was written, and the handler's error.
	Relayed(topic string, waited time.Duration, err error)
}

// Relay moves rows from the outbox to their handlers. Any number of relays may run on one database.
type Relay struct {
	Store    *pg.Store
	Clock    clock.Clock
	Log      *slog.Logger
	Lanes    []Lane
	Observer Observer // may be nil
	// How long a lane sleeps without a notification; default 100 ms.
	Poll time.Duration
	// How long one handler may take; default 10 s.
	Timeout time.Duration
}

const (
	defaultWorkers = 8
	defaultPoll    = 100 * time.Millisecond
	defaultTimeout = 10 * time.Second
	// mostTogether is the largest number of rows that Together receives.
	mostTogether = 64
	// leaseMargin is added to the handler's timeout: for that long a claimed row is hidden from other relays.
	leaseMargin = 20 * time.Second
	// drainWait limits how long a stopping relay waits for running handlers.
	drainWait = 5 * time.Second
)

// Run relays until ctx ends, then waits for the running handlers. Unfinished rows are processed by the next relay.
func (r *Relay) Run(ctx context.Context) {
	wake := make([]chan struct{}, len(r.Lanes))
	for i := range wake {
		wake[i] = make(chan struct{}, 1)
	}
	var running sync.WaitGroup
	running.Go(func() {
		r.Store.Listen(ctx, []string{pg.ChannelOutbox}, func(string, string) {
			for _, w := range wake {
				signal(w)
			}
		})
	})
	for i, l := range r.Lanes {
		running.Go(func() { r.newLane(l, wake[i]).run(ctx) })
	}
	running.Wait()
}

// signal wakes a lane; it does nothing if the lane is already due to wake up.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// backoff is the wait after the n-th failed attempt: 0.5 s, doubled up to a minute, so that work resumes soon after a system
// becomes available again.
func backoff(attempts int) time.Duration {
	const first, most = 500 * time.Millisecond, time.Minute
	if attempts < 1 {
		attempts = 1
	}
	if attempts > 8 {
		return most
	}
	return min(first<<(attempts-1), most)
}

// observe logs a failed attempt and notifies the observer.
func (r *Relay) observe(row models.Outbox, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		r.Log.Warn("outbox row failed; it will be retried", "topic", row.Topic, "ref", row.Ref, "attempts", row.Attempts, "error", err)
	}
	if r.Observer != nil {
		r.Observer.Relayed(row.Topic, r.Clock.Now().Sub(row.CreatedAt), err)
	}
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}
