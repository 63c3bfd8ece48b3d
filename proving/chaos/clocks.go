package chaos

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
)

const (
	// clockMeasured is within what a process notices that its clock differs from the database's: it compares every 15 s, and waits 2 s for the
	// response. Postgres has a moved clock within a second.
	clockMeasured = 20 * time.Second
	// clockStays is how long a moved clock stays: the processes have noticed, and the load goes on with what they do then.
	clockStays = clockMeasured + 8*time.Second
	// clockNoticed is the least deviation that counts as said by the metric.
	clockNoticed = time.Minute
)

var (
	// moved are the parts whose clocks are moved, and moves how far. An authorize request may be five minutes old.
	moved = []string{harness.ClockOfAPI, harness.ClockOfWorker, harness.ClockOfDatabase}
	moves = []time.Duration{7 * time.Minute, -7 * time.Minute, 3 * time.Hour, -3 * time.Hour}
	// clocksLast is how long all of them take.
	clocksLast = time.Duration(len(moved)*len(moves)) * (clockStays + clockMeasured)
)

// Clock describes one moved clock: what happened meanwhile, and after its correction.
type Clock struct {
	Name           string
	Refused        int           // responses with a 4xx status to ordinary requests, while it was moved and until the correction was noticed
	Said           time.Duration // the greatest deviation that the service's metric had meanwhile
	Asked, Decided int           // decisions requested after the correction, each once
}

// moveClocks moves the clock of each part forward and back, one at a time, in an order that the seed decides. Requests go on meanwhile.
func (w *world) moveClocks(ctx context.Context, d *disturber) error {
	for _, i := range d.rng.Perm(len(moved) * len(moves)) {
		if err := w.moveClock(ctx, d, moved[i/len(moves)], moves[i%len(moves)]); err != nil {
			return err
		}
	}
	return nil
}

// moveClock moves one clock, sets it right again and requests decisions.
func (w *world) moveClock(ctx context.Context, d *disturber, part string, by time.Duration) error {
	c := Clock{Name: fmt.Sprintf("clock of the %s %+v", part, by)}
	d.say("%s", c.Name)
	d.done[c.Name]++
	before := w.journal.excuse(true)
	if err := w.rig.MoveClock(part, by); err != nil {
		return err
	}
	if err := w.watchClocks(ctx, clockStays, &c); err != nil {
		return err
	}
	if err := w.rig.MoveClock(part, 0); err != nil {
		return err
	}
	if err := w.watchClocks(ctx, clockMeasured, &c); err != nil {
		return err
	}
	c.Refused = w.journal.excuse(false) - before
	var m Misuse
	w.probe(&m)
	c.Asked, c.Decided = m.Asked, m.Decided
	w.journal.write(func() { w.journal.Clocks = append(w.journal.Clocks, c) })
	return nil
}

// watchClocks reads the metric of both parts of the service for a time.
func (w *world) watchClocks(ctx context.Context, lasts time.Duration, c *Clock) error {
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		for _, s := range []*harness.Service{w.rig.API, w.rig.Worker} {
			if ahead, err := s.ClockAhead(ctx); err == nil {
				c.Said = max(c.Said, ahead.Abs())
			}
		}
		if !pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// excuse sets whether a moved clock explains that a request is refused, and returns how many were so far.
func (j *Journal) excuse(moved bool) (refused int) {
	j.write(func() { j.excused, refused = moved, j.refusals })
	return refused
}

// refused records a response that is no success: a violation, unless it is a refusal while a clock is moved.
func (j *Journal) refused(what string, status int, body []byte) {
	j.write(func() {
		if j.excused && status >= http.StatusBadRequest && status < http.StatusInternalServerError {
			j.refusals++
			return
		}
		j.Odd = append(j.Odd, fmt.Sprintf("%s returned status %d: %s", what, status, body))
	})
}

// clocks checks that each moved clock was said by the metric, and that nothing is refused after the correction.
func (c *checker) clocks() {
	for _, m := range c.j.Clocks {
		if m.Said < clockNoticed {
			c.fault("%s: the metric said no more than %s", m.Name, m.Said)
		}
		if m.Decided != m.Asked {
			c.fault("%s: of %d decisions that were requested after its correction, %d were made", m.Name, m.Asked, m.Decided)
		}
	}
}
