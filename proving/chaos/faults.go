package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/testing/faultproxy"
	"github.com/countersign-dev/countersign/proving/harness"
)

// disturber injects faults into the parts and undoes them. Its seed decides
// the order and the times.
type disturber struct {
	rig  *harness.Rig
	rng  *rand.Rand
	say  func(format string, args ...any)
	done map[string]int // faults by name
}

// fault is one way to break a part; mend undoes it.
type fault struct {
	name  string
	cause func()
	mend  func(ctx context.Context) error
}

// run injects and undoes faults until ctx ends. It leaves every part
// working.
func (d *disturber) run(ctx context.Context) error {
	for {
		if !pause(ctx, d.between(500, 2500)) {
			return nil
		}
		faults := []fault{d.pick()}
		if d.rng.IntN(5) == 0 {
			if second := d.pick(); second.name != faults[0].name {
				faults = append(faults, second)
			}
		}
		for _, f := range faults {
			d.say("%s", f.name)
			d.done[f.name]++
			f.cause()
		}
		pause(ctx, d.between(100, 4000))
		if err := d.mend(context.WithoutCancel(ctx), faults); err != nil {
			return err
		}
	}
}

// mend undoes faults concurrently, because one part may need the other. A
// part that ended because another was unavailable is started again, as a
// supervisor would in production.
func (d *disturber) mend(ctx context.Context, faults []fault) error {
	var g errgroup.Group
	for _, f := range faults {
		g.Go(func() error {
			if err := f.mend(ctx); err != nil {
				return fmt.Errorf("after %s: %w", f.name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, p := range d.processes() {
		if !p.Running() {
			d.say("%s ended by itself", p.Name)
			d.done[p.Name+" ended by itself"]++
			if err := revive(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// processes are the parts that can be killed or paused.
func (d *disturber) processes() []*harness.Process {
	all := append(d.rig.TemporalProcesses(), d.rig.API.Process, d.rig.Worker.Process)
	if d.rig.Postgres != nil {
		all = slices.Insert(all, 0, d.rig.Postgres)
	}
	return all
}

// between draws a time between two numbers of milliseconds.
func (d *disturber) between(least, most int) time.Duration {
	return time.Duration(least+d.rng.IntN(most-least)) * time.Millisecond
}

// pick draws a fault: half of them kill a part, the others pause one or
// disturb a connection.
func (d *disturber) pick() fault {
	processes := d.processes()
	proxies := map[string]*faultproxy.Proxy{"Postgres": d.rig.ToPostgres, "Temporal": d.rig.ToTemporal}
	switch d.rng.IntN(8) {
	case 0, 1, 2, 3:
		p := processes[d.rng.IntN(len(processes))]
		return fault{"kill -9 " + p.Name, p.Kill, func(ctx context.Context) error { return revive(ctx, p) }}
	case 4, 5:
		p := processes[d.rng.IntN(len(processes))]
		return fault{"pause " + p.Name, p.Pause, func(context.Context) error { p.Resume(); return nil }}
	default:
		name := []string{"Postgres", "Temporal"}[d.rng.IntN(2)]
		p := proxies[name]
		mode := []faultproxy.Mode{faultproxy.Cut, faultproxy.Silent}[d.rng.IntN(2)]
		if d.rng.IntN(3) == 0 {
			wait := d.between(20, 300)
			return fault{fmt.Sprintf("slow %s", name), func() { p.Slow(wait) }, func(context.Context) error { p.Slow(0); return nil }}
		}
		words := map[faultproxy.Mode]string{faultproxy.Cut: "cut off ", faultproxy.Silent: "silence "}
		return fault{words[mode] + name, func() { p.Set(mode) }, func(context.Context) error { p.Set(faultproxy.Passing); return nil }}
	}
}

// reviveWithin bounds how long a killed part may take to come back while
// other faults last.
const reviveWithin = 2 * time.Minute

// revive starts a part until it stays up: a part may end at once while a
// second one is unavailable.
func revive(ctx context.Context, p *harness.Process) error {
	ctx, cancel := context.WithTimeout(ctx, reviveWithin)
	defer cancel()
	for {
		err := p.Start(ctx)
		if err == nil {
			return nil
		}
		_ = p.Stop()
		if !pause(ctx, 300*time.Millisecond) {
			return err
		}
	}
}

// pause waits; it reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
