package webhook

import "time"

// Breaker keeps a broken endpoint from being called for every delivery. Closed, everything due is sent. After Threshold
// failures in a row it opens: nothing is sent but one probe each time ProbeAt comes, at growing distances; a probe that
// succeeds closes it. It is a value: the endpoint's workflow keeps it between batches.
type Breaker struct {
	Failures int           // in a row
	Open     bool          //
	ProbeAt  time.Time     // while open
	Backoff  time.Duration // the distance of the last two probes, while open
}

// The breaker's figures.
const (
	Threshold    = 5
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
)

// Change is what an outcome did to a breaker.
type Change int

// The changes.
const (
	Unchanged Change = iota
	Opened
	Closed
)

// Slots is how many of n deliveries may be started now, with underWay started already.
func (b Breaker) Slots(n, underWay int, now time.Time) int {
	switch {
	case !b.Open:
		return max(n-underWay, 0)
	case underWay == 0 && !now.Before(b.ProbeAt):
		return min(n, 1)
	default:
		return 0
	}
}

// Observe takes one outcome in. Jitter in [0, 1) spreads the distance of probes from 0.9 to 1.1 of itself. Deliveries that
// were under way when the breaker opened do not push the probe further away; a Retry-After of the receiver does.
func (b Breaker) Observe(o AttemptResult, now time.Time, jitter float64) (Breaker, Change) {
	switch {
	case o.Succeeded && b.Open:
		return Breaker{}, Closed
	case o.Succeeded:
		return Breaker{}, Unchanged
	}
	b, change := b.failed(now, jitter)
	if asked := now.Add(min(o.RetryAfter, maxRetryAfter)); b.Open && o.RetryAfter > 0 && asked.After(b.ProbeAt) {
		b.ProbeAt = asked
	}
	return b, change
}

func (b Breaker) failed(now time.Time, jitter float64) (Breaker, Change) {
	b.Failures++
	switch {
	case !b.Open && b.Failures < Threshold:
		return b, Unchanged
	case !b.Open:
		b.Open, b.Backoff = true, firstBackoff
		b.ProbeAt = now.Add(spread(b.Backoff, jitter))
		return b, Opened
	case !now.Before(b.ProbeAt):
		b.Backoff = min(2*b.Backoff, maxBackoff)
		b.ProbeAt = now.Add(spread(b.Backoff, jitter))
	}
	return b, Unchanged
}

// spread is in whole milliseconds: a probe must be due when a timer set for it fires, and clocks do not tell nanoseconds.
func spread(d time.Duration, jitter float64) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*jitter)).Truncate(time.Millisecond)
}
