package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A server's heap may grow to four times what is live before it is collected, by at most headroom and always to twice.
// What is live is small (tens of megabytes): collecting at twice of it, as Go does unless told, took a fifth of the API's
// time under load. A thousand event streams make it large enough for the headroom to matter.
const (
	gcPercent      = 300
	leastGCPercent = 100
	headroom       = 112 << 20 // bytes
)

// collectLess sets it now and anew after each collection, unless the operator has set GOGC.
func collectLess() {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(gcPercent)
		afterCollection(gcPercent)
	}
}

// afterCollection adjusts the percentage once the next collection has found what is live, and so on for ever. The cleanup
// of an object that nobody holds is Go's only notice of a collection.
func afterCollection(now int) {
	held := new([64]byte)
	runtime.AddCleanup(held, func(now int) {
		if want := percentFor(live()); want != now {
			debug.SetGCPercent(want)
			now = want
		}
		afterCollection(now)
	}, now)
}

// live is what the last collection left and the stacks, which together the collector's percentage is of.
func live() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	total := uint64(0)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			total += s.Value.Uint64()
		}
	}
	return total
}

func percentFor(live uint64) int {
	if live == 0 {
		return gcPercent
	}
	return int(min(max(headroom*100/live, leastGCPercent), gcPercent))
}
