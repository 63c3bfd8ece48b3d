package scoring

import (
	"math"

	"github.com/countersign-dev/countersign/internal/features"
)

// fingerprint is a keystroke frame in steps of 1/20 deviation, one byte a cell: enough to recognise the frame when it
// comes again, with jitter or without.
type fingerprint []int8

const (
	absent    = math.MinInt8
	printStep = 20
)

func newFingerprint(bg *Background, v features.Vector) fingerprint {
	out := make(fingerprint, len(v.N))
	for i, n := range v.N {
		out[i] = absent
		if n > 0 {
			z := math.Round((v.M[i] - bg.Mu[i]) / bg.sd[i] * printStep)
			out[i] = int8(math.Min(math.Max(z, -127), 127))
		}
	}
	return out
}

// distance is the mean absolute difference in deviations over the cells both frames have; infinite where they share too
// few cells to be the same recording.
func (p fingerprint) distance(q fingerprint) float64 {
	if len(p) != len(q) {
		return math.Inf(1)
	}
	both, either, sum := 0, 0, 0
	for i := range p {
		hasP, hasQ := p[i] != absent, q[i] != absent
		if hasP || hasQ {
			either++
		}
		if hasP && hasQ {
			both++
			d := int(p[i]) - int(q[i])
			sum += max(d, -d)
		}
	}
	if both < replayCells || float64(both) < replayOverlap*float64(either) {
		return math.Inf(1)
	}
	return float64(sum) / float64(both) / printStep
}

// nearest is the smallest distance to any of the prints.
func (p fingerprint) nearest(prints []fingerprint) float64 {
	best := math.Inf(1)
	for _, q := range prints {
		best = math.Min(best, p.distance(q))
	}
	return best
}
