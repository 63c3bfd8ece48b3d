package scoring

import (
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Limits of the presence tests. Correlations fall together if typing times ignore which keys are typed; the range limits lie
// outside 99.5 % of recorded people. Measured rates are in docs/accuracy.md.
const (
	// Mean of corr_pp + corr_hold over the last frames.
	corrDetect = 0.35
	// The same for one frame.
	corrSuspect = 0.25
	corrHuman   = 0.60
	// The least keys for the mean.
	corrKeys       = 100
	corrFrameKeys  = 30
	presenceFrames = 6
	// Frames on which regularity is judged.
	regularFrames = 3
	tooRegular    = -1.0
	// Pointer rules broken at once that need no second frame.
	blatantRules = 4
	// Pointer events a frame must have to be tested.
	pointerFrameMin = 60
)

// presenceFrame holds the values of one frame that the presence tests use.
type presenceFrame struct {
	Keys int `json:"k,omitempty"`
	// See irregularity.
	Irregular float64 `json:"i,omitempty"`
	Corr      float64 `json:"c,omitempty"`
	HasCorr   bool    `json:"hc,omitempty"`
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
	pp, okPP := f.Presence.Get("corr_pp")
	hold, okHold := f.Presence.Get("corr_hold")
	cov, okCov := f.Presence.Get("table_cov")
	p.Tested = okPP && okHold && p.Keys >= corrFrameKeys
	p.HasCorr = p.Tested && okCov && cov >= tableCoverage
	p.Corr = pp + hold
	if p.Tested {
		p.Ranges = typingRanges(f)
		p.Irregular = irregularity(f.Presence)
	}
	if b, ok := f.Block(features.Pointer); ok && b.Events >= pointerFrameMin {
		if _, ok := f.Presence.Get("sd_lv"); ok {
			p.HasPointer, p.PointerRules = true, pointerRules(f)
		}
	}
	return p, p.Tested || p.HasPointer
}

// irregularity is a linear discriminant between people and programs that add noise to digraph times. People's residuals are skewed
// and heavy-tailed, slightly autocorrelated, and their holds vary more. 0 is the midpoint; programs are below. It was fitted on half of
// the Aalto typists and is only a hint: a program written against it evades it.
func irregularity(p features.Presence) float64 {
	get := func(name string) float64 { v, _ := p.Get(name); return v }
	skew := math.Min(math.Max(get("skew_res"), -2), 2)
	tails := math.Log(math.Max(get("kurt_res"), -1.9) + 2)
	return 1.2*skew + 1.6*tails + 3.9*get("lag1_hold") + 2.6*get("corr_res") - 1.8*get("corr_hold_pp") + 4.8*get("sd_lhold") - 3.46
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
	// Positive evidence of a person, not only the absence of signs.
	human  bool
	frames int
}

// judgePresence runs the typing tests and the pointer tests.
func judgePresence(frames []presenceFrame) presenceVerdict {
	var v presenceVerdict
	v.frames = len(frames)
	v.tested = len(frames) > 0
	typing(frames, &v)
	pointing(frames, &v)
	return v
}

// typing tests the correlation, the range and the regularity of typing.
func typing(frames []presenceFrame, v *presenceVerdict) {
	keys, sum, out, last := 0, 0.0, 0, 0.0
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Ranges >= 2 {
			out += 2
		} else {
			out += f.Ranges
		}
		if f.HasCorr && keys < 2*corrKeys {
			if keys == 0 {
				last = f.Corr
			}
			keys += f.Keys
			sum += f.Corr * float64(f.Keys)
		}
	}
	tested, irregular := 0, 0.0
	for _, f := range frames {
		if f.Tested {
			tested++
			irregular += f.Irregular
		}
	}
	v.suspected = v.suspected || tested >= regularFrames && irregular/float64(tested) < tooRegular
	if out >= 2 {
		v.detected = append(v.detected, ReasonAutomationRange)
	}
	v.suspected = v.suspected || out == 1
	if keys == 0 {
		return
	}
	mean := sum / float64(keys)
	switch {
	case keys >= corrKeys && mean < corrDetect:
		v.detected = append(v.detected, ReasonAutomationTyping)
	case last < corrSuspect:
		v.suspected = true
	case keys >= corrKeys && mean >= corrHuman:
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
