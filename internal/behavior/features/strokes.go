package features

import "math"

// accumulateStrokes splits the moves into strokes. A stroke ends at a pause of 100 ms or at a button event between two moves.
func accumulateStrokes(acc pointerAcc, s *steps) {
	start := 0
	for i := 0; i <= len(s.dt); i++ {
		if i == len(s.dt) || s.dt[i] >= 100 || s.index[i+1]-s.index[i] > 1 {
			if i < len(s.t) {
				accumulateStroke(acc, s, start, i)
			}
			start = i + 1
		}
	}
}

// accumulateStroke adds the cells of the stroke over the moves first to last.
func accumulateStroke(acc pointerAcc, s *steps, first, last int) {
	if last-first < 4 {
		return
	}
	path := 0.0
	for i := first; i < last; i++ {
		path += s.ds[i]
	}
	duration := s.t[last] - s.t[first]
	if path < 10 || duration <= 0 {
		return
	}
	shape := strokeShape(s, first, last)
	v := s.v[first:last]
	top, at := v[0], 0
	for i, x := range v {
		if x > top {
			top, at = x, i
		}
	}
	straight := math.Log((shape.chord + 1) / (path + 1))
	peak := (s.t[first+at] - s.t[first]) / duration
	dec := math.Log((mean(v[len(v)-3:]) + .01) / (top + .01))
	acc.named("slen", math.Log(path))
	acc.named("sdur", math.Log(duration))
	acc.named("sstraight", straight)
	acc.named("sdev", math.Log(shape.deviation/math.Max(shape.chord, 1)+.01))
	acc.named("svmax", math.Log(top+.01))
	acc.named("stpk", peak)
	acc.named("sover", math.Log(math.Max(shape.along-shape.chord, 0)+1))
	acc.named("snsub", math.Log(float64(speedPeaks(v)+1)/float64(last-first)))
	acc.named("sdec", dec)
	acc.named("sinit", math.Log((mean(v[:3])+.01)/(top+.01)))
	acc.named("svmean", math.Log(path/duration+.01))
	acc.named("sside", share(shape.side > 0))
	acc.named("scv", deviation(v)/(mean(v)+.01))
	class := chordClass(shape.chord)
	acc.histogram(CellIndex(Pointer, "scls#0"), 1, class)
	acc.histogram(CellIndex(Pointer, "scls#1"), 1, class-1)
	acc.histogram(CellIndex(Pointer, "scls#2"), 1, class-2)
	suffix := []string{":0", ":1", ":2"}[class]
	acc.named("sdur"+suffix, math.Log(duration))
	acc.named("svmax"+suffix, math.Log(top+.01))
	acc.named("stpk"+suffix, peak)
	acc.named("sstraight"+suffix, straight)
	acc.named("sdec"+suffix, dec)
}

// chordClass classifies a stroke by the distance between its ends, in px.
func chordClass(chord float64) int {
	switch {
	case chord < 80:
		return 0
	case chord < 300:
		return 1
	}
	return 2
}

// shape describes a stroke relative to its chord; lengths are in px.
type shape struct {
	chord, deviation, along, side float64
}

// strokeShape compares the stroke with the chord between its ends: path length, largest deviation, progress along the chord at
// that point, and the side (sign) of the deviation.
func strokeShape(s *steps, first, last int) shape {
	dx, dy := s.x[last]-s.x[first], s.y[last]-s.y[first]
	chord := math.Hypot(dx, dy)
	ux, uy := dx/math.Max(chord, 1e-9), dy/math.Max(chord, 1e-9)
	out := shape{chord: chord}
	for i := first; i <= last; i++ {
		px, py := s.x[i]-s.x[first], s.y[i]-s.y[first]
		along, across := px*ux+py*uy, px*uy-py*ux
		out.along = math.Max(out.along, along)
		if math.Abs(across) > out.deviation {
			out.deviation, out.side = math.Abs(across), across
		}
	}
	return out
}

// speedPeaks counts the local maxima of the speed: submovements of the stroke.
func speedPeaks(v []float64) int {
	peaks := 0
	for i := 1; i+1 < len(v); i++ {
		if v[i] > v[i-1] && v[i] >= v[i+1] {
			peaks++
		}
	}
	return peaks
}
