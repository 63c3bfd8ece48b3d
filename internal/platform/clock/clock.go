// Package clock gives time to everything that needs it, so that tests can move it.
// It holds no state of the product and does no I/O; nothing else in the module may call time.Now
// where the value is stored, compared or answered.
package clock

import (
	"sync"
	"time"
)

// Clock tells the present time. Values are UTC, rounded to the microsecond: what Postgres keeps.
type Clock interface {
	Now() time.Time
}

type system struct{}

func (system) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// System is the machine's clock.
func System() Clock { return system{} }

// Offset is a clock that runs d ahead of another (behind, where d is negative).
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

// Now returns where the clock stands.
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

// Set puts the clock at t.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = t.UTC()
}
