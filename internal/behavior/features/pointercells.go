package features

import (
	"fmt"
	"math"
)

// maxPathPX is the longest path that the logarithmic cells represent, from the limits of the formulas.
const maxPathPX = 1e6

// pointerCells lists the cells about speed, acceleration, direction and clicks, and those about strokes. Speeds are in px
// per ms.
func pointerCells() []Cell {
	var out []Cell
	add := func(name, unit string, lo, hi float64, format string, args ...any) {
		out = append(out, Cell{name, Pointer, fmt.Sprintf(format, args...), unit, lo, hi})
	}
	speedLo, speedHi := math.Log(.01), math.Log(20)
	add("lv", "log px/ms", speedLo, speedHi, "log(clip(speed,.01,20)) of a step, 0 < dt < 200 ms and moving")
	for c := range 8 {
		add(fmt.Sprintf("lv_oct:%d", c), "log px/ms", speedLo, speedHi, "lv of steps in direction octant %d (0 is towards -x, clockwise on the screen)", c)
	}
	for c := range 8 {
		add(fmt.Sprintf("dir#%d", c), "share", 0, 1, "share of steps in direction octant %d", c)
	}
	for c := range len(speedEdges) + 1 {
		add(fmt.Sprintf("lvh#%d", c), "share", 0, 1, "share of steps in speed band %d; edges .03 .08 .2 .5 1.2 3 px/ms", c)
	}
	add("drag", "share", 0, 1, "share of steps with a button held")
	for c := range len(turnEdges) + 1 {
		add(fmt.Sprintf("turn#%d", c), "share", 0, 1, "share of turn angles in band %d; edges 1e-6 .05 .15 .35 .8 1.57 rad", c)
	}
	add("turnsgn", "1", -1, 1, "mean sign of the turn angle")
	add("lcurv", "log rad/px", math.Log(.003), math.Log(math.Pi+.003), "log(|turn| / max(step,1) + .003)")
	add("turnslow", "rad", 0, 1.57, "|turn| (at most 1.57) at speeds under .3 px/ms")
	add("turnfast", "rad", 0, 1.57, "|turn| (at most 1.57) at speeds over 1 px/ms")
	add("lacc+", "log px/ms2", math.Log(1e-4), 0, "log(clip(|acceleration|,1e-4,1)) where speeding up")
	add("lacc-", "log px/ms2", math.Log(1e-4), 0, "log(clip(|acceleration|,1e-4,1)) where slowing down")
	add("accpos", "share", 0, 1, "share of accelerations that are positive")
	add("lvratio", "log", 0, 3, "|difference of successive lv|, at most 3")
	add("ljerk", "log px/ms3", math.Log(1e-6), math.Log(.2), "log(clip(|jerk|,1e-6,.2))")
	add("aflip", "share", 0, 1, "share of successive accelerations of opposite sign")
	add("tflip", "share", 0, 1, "share of successive turns of opposite sign")
	add("lgap", "log ms", math.Log(200), math.Log(5000), "log(clip(pause,200,5000)) of pauses of 200 ms and more")
	add("gaprate", "share", 0, 1, "share of steps that are such pauses")
	add("hes", "share", 0, 1, "share of steps of 60 to 200 ms")
	out = append(out, strokeCells()...)
	add("lclick", "log ms", math.Log(15), math.Log(800), "log(clip(press to release,15,800)) of clicks moving under 6 px, under 1500 ms")
	add("isdrag", "share", 0, 1, "share of presses that move 6 px and more before the release")
	add("isright", "share", 0, 1, "share of presses with the right button")
	add("lpost", "log ms", 0, math.Log(3000), "log(clip(release to next move,1,3000))")
	add("lpre", "log ms", 0, math.Log(3000), "log(clip(last move to press,1,3000))")
	add("ldragd", "log px", 0, math.Log(maxPathPX), "log(distance + 1) of a drag")
	add("ldragt", "log ms", -7, math.Log(MaxActiveMS), "log(duration) of a drag")
	return out
}

// strokeCells lists the cells about whole strokes, by the length of their chord.
func strokeCells() []Cell {
	var out []Cell
	add := func(name, unit string, lo, hi float64, def string) {
		out = append(out, Cell{name, Pointer, def, unit, lo, hi})
	}
	logEps, logBig := math.Log(.01), math.Log(maxPathPX)
	const stroke = "of a stroke"
	ranges := map[string]Cell{
		"sdur":      {Unit: "log ms", Min: -7, Max: math.Log(MaxActiveMS), Definition: "log duration " + stroke},
		"svmax":     {Unit: "log px/ms", Min: logEps, Max: logBig, Definition: "log(top speed + .01) " + stroke},
		"stpk":      {Unit: "share", Min: 0, Max: 1, Definition: "time of top speed as a share of the duration " + stroke},
		"sstraight": {Unit: "log", Min: -logBig, Max: .1, Definition: "log((chord + 1) / (path + 1)) " + stroke},
		"sdec":      {Unit: "log", Min: -logBig, Max: .1, Definition: "log((mean of the last 3 speeds + .01) / (top + .01)) " + stroke},
	}
	named := func(name, suffix, note string) {
		c := ranges[name]
		add(name+suffix, c.Unit, c.Min, c.Max, c.Definition+note)
	}
	add("slen", "log px", math.Log(10), logBig, "log path length "+stroke)
	named("sdur", "", "")
	named("sstraight", "", "")
	add("sdev", "log", logEps, logBig, "log(largest deviation from the chord / max(chord,1) + .01) "+stroke)
	named("svmax", "", "")
	named("stpk", "", "")
	add("sover", "log px", 0, logBig, "log(overshoot beyond the chord's end + 1) "+stroke)
	add("snsub", "log", -12, 1, "log((speed peaks + 1) / steps) "+stroke)
	named("sdec", "", "")
	add("sinit", "log", -logBig, .1, "log((mean of the first 3 speeds + .01) / (top + .01)) "+stroke)
	add("svmean", "log px/ms", logEps, logBig, "log(path / duration + .01) "+stroke)
	add("sside", "share", 0, 1, "share of strokes that bend to the positive side")
	add("scv", "1", 0, 1000, "speed deviation over (mean speed + .01) "+stroke)
	for c, chord := range []string{"under 80 px", "80 to 300 px", "300 px and more"} {
		suffix, note := fmt.Sprintf(":%d", c), ", chord "+chord
		add(fmt.Sprintf("scls#%d", c), "share", 0, 1, "share of strokes with a chord "+chord)
		for _, name := range []string{"sdur", "svmax", "stpk", "sstraight", "sdec"} {
			named(name, suffix, note)
		}
	}
	return out
}
