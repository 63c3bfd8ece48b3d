package chaos

import (
	"slices"
	"time"
)

// Repeated sums up the times without a decision of one fault.
type Repeated struct {
	Fault                     string
	Times                     int
	Shortest, Median, Longest time.Duration
}

// Repetitions sums up the faults that were injected more than once, in the order of their first time. One sample says little on a
// machine that does much else.
func Repetitions(outages []Outage) (all []Repeated) {
	var names []string
	lasted := map[string][]time.Duration{}
	for _, o := range outages {
		if _, known := lasted[o.Fault]; !known {
			names = append(names, o.Fault)
		}
		lasted[o.Fault] = append(lasted[o.Fault], o.Lasted)
	}
	for _, name := range names {
		sorted := slices.Sorted(slices.Values(lasted[name]))
		n := len(sorted)
		if n < 2 {
			continue
		}
		median := (sorted[(n-1)/2] + sorted[n/2]) / 2
		all = append(all, Repeated{Fault: name, Times: n, Shortest: sorted[0], Median: median, Longest: sorted[n-1]})
	}
	return all
}
