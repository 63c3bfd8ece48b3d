package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/tracing"
	"github.com/countersign-dev/countersign/models"
)

// lane claims as many rows as its idle workers can begin with, so that no relay reserves a row that it cannot process.
type lane struct {
	relay    *Relay
	topics   []string
	handlers map[string]Handler
	together Together
	each     int // rows that a worker takes at once
	workers  int
	started  <-chan struct{}
	timeout  time.Duration // of one handler
	wake     chan struct{}
	// One token per idle worker.
	free chan struct{}
	done chan int64 // rows to delete
	// All rows due before this time have been claimed; zero if unknown.
	since time.Time
	// Claims until the next one of all rows.
	untilAll int
}

const (
	// recentClaims is how many claims of a busy lane, which never polls, leave out what was due before the last claim of all rows. They
	// miss a row whose transaction ended only then, or whose replica's clock is behind by more than overlap: it waits for so many claims.
	recentClaims = 16
	overlap      = time.Second
)

// newLane prepares a lane with all its workers idle.
func (r *Relay) newLane(l Lane, wake chan struct{}) *lane {
	out := &lane{relay: r, handlers: l.Handlers, together: l.Together, each: 1, workers: or(l.Workers, defaultWorkers), started: l.Started, wake: wake,
		timeout: or(l.Timeout, or(r.Timeout, defaultTimeout))}
	if l.Together != nil {
		out.each = mostTogether
	}
	for topic := range l.Handlers {
		out.topics = append(out.topics, topic)
	}
	out.free = make(chan struct{}, out.workers)
	for range out.workers {
		out.free <- struct{}{}
	}
	out.done = make(chan int64, out.workers*out.each)
	return out
}

// run claims and processes rows until ctx ends. Running handlers then have drainWait to finish.
func (l *lane) run(ctx context.Context) {
	if l.started != nil {
		select {
		case <-ctx.Done():
			return
		case <-l.started:
		}
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var workers, settler sync.WaitGroup
	settler.Go(func() { l.settle(work) })
	for ctx.Err() == nil {
		if l.claim(ctx, work, &workers) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-time.After(or(l.relay.Poll, defaultPoll)):
			l.since = time.Time{}
		}
	}
	stop := time.AfterFunc(drainWait, cancel)
	workers.Wait()
	stop.Stop()
	close(l.done)
	settler.Wait()
}

// claim reserves due rows for the idle workers and reports whether more may be due.
func (l *lane) claim(ctx, work context.Context, workers *sync.WaitGroup) bool {
	idle := l.idle(ctx)
	if idle == 0 {
		return false
	}
	if l.untilAll--; l.untilAll < 0 {
		l.since = time.Time{}
	}
	now := l.relay.Clock.Now()
	rows, err := Claim(ctx, l.relay.Store.Q, l.topics, idle*l.each, l.since, now, l.timeout+leaseMargin)
	if err != nil && ctx.Err() == nil {
		l.relay.Log.Warn("outbox cannot be read", "error", err)
	}
	more := len(rows) == idle*l.each
	if err == nil && !more && l.since.IsZero() {
		l.since, l.untilAll = now.Add(-overlap), recentClaims
	}
	for batch := range slices.Chunk(rows, l.each) {
		idle--
		workers.Go(func() { l.work(work, batch) })
	}
	for range idle {
		l.free <- struct{}{}
	}
	return more
}

// idle takes the tokens of all idle workers and waits for at least one.
func (l *lane) idle(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case <-l.free:
	}
	n := 1
	for n < l.workers {
		select {
		case <-l.free:
			n++
		default:
			return n
		}
	}
	return n
}

// work does the work of some rows, together if there are several, and returns the worker's token. All of them have one time limit, because their
// reservations end together.
func (l *lane) work(ctx context.Context, rows []models.Outbox) {
	defer func() { l.free <- struct{}{} }()
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	if len(rows) > 1 && l.workTogether(ctx, limited, rows) {
		return
	}
	for _, row := range rows {
		l.conclude(ctx, row, try(limited, func(ctx context.Context) error { return l.handlers[row.Topic](tracing.Within(ctx, row.Trace), row) }))
	}
}

// workTogether reports whether the rows have been concluded. There is no time left for each alone if it was the time that ran out.
func (l *lane) workTogether(ctx, limited context.Context, rows []models.Outbox) bool {
	err := try(limited, func(ctx context.Context) error { return l.together(ctx, rows) })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, row := range rows {
		l.conclude(ctx, row, err)
	}
	return true
}

// try runs a handler. A panic becomes an error.
func try(ctx context.Context, handle func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return handle(ctx)
}

// conclude has a row deleted whose work is done. A failed row is due again after its backoff.
func (l *lane) conclude(ctx context.Context, row models.Outbox, err error) {
	l.relay.observe(row, err)
	if err == nil {
		l.done <- row.ID
		return
	}
	wait := backoff(row.Attempts)
	if asked := (Later{}); errors.As(err, &asked) {
		wait = max(wait, asked.Wait)
	}
	until := l.relay.Clock.Now().Add(wait)
	if err := delayEntries(ctx, l.relay.Store.Q, row.ID, until, err.Error()); err != nil {
		l.relay.Log.Warn("outbox row could not be rescheduled; it is due again when its reservation ends", "id", row.ID, "error", err)
	}
}

// settle deletes rows whose handler returned nil, in batches of whatever is available.
func (l *lane) settle(ctx context.Context) {
	for id := range l.done {
		ids := []int64{id}
		for more := true; more; {
			select {
			case id, open := <-l.done:
				if more = open; open {
					ids = append(ids, id)
				}
			default:
				more = false
			}
		}
		if err := DeleteEntries(context.WithoutCancel(ctx), l.relay.Store.Q, ids); err != nil {
			// The rows become due again when their reservation ends; handlers are idempotent.
			l.relay.Log.Warn("outbox rows cannot be deleted", "rows", len(ids), "error", err)
		}
	}
}
