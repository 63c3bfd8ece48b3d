package loadgen

import (
	"slices"
	"time"
)

// Result has the latencies and failures of a load.
type Result struct {
	Latencies []time.Duration // of what succeeded
	Failed    int
	Why       map[string]int // how often each error was seen
	Elapsed   time.Duration
}

// add records one piece of work. A failure has no latency.
func (r *Result) add(took time.Duration, err error) {
	if err == nil {
		r.Latencies = append(r.Latencies, took)
		return
	}
	r.Failed++
	r.because(err.Error(), 1)
}

// because counts a reason for a failure. Beyond maxReasons different ones,
// all others are counted together.
func (r *Result) because(why string, n int) {
	if r.Why == nil {
		r.Why = map[string]int{}
	}
	if _, known := r.Why[why]; !known && len(r.Why) >= maxReasons {
		why = "other reasons"
	}
	r.Why[why] += n
}

// maxReasons bounds how many different errors are recorded.
const maxReasons = 8

// Join adds the result of a further load of the same work.
func (r *Result) Join(o Result) {
	r.Latencies = append(r.Latencies, o.Latencies...)
	r.Failed += o.Failed
	r.Elapsed += o.Elapsed
	for why, n := range o.Why {
		r.because(why, n)
	}
}

// Done is how many pieces of work succeeded.
func (r *Result) Done() int { return len(r.Latencies) }

// PerSecond is how many succeeded a second.
func (r *Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Done()) / r.Elapsed.Seconds()
}

// Quantile is the smallest latency that the share q (0 to 1) of the
// successes did not exceed; 0 if there are none. It sorts Latencies in
// place, so it must not be called concurrently.
func (r *Result) Quantile(q float64) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	if !slices.IsSorted(r.Latencies) {
		slices.Sort(r.Latencies)
	}
	at := int(q*float64(len(r.Latencies)) + .9999999)
	return r.Latencies[min(max(at-1, 0), len(r.Latencies)-1)]
}
