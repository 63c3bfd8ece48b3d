package webhook

import "time"

// delays are the pauses after the first try and each one after it: eight tries in a little over 27 hours.
var delays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// MaxAttempts is how often one delivery is tried.
const MaxAttempts = 8

// maxRetryAfter bounds how long a receiver may put a delivery off.
const maxRetryAfter = 24 * time.Hour

// DisableAfter is how long an endpoint may fail without one success in between.
const DisableAfter = 5 * 24 * time.Hour

// nextTry is when to try again after a failure, attempts tries having been made; final where there is no next time.
// Jitter in [0, 1) spreads the delay from 0.9 to 1.1 of itself, so that endpoints that broke together are not tried
// together. A longer Retry-After of the receiver is honoured.
func nextTry(attempts int, o AttemptResult, now time.Time, jitter float64) (at time.Time, final bool) {
	if o.Abort || attempts >= MaxAttempts {
		return time.Time{}, true
	}
	d := time.Duration(float64(delays[attempts-1]) * (0.9 + 0.2*jitter))
	return now.Add(max(d, min(o.RetryAfter, maxRetryAfter))), false
}
