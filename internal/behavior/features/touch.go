package features

import "math"

// TapKind is the kind of one event of an on-screen keyboard.
type TapKind string

// A key inserted one character, a deletion removed one. Whole is text that appeared at once: a swiped word, a suggestion, a correction,
// dictation. It has no timing of a person, and no time is measured across it.
const (
	TapKey    TapKind = "key"
	TapDelete TapKind = "delete"
	TapWhole  TapKind = "whole"
)

// Tap is one event of a keyboard that does not report its keys. Which character it was is unknown.
type Tap struct {
	T    float64 // ms
	Kind TapKind
	// Time in ms until the release; 0 if the browser does not report it.
	Hold float64
}

const (
	// typicalTap is log(221): on-screen keyboards are typed on at some 36 words a minute (Palin et al. 2019).
	typicalTap = 5.4
	// Browsers that invent the release report it within a few ms.
	minTapHold = 20
	maxTapHold = 800
	maxTapGap  = 1500
)

// touchCells are the values that exist without keys: times between taps, holds where reported, and shares.
func touchCells() []Cell {
	c := func(name, unit string, lo, hi float64, def string) Cell { return Cell{name, Touch, def, unit, lo, hi} }
	low, top := math.Log(30), math.Log(maxTapGap)
	return []Cell{
		c("t:key", "log ms", low, top, "log(clip(dt,30,1500)) from one typed character to the next, 0 < dt < 1500 ms"),
		c("t:to_del", "log ms", low, top, "the same from a character to a deletion"),
		c("t:from_del", "log ms", low, top, "the same from a deletion to a character"),
		c("ts:key", "log ms", 0, typicalTap-low, "spread of t:key: absolute value of log(clip(dt,30,1500)) less 5.4"),
		c("th:key", "log ms", math.Log(minTapHold), math.Log(maxTapHold), "log(hold) where the browser reports one of 20 to 800 ms"),
		c("td:all", "share", 0, 1, "share of taps that delete"),
		c("tp5:all", "share", 0, 1, "share of times from tap to tap over 500 ms"),
		c("tp10:all", "share", 0, 1, "share of times from tap to tap over 1000 ms"),
		c("tw:all", "share", 0, 1, "share of inputs that inserted text at once: swiped, suggested, corrected, dictated"),
	}
}

// ExtractTouch computes the touch block of one frame from its taps, in order of time.
func ExtractTouch(taps []Tap) Block {
	acc := newAccumulator(Touch)
	active := 0.0
	for i, tap := range taps {
		acc.named("tw:all", share(tap.Kind == TapWhole))
		if tap.Kind != TapWhole {
			acc.named("td:all", share(tap.Kind == TapDelete))
		}
		if tap.Hold >= minTapHold && tap.Hold <= maxTapHold {
			acc.named("th:key", math.Log(tap.Hold))
		}
		if i+1 < len(taps) {
			dt := taps[i+1].T - tap.T
			if dt > 0 {
				active += math.Min(dt, activeGapMS)
			}
			accumulateTaps(acc, tap.Kind, taps[i+1].Kind, dt)
		}
	}
	return Block{Cells: acc.vector(), Events: len(taps), ActiveMS: math.Round(math.Min(active, MaxActiveMS))}
}

// accumulateTaps adds the time from one tap to the next. Two deletions are not timed: holding the key repeats it.
func accumulateTaps(acc *accumulator, a, b TapKind, dt float64) {
	if a == TapWhole || b == TapWhole || !(dt > 0) {
		return
	}
	acc.named("tp5:all", share(dt > 500))
	acc.named("tp10:all", share(dt > 1000))
	if dt >= maxTapGap || a == TapDelete && b == TapDelete {
		return
	}
	v := math.Log(clamp(dt, 30, maxTapGap))
	switch {
	case b == TapDelete:
		acc.named("t:to_del", v)
	case a == TapDelete:
		acc.named("t:from_del", v)
	default:
		acc.named("t:key", v)
		acc.named("ts:key", math.Abs(v-typicalTap))
	}
}
