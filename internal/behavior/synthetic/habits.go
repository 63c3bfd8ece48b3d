package synthetic

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// habits is a person's typing of today, by keystroke cell: the stated prior's mean, the person's offset from it and today's. What the
// cells imply about single presses is solved once for each class of keys.
type habits struct {
	cells  map[string]float64
	spread map[string]float64
	tilt   map[string]float64
}

// dayShare is the part of the change from day to day that the prior allows for which simulated people show: their next day is like
// another hour of a recorded person.
const dayShare = .12

// newHabits draws a day of a person: W, and a share of B for the change from day to day.
func newHabits(rng *rand.Rand, offset []float64) habits {
	bg := scoring.Default().Background(features.Keystroke)
	within, between := draw(rng, bg.Within, bg.Dim()), draw(rng, bg.Between, bg.Dim())
	h := habits{map[string]float64{}, map[string]float64{}, map[string]float64{}}
	for i, cell := range features.Cells(features.Keystroke) {
		v := bg.Mu[i] + offset[i] + within[i] + math.Sqrt(dayShare*bg.DriftCells[i])*between[i]
		h.cells[cell.Name] = math.Min(math.Max(v, cell.Min), cell.Max)
	}
	return h
}

// rate returns a share of today, at least least, so that what the text contains does not become impossible.
func (h habits) rate(name string, least float64) float64 { return math.Max(h.cells[name], least) }

// spreadOf returns the deviation of single times around mean whose mean distance from the typical time is the cell's.
func (h habits) spreadOf(cell string, mean, least, most float64) float64 {
	if sd, ok := h.spread[cell]; ok {
		return sd
	}
	sd := solve(least, most, func(sd float64) float64 { return folded(mean, sd) - h.cells[cell] })
	h.spread[cell] = sd
	return sd
}

// folded returns the mean of the absolute value of a normal distribution.
func folded(mean, sd float64) float64 {
	return sd*math.Sqrt(2/math.Pi)*math.Exp(-mean*mean/(2*sd*sd)) + mean*math.Erf(mean/(sd*math.Sqrt2))
}

// solve returns where an increasing function is 0 between two bounds, or the nearer bound.
func solve(lo, hi float64, f func(float64) float64) float64 {
	for range 24 {
		if mid := (lo + hi) / 2; f(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// Bounds of the deviations of log holds and log times from press to press of one person within a class. Beyond the upper ones single
// times vary more than the prior's variance of an event.
const (
	leastHoldSD, mostHoldSD   = .12, .25
	leastPressSD, mostPressSD = .18, .42
	// skew is the share of the tail to the right in the deviation of an interval.
	skew = .68
	// tiltShare is how far a key before a class is held longer or shorter to meet the release cell of the class: its mean already follows
	// from those of holds and presses, which leave it some freedom only.
	tiltShare = .5
	mostTilt  = .35
)

// holdOf returns the mean and the deviation of the log hold in ms of a key.
func (h habits) holdOf(key string) (mean, sd float64) {
	typical, _, _ := features.Typical()
	group := features.KeyGroup(key)
	mean = h.cells["h:"+group]
	sd = h.spreadOf("hs:"+spreadGroup(key, group), mean, leastHoldSD, mostHoldSD)
	if group == "SH" {
		return (typical + mean + h.cells["shhold:c"]) / 2, sd
	}
	return typical + mean, sd
}

// spreadGroup returns the group of keys for which the spread of holds is a cell.
func spreadGroup(key, group string) string {
	letter := len(key) == 1 && key >= "a" && key <= "z"
	switch {
	case letter:
		return group[:1]
	case group == "SP" || group == "BS" || group == "SH" || group == "OT":
		return group
	}
	return "PU"
}

// pressOf returns the mean and the deviation of the log time in ms from one key to the next.
func (h habits) pressOf(a, b string) (mean, sd float64) {
	_, typical, _ := features.Typical()
	class := features.TransitionClass(a, b)
	coarse, _ := strings.CutSuffix(class, "_rowchg")
	mean = h.cells["p:"+class]
	sd = h.spreadOf("ps:"+coarse, h.cells["p:"+coarse], leastPressSD, mostPressSD)
	if class == "let_BS" {
		return (typical + mean + h.cells["pbefBS:c"]) / 2, sd
	}
	return typical + mean, sd
}

// tiltOf returns how much longer than usual, in log ms, a key is held before the next one.
func (h habits) tiltOf(a, b string) float64 {
	class, group := features.TransitionClass(a, b), features.KeyGroup(a)
	at := class + "/" + group
	if tilt, ok := h.tilt[at]; ok {
		return tilt
	}
	_, _, typical := features.Typical()
	press, sd := h.pressOf(a, b)
	hold, _ := h.holdOf(a)
	usual := released(press, sd, hold) - typical
	target := usual + tiltShare*(h.cells["r:"+class]-usual)
	tilt := solve(-mostTilt, mostTilt, func(tilt float64) float64 { return target - released(press, sd, hold+tilt) + typical })
	h.tilt[at] = tilt
	return tilt
}

// released returns the mean asinh of the time from release to press, over the times from press to press.
func released(press, sd, hold float64) float64 {
	sum, weights := 0.0, 0.0
	for z := -2.5; z <= 2.5; z += .5 {
		w := math.Exp(-z * z / 2)
		sum += w * math.Asinh((math.Exp(press+sd*z)-math.Exp(hold))/50)
		weights += w
	}
	return sum / weights
}
