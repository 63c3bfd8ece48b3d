package wiring

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// How often a process compares its clock with the database's, and how long it waits for the answer.
const (
	measureEvery  = 15 * time.Second
	measureWithin = 2 * time.Second
)

// measure compares the process's clock with the database's, which it then follows. If the database is unavailable,
// nothing changes.
func measure(ctx context.Context, f *clock.Following, st *pg.Store) error {
	ctx, cancel := context.WithTimeout(ctx, measureWithin)
	defer cancel()
	return f.Measure(ctx, st.Time)
}

// followTime keeps the clock by the database's until the process is closed: replicas then agree on what has expired,
// although the machine of one has its clock off.
func (p *Process) followTime() {
	f := p.following
	if f == nil {
		return
	}
	p.Ops.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "countersign_clock_ahead_seconds",
		Help: "How far this machine's clock is ahead of the database's, as corrected for; 0 within a tenth of a second."},
		func() float64 { return f.Ahead().Seconds() }))
	ctx, stop := context.WithCancel(context.Background())
	p.stopTime = stop
	go func() {
		tick := time.NewTicker(measureEvery)
		defer tick.Stop()
		for {
			before := f.Ahead()
			if err := measure(ctx, f, p.Store); err != nil {
				p.Log.DebugContext(ctx, "the database's time cannot be read", "error", err)
			} else if ahead := f.Ahead(); ahead != 0 && before == 0 {
				p.Log.WarnContext(ctx, "this machine's clock is off; going by the database's", "ahead", ahead.String())
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
}
