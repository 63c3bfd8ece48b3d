// Package clock provides the current time behind an interface, so that tests can control it.
//
// It may not do I/O. No other package may call time.Now for a value that is stored, compared or returned.
package clock

import (
	"sync"
	"time"
)

// Clock returns the current time. Values are in UTC and truncated to the microsecond, the resolution of Postgres.
type Clock interface {
	Now() time.Time
}

type system struct{}

func (system) Now() time.Time { return machine().UTC().Truncate(time.Microsecond) }

// System is the machine's clock.
func System() Clock { return system{} }

// Offset returns a clock that runs d ahead of another, or behind if d is negative.
func Offset(c Clock, d time.Duration) Clock { return offset{c, d} }

type offset struct {
	Clock
	by time.Duration
}

func (o offset) Now() time.Time { return o.Clock.Now().Add(o.by) }

// Fake is a clock that stands still until it is moved. It is safe for concurrent use.
type Fake struct {
	mu  sync.Mutex
	now time.Time
}

// NewFake returns a clock standing at t.
func NewFake(t time.Time) *Fake { return &Fake{now: t.UTC()} }

// Now returns the time that the clock was set to.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the clock forward by d.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// Set moves the clock to t, which may be in its past.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = t.UTC()
}

// Fired reports whether the timer has fired, without waiting. It takes what the timer sent.
func Fired(t *time.Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}
