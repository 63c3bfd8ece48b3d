package clock

import (
	"context"
	"sync/atomic"
	"time"
)

// Tolerance is the deviation that is not corrected. The clock of a machine synchronized by NTP stays below it.
const Tolerance = 100 * time.Millisecond

// Following is a clock corrected by an authority, the database's clock, so that replicas agree on the time even if the clock of
// one of them is wrong. Between measurements it advances by its own clock. It is safe for concurrent use.
type Following struct {
	own Clock
	// Nanoseconds that own is ahead of the authority; 0 within the tolerance.
	ahead atomic.Int64
}

// Follow returns a clock that is uncorrected until the first Measure.
func Follow(own Clock) *Following { return &Following{own: own} }

// Now returns the authority's time as estimated by the last measurement.
func (f *Following) Now() time.Time { return f.own.Now().Add(-f.Ahead()) }

// Ahead returns the correction: positive if the own clock is ahead of the authority, 0 within the tolerance.
func (f *Following) Ahead() time.Duration { return time.Duration(f.ahead.Load()) }

// Measure asks the authority for its time and updates the correction. Half of the round trip is assumed to be the way there. A
// response that took longer than 1 s is too imprecise and changes nothing, like an error.
func (f *Following) Measure(ctx context.Context, ask func(context.Context) (time.Time, error)) error {
	before := f.own.Now()
	authority, err := ask(ctx)
	if err != nil {
		return err
	}
	took := f.own.Now().Sub(before)
	if took > time.Second || took < 0 {
		return nil
	}
	ahead := before.Add(took / 2).Sub(authority).Truncate(time.Microsecond)
	if ahead.Abs() <= Tolerance+took/2 {
		ahead = 0
	}
	f.ahead.Store(int64(ahead))
	return nil
}
