package features

import "math"

// minPresenceSteps is the smallest number of moving steps from which the pointer's presence scalars are computed.
const minPresenceSteps = 20

// pointerPresence computes the scalars that separate people from scripted pointers: variation of speed and direction within strokes.
func pointerPresence(events []PointerEvent) Presence {
	var p Presence
	s := newSteps(events)
	var speeds, logSpeeds, logDT, angles, lengths []float64
	pairs := map[[2]float64]int{}
	axis, gaps := 0, 0
	for i := range s.dt {
		lengths = append(lengths, s.ds[i])
		if s.dt[i] >= 200 {
			gaps++
		}
		if s.timed[i] {
			logDT = append(logDT, math.Log(s.dt[i]))
		}
		if s.ds[i] == 0 {
			continue
		}
		angles = append(angles, s.angle[i])
		pairs[[2]float64{s.dx[i], s.dy[i]}]++
		if s.dx[i] == 0 || s.dy[i] == 0 || math.Abs(s.dx[i]) == math.Abs(s.dy[i]) {
			axis++
		}
		if s.timed[i] {
			v := s.ds[i] / s.dt[i]
			speeds, logSpeeds = append(speeds, v), append(logSpeeds, math.Log(v+1e-3))
		}
	}
	if len(speeds) < minPresenceSteps {
		return p
	}
	moved := float64(len(angles))
	p.set("sd_lv", deviation(logSpeeds))
	p.set("unit_steps", unitShare(lengths))
	p.set("max_step", largest(lengths))
	p.set("straight", straightShare(angles))
	p.set("uniq_steps", float64(len(pairs))/moved)
	p.set("sd_ldt", deviation(logDT))
	p.set("gaps", float64(gaps)/float64(len(s.dt)))
	p.set("med_v", quantile(speeds, .5))
	p.set("axis_diag", float64(axis)/moved)
	top := 0
	for _, n := range pairs {
		top = max(top, n)
	}
	p.set("top_step", float64(top)/moved)
	return p
}

// unitShare returns the share of moving steps of at most 1.5 px: simple scripts move pixel by pixel.
func unitShare(lengths []float64) float64 {
	unit, moved := 0.0, 0.0
	for _, d := range lengths {
		if d > 0 {
			moved++
			unit += share(d <= 1.5)
		}
	}
	return unit / moved
}

// largest returns the largest value; 0 for none.
func largest(v []float64) float64 {
	top := 0.0
	for _, x := range v {
		top = math.Max(top, x)
	}
	return top
}

// straightShare returns the share of steps that change direction by less than 0.02 rad.
func straightShare(angles []float64) float64 {
	if len(angles) < 2 {
		return 0
	}
	straight := 0.0
	for i := 1; i < len(angles); i++ {
		straight += share(math.Abs(wrapAngle(angles[i]-angles[i-1])) < .02)
	}
	return straight / float64(len(angles)-1)
}
