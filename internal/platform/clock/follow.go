package clock

import (
	"context"
	"sync/atomic"
	"time"
)

// Tolerance is how far a clock may be from the one it follows before it is corrected: a machine whose clock is kept by NTP
// is left alone.
const Tolerance = 100 * time.Millisecond

// Following is a clock that follows an authority (the database's clock), so that replicas agree on the time although one of
// them has its clock off. Between measurements it runs by its own.
type Following struct {
	own   Clock
	ahead atomic.Int64 // nanoseconds that own is ahead of the authority; 0 within the tolerance
}

// Follow makes a clock that runs by its own until it is measured.
func Follow(own Clock) *Following { return &Following{own: own} }

// Now is the authority's time as far as it is known.
func (f *Following) Now() time.Time { return f.own.Now().Add(-f.Ahead()) }

// Ahead is by how much the clock's own time is corrected: positive where it is ahead of the authority.
func (f *Following) Ahead() time.Duration { return time.Duration(f.ahead.Load()) }

// Measure asks the authority for its time and corrects by it. An answer that took longer than a second says too little
// and changes nothing.
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
