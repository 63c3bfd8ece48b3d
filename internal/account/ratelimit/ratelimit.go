// Package ratelimit counts requests against a quota of so many an hour, shared by all replicas. The count is kept in
// Postgres; a replica takes small leases from it, so that most requests touch no database. The windows are clock hours.
// What is leased and not used is given back; the limit is never passed, whatever the number of replicas. The package
// knows no HTTP and no credentials: a bucket is any string.
package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
)

// Window is the length of a quota's window.
const Window = time.Hour

const (
	// leaseShare: a lease is this part of the limit, so that many replicas can share a small quota.
	reservationShare = 100
	reservationMax   = 500
	// leaseLife is how long an unused lease is kept before it is given back.
	reservationLife = 10 * time.Second
)

// Source is where the count is shared. *store.Store is one.
type Source interface {
	Take(ctx context.Context, bucket string, window time.Time, n, limit int) (granted bool, used int, err error)
	Return(ctx context.Context, bucket string, window time.Time, n int) error
}

// Decision is the answer to one request.
type Decision struct {
	Allowed   bool
	Limit     int           // requests a window
	Remaining int           // as far as this replica knows; exact with one replica
	Reset     time.Duration // until the window ends
}

// Limiter decides for one process.
type Limiter struct {
	source Source
	clock  clock.Clock

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	mu         sync.Mutex
	window     time.Time
	reserved   int       // granted to this process and not yet used
	used       int       // of the shared window, leases included
	reservedAt time.Time // of the last lease
}

// New makes a limiter over a shared source.
func New(source Source, c clock.Clock) *Limiter {
	return &Limiter{source: source, clock: c, buckets: map[string]*bucket{}}
}

// Take counts one request against the bucket. An error means that the source could not be asked and nothing is known.
func (l *Limiter) Take(ctx context.Context, name string, limit int) (Decision, error) {
	now := l.clock.Now()
	window := now.Truncate(Window)
	b := l.bucket(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.window.Equal(window) {
		b.window, b.reserved, b.used = window, 0, 0
	}
	d := Decision{Limit: limit, Reset: window.Add(Window).Sub(now)}
	if b.reserved == 0 {
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

// lease takes a handful; near the end of the quota, where a handful is refused, a single one.
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

// Sweep gives back leases that have not been touched for a while and forgets idle buckets.
func (l *Limiter) Sweep(ctx context.Context) error {
	return l.release(ctx, func(b *bucket, now time.Time) bool { return now.Sub(b.reservedAt) > reservationLife })
}

// Drain gives every lease back; it is called once, at the end of the process.
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
