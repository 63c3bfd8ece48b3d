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
}

// outages checks that decisions were back in time after each fault.
func (c *checker) outages() {
	for _, o := range c.j.Outages {
		if o.Lasted > o.Limit {
			c.fault("after %q no decision was made for %s, longer than %s", o.Fault, o.Lasted.Round(time.Millisecond), o.Limit)
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
		o.Lasted, o.Returning = j.without(begun, mended), j.without(mended, time.Now())
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
