// Package ratelimit enforces request quotas that all replicas share.
//
// A quota of N requests an hour is a bucket of N requests that refills continuously: a caller that used it up waits for seconds,
// not for the rest of an hour, and an hour that begins with a full bucket may see up to twice N requests.
//
// The state of each bucket is in Postgres. A replica reserves a small number of requests at a time and serves them from
// memory, so most requests need no query. Unused reservations are returned; the limit is never exceeded, whatever the number
// of replicas, but a replica may reject a request while a different replica has an unused reservation.
//
// The package does not know HTTP or credentials: a bucket is any string.
package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Window is the time in which an empty bucket refills.
const Window = time.Hour

const (
	// reservationShare is the fraction of the limit that one reservation takes (1/100), so that many replicas can share a
	// small quota.
	reservationShare = 100
	reservationMax   = 500
	// reservationLife is how long a replica holds a reservation that it does not use before it returns it.
	reservationLife = 10 * time.Second
	// usedUpFor is the longest time for which requests of a quota that is used up are refused without asking the source: it may have
	// more, since others return reservations.
	usedUpFor = time.Second
)

// Source has the shared state of each bucket. Shared has it in Postgres.
type Source interface {
	// Take takes n requests from the bucket, or none if fewer than n are left.
	Take(ctx context.Context, bucket string, now time.Time, n, limit int) (QuotaUse, error)
	// Return gives back n requests.
	Return(ctx context.Context, bucket string, n, limit int) error
}

// Shared is the Source of all replicas: a row for each bucket.
type Shared struct{ *pg.Store }

// Take implements Source.
func (s Shared) Take(ctx context.Context, bucket string, now time.Time, n, limit int) (QuotaUse, error) {
	return takeFromQuota(ctx, s.Q, bucket, now, n, limit)
}

// Return implements Source.
func (s Shared) Return(ctx context.Context, bucket string, n, limit int) error {
	return returnToQuota(ctx, s.Q, bucket, n, limit)
}

// Bucket is a quota that requests are counted against.
type Bucket struct {
	Name  string
	Limit int // requests an hour
}

// Decision is the result of counting one request. Its figures are those of the RateLimit response headers.
type Decision struct {
	Allowed   bool
	Bucket                  // the one that refused the request, or the one with the fewest requests left
	Remaining int           // an estimate: other replicas' usage is known as of the last reservation
	Reset     time.Duration // until the bucket is full; after a refusal, until it serves the next request
	Nearly    []Bucket      // those that the request found to have just crossed 80 % of their limit
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
	limit      int       // as of the last request
	reserved   int       // granted to this process and not yet used
	fullAt     time.Time // of the shared bucket, as of the last reservation
	reservedAt time.Time // of the last reservation
	usedUp     time.Time // until then the source is not asked
}

// New returns a limiter over a shared source. The caller calls Sweep regularly and Drain at the end of the process.
func New(source Source, c clock.Clock) *Limiter {
	return &Limiter{source: source, clock: c, buckets: map[string]*bucket{}}
}

// Take counts one request against each of the buckets, or against none if one of them refuses it. An error means that the
// source is unavailable and the request was not counted; the caller decides whether to serve it.
func (l *Limiter) Take(ctx context.Context, buckets ...Bucket) (Decision, error) {
	var out Decision
	for i, of := range buckets {
		d, err := l.take(ctx, of)
		d.Nearly, out.Nearly = append(out.Nearly, d.Nearly...), nil
		if err != nil || !d.Allowed {
			for _, taken := range buckets[:i] {
				l.giveBack(taken)
			}
			return d, err
		}
		if i > 0 && out.Remaining <= d.Remaining {
			out.Nearly = d.Nearly
		} else {
			out = d
		}
	}
	return out, nil
}

func (l *Limiter) take(ctx context.Context, of Bucket) (Decision, error) {
	b := l.bucket(of.Name)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = of.Limit
	d, now := Decision{Bucket: of}, l.clock.Now()
	if b.reserved == 0 && !b.refuses(now) {
		nearly, err := l.reserve(ctx, of, b, now)
		if err != nil {
			return d, err
		}
		if nearly {
			d.Nearly = []Bucket{of}
		}
	}
	if b.reserved == 0 {
		d.Reset = of.untilNext(b.fullAt, now)
		return d, nil
	}
	b.reserved--
	d.Allowed = true
	d.Remaining = min(of.free(b.fullAt, now)+b.reserved, of.Limit-1)
	d.Reset = max(b.fullAt.Sub(now), 0)
	return d, nil
}

// refuses reports whether the bucket was found to be used up within usedUpFor. A clock that was ahead then does not count.
func (b *bucket) refuses(now time.Time) bool {
	return now.Before(b.usedUp) && b.usedUp.Sub(now) <= usedUpFor
}

// reserve takes a batch of requests from the source, or what is left if that is less. It reports whether that used most of the
// bucket.
func (l *Limiter) reserve(ctx context.Context, of Bucket, b *bucket, now time.Time) (nearly bool, err error) {
	n := min(max(of.Limit/reservationShare, 1), reservationMax)
	for n > 0 {
		use, err := l.source.Take(ctx, of.Name, now, n, of.Limit)
		if err != nil {
			return false, err
		}
		b.fullAt = use.FullAt
		if use.Taken {
			b.reserved, b.reservedAt = n, now
			return use.Nearly, nil
		}
		n = min(of.free(b.fullAt, now), n-1)
	}
	b.usedUp = now.Add(min(of.untilNext(b.fullAt, now), usedUpFor))
	return false, nil
}

// cost is the time in which one request refills.
func (of Bucket) cost() time.Duration { return Window / time.Duration(of.Limit) }

// free returns the number of requests that a bucket has at now if it is full at fullAt, which is rounded.
func (of Bucket) free(fullAt, now time.Time) int {
	return int(min(Window-fullAt.Sub(now)+time.Millisecond, Window).Hours() * float64(of.Limit))
}

// untilNext returns the time until a used up bucket has a request.
func (of Bucket) untilNext(fullAt, now time.Time) time.Duration {
	return max(fullAt.Sub(now)-Window+of.cost(), 0)
}

// giveBack undoes a take of this process.
func (l *Limiter) giveBack(of Bucket) {
	b := l.bucket(of.Name)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = of.Limit
	b.reserved++
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

// Sweep returns reservations that have been unused for reservationLife, and drops buckets that have been idle for an hour.
func (l *Limiter) Sweep(ctx context.Context) error {
	return l.release(ctx, func(b *bucket, now time.Time) bool { return now.Sub(b.reservedAt).Abs() > reservationLife })
}

// Drain returns every reservation. It is called once, when the process stops: otherwise the reserved requests count as
// used.
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
	if b.reserved > 0 {
		if err := l.source.Return(ctx, name, b.reserved, b.limit); err != nil {
			return err
		}
	}
	b.fullAt = b.fullAt.Add(-time.Duration(b.reserved) * Bucket{name, b.limit}.cost())
	b.reserved = 0
	if now.Sub(b.reservedAt).Abs() > Window {
		l.mu.Lock()
		delete(l.buckets, name)
		l.mu.Unlock()
	}
	return nil
}
