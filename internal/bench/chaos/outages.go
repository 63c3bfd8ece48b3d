package chaos

import (
	"time"
)

// Outage describes one fault of a machine as clients saw it, from the fault until the cluster was whole again.
type Outage struct {
	Fault       string
	Lasted      time.Duration // the longest time without a decision
	Limit       time.Duration // that it may last
	Unavailable int           // responses with status 503
	Slowest     time.Duration // the longest that a client waited for a response of any status
}

// outages checks that decisions were back in time after each fault.
func (c *checker) outages() {
	for _, o := range c.j.Outages {
		if o.Lasted > o.Limit {
			c.fault("after %q no decision was made for %s, longer than %s", o.Fault, o.Lasted.Round(time.Millisecond), o.Limit)
		}
	}
}

// timed records the end of a request.
func (j *Journal) timed(took time.Duration, decided bool) {
	now := time.Now()
	j.write(func() {
		j.slowest = max(j.slowest, took)
		if decided {
			j.decided = append(j.decided, now)
		}
	})
}

// interval begins an observation. The returned function ends it and returns what clients saw meanwhile.
func (j *Journal) interval() (end func() Outage) {
	begun, before := time.Now(), 0
	j.write(func() { j.slowest, before = 0, j.Responses[503] })
	return func() (o Outage) {
		now := time.Now()
		o.Lasted = j.longestGap(begun, now)
		j.write(func() { o.Slowest, o.Unavailable = j.slowest, j.Responses[503]-before })
		return o
	}
}

// longestGap returns the longest time between two moments without a decision.
func (j *Journal) longestGap(from, to time.Time) (gap time.Duration) {
	j.write(func() {
		last := from
		for _, at := range j.decided {
			if at.After(from) && at.Before(to) {
				gap = max(gap, at.Sub(last))
				last = at
			}
		}
		gap = max(gap, to.Sub(last))
	})
	return gap
}
