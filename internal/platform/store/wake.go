package store

import (
	"context"
	"sync"
	"time"
)

// wakeEvery bounds how often one process sends the same wake-up. A NOTIFY inside a transaction would make Postgres
// serialise the commits of all who send one, so the decision path wakes listeners after its commit, in bulk.
const wakeEvery = 20 * time.Millisecond

type waker struct {
	mu     sync.Mutex
	due    map[string]bool
	signal chan struct{}
}

func newWaker() *waker { return &waker{due: map[string]bool{}, signal: make(chan struct{}, 1)} }

// Wake tells the listeners of a channel, soon, that there is something new. It does not wait and may be lost with the
// process: listeners also poll.
func (s *Store) Wake(channel string) {
	s.waker.mu.Lock()
	s.waker.due[channel] = true
	s.waker.mu.Unlock()
	select {
	case s.waker.signal <- struct{}{}:
	default:
	}
}

// run sends what is due until ctx ends.
func (w *waker) run(ctx context.Context, s *Store) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.signal:
		}
		w.mu.Lock()
		due := w.due
		w.due = map[string]bool{}
		w.mu.Unlock()
		for channel := range due {
			_ = s.Notify(ctx, channel, "")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wakeEvery):
		}
	}
}
