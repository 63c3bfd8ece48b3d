package scoring

import (
	"math"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Typical times in ms. People type some 50 words a minute on average and hold a key for about a tenth of a second; their distribution is
// skewed to the right, so typical times are below the mean.
const (
	typicalHold  = 95
	typicalShift = 230 // shift is held until the other key is down
)

// pressMS is the typical time from press to press in each class of transition, in ms. Studies of typing agree on the pattern:
// keys of different hands follow each other 30 to 60 ms sooner than keys of one hand (Salthouse 1984, 1986), the same finger on different
// keys is slowest, repeated keys are limited by the finger and vary little (Gentner 1983), a word's first letter comes late
// (Ostry 1983), and there is a pause before a correction.
var pressMS = map[string]float64{
	"LLsamekey": 175, "LLsamefinger": 215, "same_L_adj": 170, "same_L_far": 180, "same_R_adj": 165, "same_R_far": 170,
	"alt_LR": 150, "alt_RL": 150, "L_SP": 145, "R_SP": 155, "SP_L": 225, "SP_R": 245, "let_BS": 430, "BS_BS": 165, "BS_let": 280,
	"SH_let": 185, "x_SH": 240, "let_PU": 230, "PU_x": 210, "x_other": 330,
}

// changedRow is how much longer a transition of two letters takes if they are in different rows.
const changedRow = 1.05

// How much times vary within a person, as deviations of their logarithms.
const (
	pressSpread = .5
	holdSpread  = .28
)

// Standard deviations between people, by cause. Speed is the largest: the middle two thirds of people type between about 35 and 70 words a
// minute. Holds vary independently of it. Some people let keys overlap and others do not, at equal speed.
const (
	speedSD   = .28
	holdSD    = .20
	overlapSD = .35
	startSD   = .20 // how long people think before words, capitals and corrections
	classSD   = .16 // of one class of transitions, whatever the others
	fingerSD  = .11 // of one finger's holds
)

// priorKeys is the stated prior of typing.
func priorKeys() *Background {
	var cells []stated
	for _, c := range features.Cells(features.Keystroke) {
		family, class, _ := strings.Cut(c.Name, ":")
		s := stated{name: c.Name, few: 2, many: 40}
		switch family {
		case "h":
			s.hold(class)
		case "p":
			s.press(class)
		case "r":
			s.release(class)
		case "hs", "ps":
			s.spread(family, class)
		default:
			s.rate(c.Name)
		}
		s.count(family, class)
		s.share(family, class)
		cells = append(cells, s)
	}
	return priorOf(features.Keystroke, cells, 50, Card{
		Data:       "stated numbers with their reasons (internal/behavior/scoring/priorkeys.go); no recordings",
		Licence:    "Apache-2.0",
		Population: "no one: assumptions about adults who type on desktop keyboards",
		Learned:    "2026-11-22",
		Limitations: []string{
			"no person was recorded for it: no claim is more than likely until enough of a deployment's own people have enrolled",
			"the pattern of class means is that of touch typing on QWERTY keyboards",
			"mobile keyboards are not covered",
		},
	})
}

// hold states the mean hold of a group of keys.
func (s *stated) hold(group string) {
	typical, _, _ := features.Typical()
	s.mean = math.Log(typicalHold) - typical
	s.event, s.own, s.drift = .075, fingerSD, .15
	s.shared = map[string]float64{"hold": holdSD}
	if group == "SH" {
		s.mean = expected(math.Log(typicalShift), .5, func(v float64) float64 { return math.Min(v-typical, .9) })
		s.event, s.own = .12, .2
	}
}

// thought lists the classes before which people think: they vary more between people.
func thought(class string) bool {
	switch class {
	case "SP_L", "SP_R", "BS_let", "let_BS", "SH_let", "x_SH", "let_PU", "PU_x", "x_other":
		return true
	}
	return false
}

// typicalPress returns the log of the typical time from press to press in a class.
func typicalPress(class string) float64 {
	base, changed := strings.CutSuffix(class, "_rowchg")
	if changed {
		return math.Log(pressMS[base] * changedRow)
	}
	return math.Log(pressMS[base])
}

// press states the mean time from press to press in a class.
func (s *stated) press(class string) {
	_, typical, _ := features.Typical()
	s.mean = expected(typicalPress(class), pressSpread, func(v float64) float64 { return clip(v-typical, 1.25) })
	s.event, s.own, s.drift = .24, classSD, .08
	s.shared = map[string]float64{"speed": speedSD}
	switch {
	case class == "LLsamekey" || class == "BS_BS": // limited by the finger: alike in all people
		s.event, s.own = .09, .08
		s.shared = map[string]float64{"speed": speedSD / 3}
	case thought(class):
		s.event = .3
		s.shared["start"] = startSD
	}
}

// release states the mean time from release to press in a class, which follows from the hold and the time from press to press.
func (s *stated) release(class string) {
	_, _, typical := features.Typical()
	press, sd := typicalPress(class), pressSpread
	if class == "LLsamekey" || class == "BS_BS" {
		sd = .2
	}
	gap := func(v float64) float64 { return math.Asinh((math.Exp(v) - typicalHold) / 50) }
	if class == "SH_let" { // shift is still down
		gap = func(v float64) float64 { return math.Asinh((math.Exp(v) - typicalShift) / 50) }
	}
	s.mean = expected(press, sd, func(v float64) float64 { return clip(gap(v)-typical, 2.5) })
	s.slope = expected(press, sd, func(v float64) float64 { return (gap(v+.1) - gap(v-.1)) / .2 })
	s.follows, s.event, s.own, s.drift = "p:"+class, .85, .25, .08
	s.shared = map[string]float64{"speed": s.slope * speedSD, "hold": -.8 * s.slope * holdSD / 1.6, "overlap": overlapSD}
	switch {
	case class == "LLsamekey" || class == "BS_BS":
		s.event, s.own = .15, .1
		s.shared = map[string]float64{"speed": s.slope * speedSD / 3, "hold": -.2}
	case thought(class):
		s.shared["start"] = s.slope * startSD
	}
}

// clip bounds a value on both sides.
func clip(v, most float64) float64 { return math.Min(math.Max(v, -most), most) }

// spread states the mean distance from the typical value: of holds (hs) and of times from press to press (ps).
func (s *stated) spread(family, class string) {
	hold, press, _ := features.Typical()
	if family == "hs" {
		centre := math.Log(typicalHold)
		if class == "SH" {
			centre = math.Log(typicalShift)
		}
		s.mean = expected(centre, math.Hypot(holdSpread, holdSD), func(v float64) float64 { return math.Min(math.Abs(v-hold), .9) })
		s.event, s.own, s.drift = .03, .09, .3
		return
	}
	s.mean = expected(typicalPress(class), math.Hypot(pressSpread, speedSD), func(v float64) float64 { return math.Min(math.Abs(v-press), 1.25) })
	s.event, s.own, s.drift = .09, .10, .1
	s.shared = map[string]float64{"start": .08}
}

// rates states the shares and the two times of corrections and shift: mean, variance of an event, deviation between people.
var rates = map[string][3]float64{
	"bs:all": {.06, .055, .03}, "sh:all": {.04, .04, .012}, "pause5:all": {.09, .08, .08}, "pause10:all": {.02, .02, .03},
	"ovl:ll": {.25, .15, .1}, "ovl:sp": {.2, .12, .1}, "ovl:o": {.25, .17, .1}, "caps:c": {.1, .03, .25}, "bsrun:c": {.45, .25, .1},
	"pbefBS:c": {6.1, .2, .3}, "shhold:c": {5.44, .23, .4},
}

// rate states a share or one of the two times.
func (s *stated) rate(name string) {
	v := rates[name]
	s.mean, s.event, s.own, s.drift = v[0], v[1], v[2], .3
	if strings.HasPrefix(name, "ovl:") {
		s.shared = map[string]float64{"overlap": -.14}
	}
}
