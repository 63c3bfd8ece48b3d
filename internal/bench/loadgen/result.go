package loadgen

import (
	"slices"
	"time"
)

// Result is what came of a run.
type Result struct {
	Latencies []time.Duration // of what succeeded
	Failed    int
	Why       map[string]int // how often each error was seen
	Elapsed   time.Duration
}

func (r *Result) add(took time.Duration, err error) {
	if err == nil {
		r.Latencies = append(r.Latencies, took)
		return
	}
	r.Failed++
	r.because(err.Error(), 1)
}

// because counts a reason; beyond a few, all others are one.
func (r *Result) because(why string, n int) {
	if r.Why == nil {
		r.Why = map[string]int{}
	}
	if _, known := r.Why[why]; !known && len(r.Why) >= maxReasons {
		why = "other reasons"
	}
	r.Why[why] += n
}

// maxReasons bounds how many different errors are kept.
const maxReasons = 8

// Join adds another run of the same work.
func (r *Result) Join(o Result) {
	r.Latencies = append(r.Latencies, o.Latencies...)
	r.Failed += o.Failed
	r.Elapsed += o.Elapsed
	for why, n := range o.Why {
		r.because(why, n)
	}
}

// Done is how many succeeded.
func (r *Result) Done() int { return len(r.Latencies) }

// PerSecond is how many succeeded a second.
func (r *Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Done()) / r.Elapsed.Seconds()
}

// Quantile is the smallest latency that the share q (0 to 1) of what succeeded did not exceed; 0 where nothing did.
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
