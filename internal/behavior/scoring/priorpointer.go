package scoring

import (
	"math"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// How many events the bin of four and more stands for in 15 s of pointer use: steps, those in one direction, strokes and clicks.
const (
	pointerSteps   = 250
	pointerOctant  = 40
	pointerStrokes = 14
	pointerClicks  = 10
)

// typicalSpeed is the typical speed of a step in px/ms: slow ends of a movement included, half a pixel a millisecond.
const typicalSpeed = .5

// speedSpread is the standard deviation of the logarithm of a step's speed: strokes start and end slowly and peak at several px/ms.
const speedSpread = 1.4

// speedBands are the edges of the cells lvh#0 to lvh#6 in px/ms.
var speedBands = []float64{0, .03, .08, .2, .5, 1.2, 3, math.Inf(1)}

// turnShares are the shares of turn angles in the bands turn#0 to turn#6: most steps turn a little, few turn back.
var turnShares = []float64{.18, .18, .25, .2, .13, .02, .04}

// pointerStated states cells by the part of their name before a separator: mean, variance of an event, deviation between people that is the
// cell's own, and the deviations shared by cause. The hand's habits (smoothness, how strokes begin and end, how long a button is held)
// differ between people; directions and distances are the task's.
var pointerStated = map[string]stated{
	"drag":      {mean: .12, event: .11, own: .02, day: 20},
	"turnsgn":   {mean: 0, event: .8, own: .04, day: 1},
	"lcurv":     {mean: -4, event: 3, own: .1, day: .3, shared: map[string]float64{"turn": .12}},
	"turnslow":  {mean: .42, event: .24, own: .03, shared: map[string]float64{"turn": .05}},
	"turnfast":  {mean: .09, event: .012, own: .01, shared: map[string]float64{"turn": .01}},
	"lacc+":     {mean: -4.5, event: 2.2, own: .15, day: .4, shared: map[string]float64{"speed": .2, "rough": .2}},
	"lacc-":     {mean: -4.6, event: 2.8, own: .15, day: .4, shared: map[string]float64{"speed": .2, "rough": .15}},
	"accpos":    {mean: .46, event: .25, own: .02, day: 1},
	"lvratio":   {mean: .58, event: .35, own: .04, day: .2, shared: map[string]float64{"rough": .08}},
	"ljerk":     {mean: -7, event: 2.4, own: .25, day: .2, shared: map[string]float64{"speed": .2, "rough": .4}},
	"aflip":     {mean: .4, event: .24, own: .03, day: .2, shared: map[string]float64{"rough": .06}},
	"tflip":     {mean: .35, event: .22, own: .03, day: .3, shared: map[string]float64{"rough": .03}},
	"lgap":      {mean: 6, event: .2, own: .16, day: .4},
	"gaprate":   {mean: .02, event: .02, own: .008, day: .5},
	"hes":       {mean: .03, event: .03, own: .008, day: .6},
	"slen":      {mean: 5.8, event: 1.4, own: .2, day: .7, shared: map[string]float64{"speed": .1}},
	"sdur":      {mean: 6, event: .38, own: .1, day: .3, shared: map[string]float64{"speed": -.12}},
	"sstraight": {mean: -.2, event: .2, own: .06, day: .2},
	"sdev":      {mean: -2.3, event: 1, own: .18, day: .2},
	"svmax":     {mean: 1, event: .9, own: .1, day: .9, shared: map[string]float64{"speed": .2}},
	"stpk":      {mean: .3, event: .04, own: .05, day: .15},
	"sover":     {mean: .9, event: 2.4, own: .27, day: .3},
	"snsub":     {mean: -1.4, event: .07, own: .12, day: .1, shared: map[string]float64{"rough": .05}},
	"sdec":      {mean: -2.6, event: 1.3, own: .25, day: .4, shared: map[string]float64{"speed": -.1}},
	"sinit":     {mean: -1.6, event: 1.1, own: .4, day: .15, shared: map[string]float64{"speed": -.1}},
	"svmean":    {mean: -.1, event: .6, own: .1, day: .6, shared: map[string]float64{"speed": .22}},
	"sside":     {mean: .5, event: .25, own: .04, day: .4},
	"scv":       {mean: .94, event: .09, own: .1, day: .25},
	"lclick":    {mean: 4.4, event: .09, own: .26, day: .15}, // 80 ms
	"isdrag":    {mean: .12, event: .11, own: .02, day: 8},
	"isright":   {mean: .1, event: .1, own: .02, day: 8},
	"lpost":     {mean: 4.1, event: 1.7, own: .55, day: .3},
	"lpre":      {mean: 3.9, event: 1.8, own: .6, day: .2},
	"ldragd":    {mean: 5.7, event: 1.8, own: .3, day: .3},
	"ldragt":    {mean: 6.3, event: .36, own: .3, day: .2},
}

// byChord states what differs in strokes of less than 80 px, of up to 300 px, and longer ones: long strokes take longer, are faster and
// straighter, and brake more.
var byChord = map[string][3]float64{
	"sdur": {5.2, 5.9, 6.3}, "svmax": {-.5, .8, 1.7}, "stpk": {.33, .31, .28}, "sstraight": {-.35, -.3, -.15}, "sdec": {-1.2, -2.3, -3.1},
	"scls": {.2, .25, .55},
}

// priorPointer is the stated prior of pointer use.
func priorPointer() *Background {
	var cells []stated
	for _, c := range features.Cells(features.Pointer) {
		cells = append(cells, pointerCell(c.Name))
	}
	return priorOf(features.Pointer, cells, 500, Card{
		Data:       "stated numbers with their reasons (internal/behavior/scoring/priorpointer.go); no recordings",
		Licence:    "Apache-2.0",
		Population: "no one: assumptions about adults who use a mouse on a desktop computer",
		Learned:    "2026-11-22",
		Limitations: []string{
			"no person was recorded for it",
			"directions and distances depend on the page",
			"touchpads, styluses and touch screens are not covered",
		},
	})
}

func pointerCell(name string) stated {
	family, class := name, 0
	if i := strings.IndexAny(name, "#:"); i >= 0 {
		family = name[:i]
		class, _ = strconv.Atoi(name[i+1:])
	}
	s, ok := pointerStated[family]
	s.name, s.few = name, 1.7
	if s.drift = .05; s.day == 0 {
		s.day = .3
	}
	if v, chord := byChord[family]; chord && name != family {
		s.mean = v[class]
	}
	switch {
	case ok && strings.HasPrefix(name, "s") && name != family:
		s.many = pointerStrokes / 2
	case ok && strings.HasPrefix(name, "s"):
		s.many = pointerStrokes
	case strings.HasPrefix(name, "is") || strings.HasPrefix(name, "lp") || strings.HasPrefix(name, "ldrag") || name == "lclick" || name == "lgap":
		s.many = pointerClicks
	case ok:
		s.many = pointerSteps
	default:
		s.steps(family, class)
	}
	return s
}

// steps states the cells of the speed and the direction of steps, of the bands of turns, and the share of strokes by length.
func (s *stated) steps(family string, class int) {
	s.few, s.many = 2, pointerSteps
	switch family {
	case "lv":
		s.mean, s.event, s.own, s.day = math.Log(typicalSpeed), 2, .1, .5
		s.shared = map[string]float64{"speed": .22}
	case "lv_oct":
		s.mean = []float64{-.5, -.7, -1.5, -.7, -.5, -.7, -1.5, -.7}[class] // sideways is fastest, up and down slowest
		s.event, s.own, s.day, s.many = 1.6, .15, 1.2, pointerOctant
		s.shared = map[string]float64{"speed": .22}
	case "dir":
		s.mean = []float64{.23, .09, .09, .09, .23, .09, .09, .09}[class]
		s.event, s.own, s.day = .09, .015, 8
	case "lvh":
		lo, hi := speedBands[class], speedBands[class+1]
		share := func(speed float64) float64 {
			return math.Erfc(-math.Log(speed/typicalSpeed)/speedSpread/math.Sqrt2) / 2
		}
		s.mean = share(hi) - share(lo)
		s.event, s.own, s.day = .12, .02, .5
		s.shared = map[string]float64{"speed": .025 * float64(class-3) / 3}
	case "turn":
		s.mean, s.event = turnShares[class], turnShares[class]*(1-turnShares[class])
		s.own, s.day = .02, .5
		s.shared = map[string]float64{"turn": .012 * float64(class-2)}
	case "scls":
		s.event, s.own, s.day, s.many = .18, .05, .7, pointerStrokes
	}
}
