package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Handler does the work of one row. An error puts the row off; it is never dropped.
type Handler func(ctx context.Context, row models.Outbox) error

// Lane is a set of topics that share workers. Topics that wait for different things belong in different lanes, so that
// one that is away holds up no other.
type Lane struct {
	Name     string
	Handlers map[string]Handler // by topic
	Workers  int                // rows worked on at once; default 8
}

// Observer hears what the relay does; metrics hang off it. Its methods must return at once.
type Observer interface {
	// Relayed tells of one try of one row: how long the row waited since it was written, and its error.
	Relayed(topic string, waited time.Duration, err error)
}

// Relay moves rows from the outbox to their handlers. Any number of relays may run on one database.
type Relay struct {
	Store    *store.Store
	Clock    clock.Clock
	Log      *slog.Logger
	Lanes    []Lane
	Observer Observer      // may be nil
	Poll     time.Duration // how long a lane sleeps when nobody wakes it; default 100 ms
	Timeout  time.Duration // how long one handler may take; default 10 s
}

const (
	defaultWorkers = 8
	defaultPoll    = 100 * time.Millisecond
	defaultTimeout = 10 * time.Second
	// leaseMargin is how much longer than a handler may take its row stays hidden from other relays.
	leaseMargin = 20 * time.Second
	// drainWait bounds how long a relay that is told to stop waits for handlers under way.
	drainWait = 5 * time.Second
)

// Run relays until ctx ends, then waits for the handlers under way. What they leave undone is done by the next relay.
func (r *Relay) Run(ctx context.Context) {
	wake := make([]chan struct{}, len(r.Lanes))
	for i := range wake {
		wake[i] = make(chan struct{}, 1)
	}
	var running sync.WaitGroup
	running.Go(func() {
		r.Store.Listen(ctx, []string{store.ChannelOutbox}, func(string, string) {
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

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// backoff is how long a row waits after its n-th failed try: 0.5 s doubled up to a minute, so that what was away is
// found again soon after it is back.
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

// try runs the handler of one row; a panic is an error of that row alone.
func (r *Relay) try(ctx context.Context, h Handler, row models.Outbox) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, or(r.Timeout, defaultTimeout))
	defer cancel()
	return h(ctx, row)
}

func (r *Relay) observe(row models.Outbox, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		r.Log.Warn("outbox row put off", "topic", row.Topic, "ref", row.Ref, "attempts", row.Attempts, "error", err)
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
