package scoring

import (
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Limits of the presence tests. The correlations fall together when typing times ignore which keys are typed; the range
// limits lie outside 99.5 % of recorded people. Measured rates are in docs/accuracy.md.
const (
	corrDetect      = 0.35 // mean of corr_pp + corr_hold over the last frames
	corrSuspect     = 0.25 // the same of one frame
	corrHuman       = 0.60
	corrKeys        = 100 // keys the mean must stand on
	corrFrameKeys   = 30
	presenceFrames  = 6
	regularFrames   = 3 // frames on which regularity is judged
	tooRegular      = -1.0
	blatantRules    = 4  // pointer rules broken at once that need no second frame
	pointerFrameMin = 60 // pointer events a frame must have to be tested
)

// presenceFrame is what the presence tests need of one frame.
type presenceFrame struct {
	Keys         int     `json:"k,omitempty"`
	Irregular    float64 `json:"i,omitempty"` // see irregularity
	Corr         float64 `json:"c,omitempty"`
	HasCorr      bool    `json:"hc,omitempty"`
	Ranges       int     `json:"r,omitempty"` // typing statistics outside the human range
	Tested       bool    `json:"t,omitempty"` // typing was tested at all
	PointerRules int     `json:"p,omitempty"`
	HasPointer   bool    `json:"hp,omitempty"`
}

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

// irregularity is a linear discriminant between people and programs that know digraph times and add noise: people's
// residuals are skewed and heavy-tailed, follow each other a little, and their holds vary more. 0 is half-way; programs
// are below. It was fitted on half of the Aalto typists and hints only: a program made against it evades it.
func irregularity(p features.Presence) float64 {
	get := func(name string) float64 { v, _ := p.Get(name); return v }
	skew := math.Min(math.Max(get("skew_res"), -2), 2)
	tails := math.Log(math.Max(get("kurt_res"), -1.9) + 2)
	return 1.2*skew + 1.6*tails + 3.9*get("lag1_hold") + 2.6*get("corr_res") - 1.8*get("corr_hold_pp") + 4.8*get("sd_lhold") - 3.46
}

type limit struct {
	name   string
	lo, hi float64
}

var typingLimits = []limit{
	{"sd_lpp", .20, math.Inf(1)},
	{"sd_lhold", .08, math.Inf(1)},
	{"med_hold", 25, 400},
	{"med_pp", 25, math.Inf(1)},
	{"p90p10_pp", .40, math.Inf(1)},
	{"skew_pp", -.35, math.Inf(1)},
}

// pointerLimits lie outside what 99.2 % of the frames of two sets of people show, widened a little: people's speed varies
// within a stroke and from step to step, has slow ends, and does not run along axes. Polling intervals are left out: they
// depend on the mouse and the browser.
var pointerLimits = []limit{
	{"sd_lv", .80, 2.1},
	{"unit_steps", .03, .62},
	{"axis_diag", .12, .94},
	{"uniq_steps", .10, .95},
}

// pointerCellLimits are the same for cells.
var pointerCellLimits = []limit{
	{"lvh#0", .01, .18},
	{"lvratio", .30, 1.0},
	{"scv", .45, 1.7},
}

func typingRanges(f features.Frame) int { return outside(f.Presence, typingLimits) }

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

func outside(p features.Presence, limits []limit) int {
	n := 0
	for _, l := range limits {
		if v, ok := p.Get(l.name); ok && (v < l.lo || v > l.hi) {
			n++
		}
	}
	return n
}

// presenceVerdict is the outcome of the presence tests over the recent frames.
type presenceVerdict struct {
	tested    bool
	detected  []string // reason codes of automation
	suspected bool
	human     bool // positive evidence of a person, not only the absence of signs
	frames    int
}

func judgePresence(frames []presenceFrame) presenceVerdict {
	var v presenceVerdict
	v.frames = len(frames)
	v.tested = len(frames) > 0
	typing(frames, &v)
	pointing(frames, &v)
	return v
}

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
