package features

import "math"

// KeyEvent is one key press with its release. It is raw content: extractors return only timing statistics of it.
type KeyEvent struct {
	// Name of the tables (see KeyName), physical position, not the character.
	Key     string
	Press   float64 // ms
	Release float64 // ms
}

// activeGapMS is the longest pause between presses that still counts as typing, in ms.
const activeGapMS = 2000

// ExtractKeystroke computes the keystroke block and presence scalars of one frame from its presses, in order of press.
func ExtractKeystroke(events []KeyEvent) (Block, Presence) {
	acc := accumulateKeys(events)
	return Block{Cells: acc.vector(), Events: len(events), ActiveMS: activeKeyMS(events)}, keyPresence(events)
}

// ExactKeystroke computes the block without binning and rounding, for training backgrounds only.
func ExactKeystroke(events []KeyEvent) Exact { return accumulateKeys(events).exact() }

// activeKeyMS sums the press-press times up to activeGapMS, in ms.
func activeKeyMS(events []KeyEvent) float64 {
	total := 0.0
	for i := 1; i < len(events); i++ {
		if gap := events[i].Press - events[i-1].Press; gap > 0 {
			total += math.Min(gap, activeGapMS)
		}
	}
	return math.Round(math.Min(total, MaxActiveMS))
}

// Offsets of the families within the keystroke vector.
var (
	offHold       = 0
	offPP         = offHold + len(keyGroups)
	offRP         = offPP + len(fineClasses)
	offHoldSpread = offRP + len(fineClasses)
	offPPSpread   = offHoldSpread + len(coarseGroups)
	offRates      = offPPSpread + len(coarseClasses)
)

// Positions within the rates.
const (
	rateBackspace = iota
	rateShift
	ratePause5
	ratePause10
	rateOverlapLetters
	rateOverlapSpace
	rateOverlapOther
	rateCaps
	rateBackspaceRun
	rateBeforeBackspace
	rateShiftHold
)

// accumulateKeys adds every press and every pair of consecutive presses.
func accumulateKeys(events []KeyEvent) *accumulator {
	acc := newAccumulator(Keystroke)
	for i, ev := range events {
		key := lookupKey(ev.Key)
		accumulatePress(acc, key, ev.Release-ev.Press)
		if i+1 < len(events) {
			next := events[i+1]
			accumulatePair(acc, key, lookupKey(next.Key), next.Press-ev.Press, next.Press-ev.Release)
		}
	}
	return acc
}

// accumulatePress adds the residual of the log hold time: log(hold) minus the typical one.
func accumulatePress(acc *accumulator, key keyInfo, hold float64) {
	acc.add(offRates+rateBackspace, share(key.group == groupBackspace))
	acc.add(offRates+rateShift, share(key.group == groupShift))
	if key.group == groupShift {
		acc.add(offRates+rateCaps, share(key.capsLock))
		if hold > 0 {
			acc.add(offRates+rateShiftHold, math.Log(clamp(hold, 25, 2000)))
		}
	}
	if hold > 0 && hold < 800 {
		r := clamp(math.Log(clamp(hold, 25, 400))-tables.Hold, tables.Clip.Hold[0], tables.Clip.Hold[1])
		acc.add(offHold+key.group, r)
		acc.add(offHoldSpread+key.coarseGroup(), math.Abs(r))
	}
}

// accumulatePair adds the residuals of log(press-press) and asinh(release-press) to the coarse and fine class of the pair.
func accumulatePair(acc *accumulator, a, b keyInfo, pp, rp float64) {
	if a.group == groupBackspace {
		acc.add(offRates+rateBackspaceRun, share(b.group == groupBackspace))
	}
	if a.group != groupBackspace && b.group == groupBackspace && pp > 0 {
		acc.add(offRates+rateBeforeBackspace, math.Log(clamp(pp, 30, 3000)))
	}
	if pp > 0 {
		acc.add(offRates+ratePause5, share(pp > 500))
		acc.add(offRates+ratePause10, share(pp > 1000))
	}
	if !(pp > 0 && pp < 1500) {
		return
	}
	coarse, fine := transition(a, b)
	r := clamp(math.Log(clamp(pp, 30, 1000))-tables.PP, tables.Clip.PP[0], tables.Clip.PP[1])
	acc.add(offPP+fine, r)
	acc.add(offPPSpread+coarse, math.Abs(r))
	if math.Abs(rp) < 1500 {
		acc.add(offRP+fine, clamp(math.Asinh(clamp(rp, -250, 1000)/50)-tables.RP, tables.Clip.RP[0], tables.Clip.RP[1]))
		acc.add(offRates+overlapRate(a, b), share(rp < 0))
	}
}

// overlapRate returns the rate cell for a second press before the first release, by hand; -1 if the pair has none.
func overlapRate(a, b keyInfo) int {
	switch {
	case a.letter && b.letter:
		return rateOverlapLetters
	case a.group == groupSpace || b.group == groupSpace:
		return rateOverlapSpace
	}
	return rateOverlapOther
}

// clamp limits a value to a range.
func clamp(v, lo, hi float64) float64 { return math.Min(math.Max(v, lo), hi) }
