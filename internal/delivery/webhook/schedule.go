package webhook

import "time"

// delays are the pauses after each failed attempt: eight attempts in a little over 27 hours. They are documented in
// docs/events.md.
var delays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// MaxAttempts is the number of attempts of a delivery before it has failed.
const MaxAttempts = 8

// maxRetryAfter is the longest delay that a receiver's Retry-After header can cause.
const maxRetryAfter = 24 * time.Hour

// mostApart is more than the clocks of two processes that follow the database's differ: what was attempted later than in that time was
// attempted by a clock that was ahead, and the time of its next attempt does not count.
const mostApart = time.Minute

// DisableAfter is how long an endpoint may fail without a single success before it is disabled.
const DisableAfter = 5 * 24 * time.Hour

// nextTry returns the time of the next attempt after a failure, given the number of attempts so far; final means that there
// is none. Jitter in [0, 1) spreads the delay over 0.9 to 1.1 of itself, so that deliveries that failed together are not
// retried together. A longer Retry-After of the receiver is honoured.
func nextTry(attempts int, o AttemptResult, now time.Time, jitter float64) (at time.Time, final bool) {
	if o.Abort || attempts >= MaxAttempts {
		return time.Time{}, true
	}
	d := time.Duration(float64(delays[attempts-1]) * (0.9 + 0.2*jitter))
	return now.Add(max(d, min(o.RetryAfter, maxRetryAfter))), false
}
