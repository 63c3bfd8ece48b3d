package chaos

import "time"

// Outage describes one fault of a machine as clients saw it, from the fault until the cluster was whole again.
type Outage struct {
	Fault       string
	Lasted      time.Duration // the time without a decision until the machine returned, of all pauses together
	Limit       time.Duration // that it may last
	Returning   time.Duration // the time without a decision from then on, which may last as long as the loss of a machine
	Unavailable int           // responses with status 503
	Slowest     time.Duration // the longest that a client waited for a response of any status
	// Moveless is the longest time without a completion, cancellation or review, which go through Temporal, from the fault until the
	// cluster was whole; MoveLimit is its limit, 0 for faults of which Temporal's own database is a part.
	Moveless, MoveLimit time.Duration
}

// outages checks that decisions were back in time after each fault.
func (c *checker) outages() {
	for _, o := range c.j.Outages {
		if o.Lasted > o.Limit {
			c.fault("after %q no decision was made for %s, longer than %s", o.Fault, o.Lasted.Round(time.Millisecond), o.Limit)
		}
		if o.MoveLimit > 0 && o.Moveless > o.MoveLimit {
			c.fault("after %q no challenge or hold was settled for %s, longer than %s", o.Fault, o.Moveless.Round(time.Millisecond), o.MoveLimit)
		}
		if o.Returning > backAfterLoss {
			c.fault("when the machine of %q returned no decision was made for %s, longer than %s", o.Fault, o.Returning.Round(time.Millisecond), backAfterLoss)
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

// interval begins an observation. The returned function ends it and returns what clients saw meanwhile; mended is when the fault was
// undone.
func (j *Journal) interval() (end func(mended time.Time) Outage) {
	begun, before := time.Now(), 0
	j.write(func() { j.slowest, before = 0, j.Responses[503] })
	return func(mended time.Time) (o Outage) {
		o.Lasted, o.Returning, o.Moveless = j.without(begun, mended), j.without(mended, time.Now()), j.moveless(begun, time.Now())
		j.write(func() { o.Slowest, o.Unavailable = j.slowest, j.Responses[503]-before })
		return o
	}
}

// pauseCounts is the shortest time without a decision that counts; clients wait up to a third of a second before they repeat a request.
const pauseCounts = 500 * time.Millisecond

// without returns the time without a decision between two moments: the sum of all pauses that count.
func (j *Journal) without(from, to time.Time) (sum time.Duration) {
	j.write(func() {
		last := from
		count := func(at time.Time) {
			if gap := at.Sub(last); gap >= pauseCounts {
				sum += gap
			}
			last = at
		}
		for _, at := range j.decided {
			if at.After(from) && at.Before(to) {
				count(at)
			}
		}
		count(to)
	})
	return sum
}

// moved records that a challenge or hold was settled.
func (j *Journal) moved() {
	now := time.Now()
	j.write(func() { j.moves = append(j.moves, now) })
}

// moveless returns the longest time between two moments in which no challenge or hold was settled.
func (j *Journal) moveless(from, to time.Time) (longest time.Duration) {
	j.write(func() {
		last := from
		for _, at := range j.moves {
			if at.After(from) && at.Before(to) {
				longest, last = max(longest, at.Sub(last)), at
			}
		}
		longest = max(longest, to.Sub(last))
	})
	return longest
}
