// Package ratelimit enforces hourly request quotas that all replicas share.
//
// The count of each bucket is in Postgres. A replica reserves a small number of requests at a time and serves them from
// memory, so most requests need no query. Windows are clock hours. Unused reservations are returned; the limit is never
// exceeded, whatever the number of replicas, but a replica may reject a request while a different replica has an unused
// reservation.
//
// The package does not know HTTP or credentials: a bucket is any string.
package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
)

// Window is the length of a quota's window. Windows begin at full hours UTC.
const Window = time.Hour

const (
	// reservationShare is the fraction of the limit that one reservation takes (1/100), so that many replicas can share a
	// small quota.
	reservationShare = 100
	reservationMax   = 500
	// reservationLife is how long a replica holds a reservation that it does not use before it returns it.
	reservationLife = 10 * time.Second
	// usedUpFor is how long requests of a quota that is used up are refused without asking the source: it may have more, since others
	// return reservations.
	usedUpFor = time.Second
)

// Source has the shared count of each bucket and window. store.Quotas implements it in Postgres.
type Source interface {
	// Take adds n to the count if the sum stays within limit, and returns whether it did and the count afterwards.
	Take(ctx context.Context, bucket string, window time.Time, n, limit int) (granted bool, used int, err error)
	// Return subtracts n from the count.
	Return(ctx context.Context, bucket string, window time.Time, n int) error
}

// Decision is the result of counting one request. Its figures are those of the RateLimit response headers.
type Decision struct {
	Allowed   bool
	Limit     int           // requests a window
	Remaining int           // an estimate: other replicas' usage is known as of the last reservation
	Reset     time.Duration // until the window ends
}

// Limiter enforces quotas for one process. It is safe for concurrent use.
type Limiter struct {
	source Source
	clock  clock.Clock

	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket is the state of one quota in this process. Its mutex is held during the query for a reservation, so that concurrent
// requests of one bucket share it.
type bucket struct {
	mu         sync.Mutex
	window     time.Time // start of the window that the counts belong to
	reserved   int       // granted to this process and not yet used
	used       int       // shared count as of the last reservation, reservations included
	reservedAt time.Time // of the last reservation
	usedUp     time.Time // until then the source is not asked
}

// New returns a limiter over a shared source. The caller calls Sweep regularly and Drain at the end of the process.
func New(source Source, c clock.Clock) *Limiter {
	return &Limiter{source: source, clock: c, buckets: map[string]*bucket{}}
}

// Take counts one request against the bucket. An error means that the source is unavailable and the request was not counted;
// the caller decides whether to serve it.
func (l *Limiter) Take(ctx context.Context, name string, limit int) (Decision, error) {
	b := l.bucket(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := l.clock.Now() // behind the lock: a request that waited for it over the full hour must not go back to the earlier window
	window := now.Truncate(Window)
	if !b.window.Equal(window) {
		b.window, b.reserved, b.used, b.usedUp = window, 0, 0, time.Time{}
	}
	d := Decision{Limit: limit, Reset: window.Add(Window).Sub(now)}
	if b.reserved == 0 && !now.Before(b.usedUp) {
		if err := l.reserve(ctx, name, b, limit, now); err != nil {
			return d, err
		}
	}
	if b.reserved > 0 {
		b.reserved--
		d.Allowed = true
	}
	d.Remaining = max(limit-b.used+b.reserved, 0)
	return d, nil
}

// reserve takes a batch of requests from the source, or a single request if the rest of the quota is smaller than the batch.
func (l *Limiter) reserve(ctx context.Context, name string, b *bucket, limit int, now time.Time) error {
	n := min(max(limit/reservationShare, 1), reservationMax)
	for {
		granted, used, err := l.source.Take(ctx, name, b.window, n, limit)
		if err != nil {
			return err
		}
		b.used = used
		if granted {
			b.reserved, b.reservedAt = n, now
			return nil
		}
		if n == 1 {
			b.usedUp = now.Add(usedUpFor)
			return nil
		}
		n = 1
	}
}

func (l *Limiter) bucket(name string) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets[name]
	if !ok {
		b = &bucket{}
		l.buckets[name] = b
	}
	return b
}

// Sweep returns reservations that have been unused for reservationLife, and drops buckets that have been idle for a window.
func (l *Limiter) Sweep(ctx context.Context) error {
	return l.release(ctx, func(b *bucket, now time.Time) bool { return now.Sub(b.reservedAt) > reservationLife })
}

// Drain returns every reservation. It is called once, when the process stops: otherwise the reserved requests stay counted
// until the hour ends.
func (l *Limiter) Drain(ctx context.Context) error {
	return l.release(ctx, func(*bucket, time.Time) bool { return true })
}

func (l *Limiter) release(ctx context.Context, idle func(*bucket, time.Time) bool) error {
	now := l.clock.Now()
	l.mu.Lock()
	names := make(map[string]*bucket, len(l.buckets))
	for name, b := range l.buckets {
		names[name] = b
	}
	l.mu.Unlock()
	for name, b := range names {
		if err := l.releaseBucket(ctx, name, b, now, idle); err != nil {
			return err
		}
	}
	return nil
}

func (l *Limiter) releaseBucket(ctx context.Context, name string, b *bucket, now time.Time, idle func(*bucket, time.Time) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !idle(b, now) {
		return nil
	}
	if b.reserved > 0 && b.window.Equal(now.Truncate(Window)) {
		if err := l.source.Return(ctx, name, b.window, b.reserved); err != nil {
			return err
		}
	}
	b.used -= b.reserved
	b.reserved = 0
	if now.Sub(b.reservedAt) > Window {
		l.mu.Lock()
		delete(l.buckets, name)
		l.mu.Unlock()
	}
	return nil
}
