package webhook

import "time"

// Breaker is the circuit breaker of one endpoint. While it is closed, every due delivery is sent. After Threshold consecutive
// failures it opens: only one probe is sent at each ProbeAt, at growing intervals, until a probe succeeds and closes it. What has
// gathered meanwhile is then sent one at a time, with one more at once after every paceStep successes; a failure opens the breaker again.
//
// It is a value that the endpoint's workflow stores between batches. Its field names are in workflow histories and must not
// change.
type Breaker struct {
	Failures int           // consecutive failures
	Open     bool          // only probes are sent
	ProbeAt  time.Time     `json:",omitzero"` // time of the next probe, while open
	SetAt    time.Time     `json:",omitzero"` // when ProbeAt was set
	Backoff  time.Duration // interval before the next probe, while open; doubles up to maxBackoff
	Pace     int           `json:",omitempty"` // deliveries at once after a recovery; 0 is no limit
	Passed   int           `json:",omitempty"` // successes since Pace was raised
}

// Parameters of the breaker.
const (
	Threshold    = 5                // consecutive failures that open it
	firstBackoff = 10 * time.Second // before the first probe
	maxBackoff   = 5 * time.Minute
	paceStep     = 25 // successes after which a recovered endpoint gets one more at once
)

// Change is the effect of one attempt on a breaker.
type Change int

// The effects of an attempt.
const (
	Unchanged Change = iota
	Opened
	Closed
)

// ProbeDue reports whether the next probe may be sent. What was set at a time that is yet to come, or is later than any probe, was set by
// a clock that was ahead.
func (b Breaker) ProbeDue(now time.Time) bool {
	return !now.Before(b.ProbeAt) || b.SetAt.Sub(now) > mostApart || b.ProbeAt.Sub(now) > longestQuiet
}

// Slots returns how many deliveries may be started now if n may be under way at once and underWay already are.
func (b Breaker) Slots(n, underWay int, now time.Time) int {
	switch {
	case !b.Open && b.Pace > 0:
		return max(min(n, b.Pace)-underWay, 0)
	case !b.Open:
		return max(n-underWay, 0)
	case underWay == 0 && b.ProbeDue(now):
		return min(n, 1)
	default:
		return 0
	}
}

// Observe returns the breaker after one attempt. Jitter in [0, 1) spreads the interval of probes over 0.9 to 1.1 of itself.
// Failures of deliveries that were under way when the breaker opened do not delay the probe; a Retry-After of the receiver
// does.
func (b Breaker) Observe(o AttemptResult, now time.Time, jitter float64) (Breaker, Change) {
	switch {
	case o.Succeeded && b.Open:
		return Breaker{Pace: 1, Backoff: b.Backoff}, Closed
	case o.Succeeded:
		return b.succeeded(), Unchanged
	}
	b, change := b.failed(now, jitter)
	if asked := now.Add(min(o.RetryAfter, maxRetryAfter)); b.Open && o.RetryAfter > 0 && asked.After(b.ProbeAt) {
		b.ProbeAt, b.SetAt = asked, now
	}
	return b, change
}

// succeeded forgets the failures and, after a recovery, lets more be sent at once.
func (b Breaker) succeeded() Breaker {
	b.Failures = 0
	if b.Passed++; b.Pace > 0 && b.Passed == paceStep {
		b.Pace, b.Passed = b.Pace+1, 0
	}
	if b.Pace == 0 || b.Pace == concurrency {
		return Breaker{}
	}
	return b
}

// failed counts a failure and, when due, opens the breaker or schedules the next probe.
func (b Breaker) failed(now time.Time, jitter float64) (Breaker, Change) {
	b.Failures++
	switch {
	case !b.Open && b.Failures < Threshold && b.Pace == 0:
		return b, Unchanged
	case !b.Open:
		b.Open, b.Backoff = true, max(firstBackoff, min(2*b.Backoff, maxBackoff))
		b.Pace, b.Passed = 0, 0
		b.ProbeAt, b.SetAt = now.Add(spread(b.Backoff, jitter)), now
		return b, Opened
	case b.ProbeDue(now):
		b.Backoff = min(2*b.Backoff, maxBackoff)
		b.ProbeAt, b.SetAt = now.Add(spread(b.Backoff, jitter)), now
	}
	return b, Unchanged
}

// spread applies the jitter to d. It returns whole milliseconds: the probe must be due when a timer set for it fires, and
// stored times have no nanoseconds.
func spread(d time.Duration, jitter float64) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*jitter)).Truncate(time.Millisecond)
}
