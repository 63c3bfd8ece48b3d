package scoring

import (
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Limits of the presence tests. Measured rates are in docs/accuracy.md.
const (
	// Log-likelihood ratio of the pattern below which it is a program's, and above which it is a person's.
	patternDetect = -8
	patternHuman  = 5
	// Below it a program is suspected.
	patternSuspect = -5.5
	// The least keys for a detection.
	patternLeast   = 100
	typingKeys     = 30
	presenceFrames = 6
	// Pointer rules broken at once that need no second frame.
	blatantRules = 4
	// Pointer events a frame must have to be tested.
	pointerFrameMin = 60
)

// presenceFrame holds the values of one frame that the presence tests use.
type presenceFrame struct {
	Keys int `json:"k,omitempty"`
	// Typing statistics outside the human range.
	Ranges int `json:"r,omitempty"`
	// Whether typing was tested.
	Tested       bool `json:"t,omitempty"`
	PointerRules int  `json:"p,omitempty"`
	HasPointer   bool `json:"hp,omitempty"`
}

// newPresenceFrame extracts the values that the presence tests use, and reports whether the frame has any.
func newPresenceFrame(f features.Frame) (presenceFrame, bool) {
	p := presenceFrame{Keys: f.Keys()}
	_, timed := f.Presence.Get("sd_lpp")
	if p.Tested = timed && p.Keys >= typingKeys; p.Tested {
		p.Ranges = typingRanges(f)
	}
	if b, ok := f.Block(features.Pointer); ok && b.Events >= pointerFrameMin {
		if _, ok := f.Presence.Get("sd_lv"); ok {
			p.HasPointer, p.PointerRules = true, pointerRules(f)
		}
	}
	return p, p.Tested || p.HasPointer
}

// limit is the range of a scalar or cell outside which a frame is unusual for people.
type limit struct {
	name   string
	lo, hi float64
}

// typingLimits are ranges of typing scalars that 99.5 % of recorded people are within.
var typingLimits = []limit{
	{"sd_lpp", .20, math.Inf(1)},
	{"sd_lhold", .08, math.Inf(1)},
	{"med_hold", 25, 400},
	{"med_pp", 25, math.Inf(1)},
	{"p90p10_pp", .40, math.Inf(1)},
	{"skew_pp", -.35, math.Inf(1)},
}

// pointerLimits lie outside 99.2 % of the frames of two groups of people, slightly widened. People's speed varies within a stroke
// and between steps, is slow at the ends, and is not aligned with the axes. Polling intervals are not used: they depend on the mouse
// and the browser.
var pointerLimits = []limit{
	{"sd_lv", .80, 2.1},
	{"unit_steps", .03, .62},
	{"axis_diag", .12, .94},
	{"uniq_steps", .10, .95},
}

// pointerCellLimits are the same limits for cells.
var pointerCellLimits = []limit{
	{"lvh#0", .01, .18},
	{"lvratio", .30, 1.0},
	{"scv", .45, 1.7},
}

// typingRanges counts the typing scalars outside the range of people.
func typingRanges(f features.Frame) int { return outside(f.Presence, typingLimits) }

// pointerRules counts the pointer scalars and cells outside the range of people.
func pointerRules(f features.Frame) int {
	n := outside(f.Presence, pointerLimits)
	block, _ := f.Block(features.Pointer)
	for _, l := range pointerCellLimits {
		i := features.CellIndex(features.Pointer, l.name)
		if v := block.Cells.M[i]; block.Cells.N[i] == features.CountMany && (v < l.lo || v > l.hi) {
			n++
		}
	}
	return n
}

// outside counts the scalars outside their limits.
func outside(p features.Presence, limits []limit) int {
	n := 0
	for _, l := range limits {
		if v, ok := p.Get(l.name); ok && (v < l.lo || v > l.hi) {
			n++
		}
	}
	return n
}

// presenceVerdict is the result of the presence tests over the recent frames.
type presenceVerdict struct {
	tested bool
	// Reason codes of automation.
	detected  []string
	suspected bool
	// The frames scatter as those of a program that imitates averages.
	imitation bool
	// Positive evidence of a person, not only the absence of signs.
	human  bool
	frames int
}

// judgePresence runs the typing tests and the pointer tests.
func judgePresence(s State) presenceVerdict {
	var v presenceVerdict
	v.frames = len(s.Presence)
	v.tested = len(s.Presence) > 0
	typing(s.Presence, &v)
	patterned(s.Pattern, &v)
	v.imitation = v.tested && s.Scatter.imitates()
	v.suspected = v.suspected || v.imitation
	pointing(s.Presence, &v)
	return v
}

// typing tests whether typing scalars are within the range of people.
func typing(frames []presenceFrame, v *presenceVerdict) {
	out := 0
	for _, f := range frames {
		out += min(f.Ranges, 2)
	}
	if out >= 2 {
		v.detected = append(v.detected, ReasonAutomationRange)
	}
	v.suspected = v.suspected || out == 1
}

// patterned tests whether the times follow the keys as people's do.
func patterned(p pattern, v *presenceVerdict) {
	if p.Keys < patternLeast || !v.tested {
		return
	}
	switch {
	case p.Ratio < patternDetect:
		v.detected = append(v.detected, ReasonAutomationTyping)
	case p.Ratio < patternSuspect:
		v.suspected = true
	case p.Ratio >= patternHuman:
		v.human = true
	}
}

// pointing tests the pointer against the limits of people.
func pointing(frames []presenceFrame, v *presenceVerdict) {
	tested, flagged, clean, blatant := 0, 0, 0, false
	for _, f := range frames {
		if !f.HasPointer {
			continue
		}
		tested++
		if f.PointerRules >= 2 {
			flagged++
		}
		blatant = blatant || f.PointerRules >= blatantRules
		if f.PointerRules == 0 {
			clean++
		}
	}
	switch {
	case (flagged >= 2 || blatant) && 2*flagged > tested:
		v.detected = append(v.detected, ReasonAutomationPointer)
	case flagged > 0:
		v.suspected = true
	case tested >= 2 && clean == tested:
		v.human = true
	}
}
