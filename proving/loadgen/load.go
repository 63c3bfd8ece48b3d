// Package loadgen sends work at a rate that does not depend on how fast it completes (open loop), or from a fixed number of
// clients (closed loop), and records every latency. In the open loop a latency counts from the moment the work was due, not
// from when a client was free to send it, so that a stall of the server shows in the latencies of all requests due meanwhile
// (coordinated omission). The package does not depend on what the work is and prints nothing.
package loadgen

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Work sends one request. i counts from 0 over all calls of a load.
type Work func(ctx context.Context, i int) error

// Open starts rate pieces of work a second for the given time, whether or
// not earlier ones have completed, by at most so many clients at once. Work
// that is due while every client is busy waits, and its latency includes
// the wait.
func Open(ctx context.Context, rate float64, clients int, lasts time.Duration, do Work) Result {
	return OpenEach(ctx, Schedule{Rate: rate, Clients: clients, Lasts: lasts}, do, nil)
}

// Schedule is when an open loop sends work: so many pieces a second, by at
// most so many clients at once.
type Schedule struct {
	Rate    float64
	Clients int
	Lasts   time.Duration
}

// OpenEach is Open and calls each, concurrently, with every piece of work
// that succeeded: when it was due after the start, and how long it took.
func OpenEach(ctx context.Context, s Schedule, do Work, each func(due, took time.Duration)) Result {
	n := int64(s.Rate * s.Lasts.Seconds())
	start := time.Now()
	var next atomic.Int64
	return gather(s.Clients, start, func(r *Result) {
		for {
			i := next.Add(1) - 1
			if i >= n || ctx.Err() != nil {
				return
			}
			after := time.Duration(float64(i) / s.Rate * float64(time.Second))
			due := start.Add(after)
			if !sleep(ctx, time.Until(due)) {
				return
			}
			err := do(ctx, int(i))
			took := time.Since(due)
			r.add(took, err)
			if each != nil && err == nil {
				each(after, took)
			}
		}
	})
}

// Closed lets each client send one piece of work after the other until the
// time is over.
func Closed(ctx context.Context, clients int, lasts time.Duration, do Work) Result {
	start := time.Now()
	end := start.Add(lasts)
	var next atomic.Int64
	return gather(clients, start, func(r *Result) {
		for ctx.Err() == nil {
			sent := time.Now()
			if !sent.Before(end) {
				return
			}
			err := do(ctx, int(next.Add(1)-1))
			r.add(time.Since(sent), err)
		}
	})
}

// gather runs the clients, each with a result of its own, and joins the
// results.
func gather(clients int, start time.Time, client func(r *Result)) Result {
	each := make([]Result, clients)
	var running sync.WaitGroup
	for i := range each {
		running.Go(func() { client(&each[i]) })
	}
	running.Wait()
	var all Result
	for _, r := range each {
		all.Join(r)
	}
	all.Elapsed = time.Since(start)
	return all
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
