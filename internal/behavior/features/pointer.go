package features

import "math"

// PointerKind is the kind of a pointer event.
type PointerKind int

// The kinds of pointer event.
const (
	PointerMove PointerKind = iota
	PointerDrag
	PointerPress
	PointerRelease
)

// PointerEvent is one raw pointer event: time in ms, position in CSS px. Extractors return only statistics of it.
type PointerEvent struct {
	T, X, Y float64
	Kind    PointerKind
	// The right button, of presses.
	Right bool
}

var (
	speedEdges = []float64{math.Log(.03), math.Log(.08), math.Log(.2), math.Log(.5), math.Log(1.2), math.Log(3)}
	turnEdges  = []float64{1e-6, .05, .15, .35, .8, 1.57}
)

// ExtractPointer turns the pointer events of one frame, in time order, into its pointer block and presence scalars.
// Polling intervals and step sizes are left out of the block: they recognise the mouse and the browser, not the person.
func ExtractPointer(events []PointerEvent) (Block, Presence) {
	acc := accumulatePointer(events)
	return Block{Cells: acc.vector(), Events: len(events), ActiveMS: activePointerMS(events)}, pointerPresence(events)
}

// ExactPointer is ExtractPointer without binning and rounding, for background learning only.
func ExactPointer(events []PointerEvent) Exact { return accumulatePointer(events).exact() }

// activePointerMS sums the times between pointer events that are below one second, in ms.
func activePointerMS(events []PointerEvent) float64 {
	total := 0.0
	for i := 1; i < len(events); i++ {
		if gap := events[i].T - events[i-1].T; gap > 0 && gap < 1000 {
			total += gap
		}
	}
	return math.Round(math.Min(total, MaxActiveMS))
}

// steps are the differences between successive moves.
type steps struct {
	t, x, y []float64 // moves
	// Index of each move among all events.
	index         []int
	drag          []bool
	dt, ds, v, lv []float64
	dx, dy        []float64
	angle         []float64
	// 0 < dt < 200; and the pointer moved.
	timed, moving []bool
	turn, accel   []float64
	// Both steps of a turn are moving.
	turning []bool
}

// newSteps computes the steps between consecutive moves: time, distance, speed (px per ms) and direction (radians).
func newSteps(events []PointerEvent) *steps {
	s := &steps{}
	for i, ev := range events {
		if !finite(ev.T) || !finite(ev.X) || !finite(ev.Y) {
			continue
		}
		if ev.Kind == PointerMove || ev.Kind == PointerDrag {
			s.t, s.x, s.y = append(s.t, ev.T), append(s.x, ev.X), append(s.y, ev.Y)
			s.index, s.drag = append(s.index, i), append(s.drag, ev.Kind == PointerDrag)
		}
	}
	for i := 1; i < len(s.t); i++ {
		dt, dx, dy := s.t[i]-s.t[i-1], s.x[i]-s.x[i-1], s.y[i]-s.y[i-1]
		ds := math.Hypot(dx, dy)
		v := ds / math.Max(dt, 1)
		timed := dt > 0 && dt < 200
		s.dt, s.dx, s.dy, s.ds = append(s.dt, dt), append(s.dx, dx), append(s.dy, dy), append(s.ds, ds)
		s.v, s.lv = append(s.v, v), append(s.lv, math.Log(clamp(v, .01, 20)))
		s.angle = append(s.angle, math.Atan2(dy, dx))
		s.timed, s.moving = append(s.timed, timed), append(s.moving, timed && ds > 0)
	}
	for i := 1; i < len(s.dt); i++ {
		s.turn = append(s.turn, wrapAngle(s.angle[i]-s.angle[i-1]))
		s.accel = append(s.accel, (s.v[i]-s.v[i-1])/math.Max((s.dt[i]+s.dt[i-1])/2, 1))
		s.turning = append(s.turning, s.moving[i] && s.moving[i-1])
	}
	return s
}

// finite reports whether a value is neither infinite nor NaN.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// wrapAngle maps an angle to the range from -pi to pi.
func wrapAngle(a float64) float64 { return math.Atan2(math.Sin(a), math.Cos(a)) }

// octant returns the sector of 45 degrees that a direction belongs to, 0 to 7.
func octant(angle float64) int {
	return int(math.Floor((angle+math.Pi+math.Pi/8)/(math.Pi/4))) % 8
}

// band returns the index of the interval between edges that a value belongs to.
func band(v float64, edges []float64) int {
	b := 0
	for b < len(edges) && v >= edges[b] {
		b++
	}
	return b
}

// pointerAcc resolves cell positions once: names are looked up per family, not per event.
type pointerAcc struct {
	*accumulator
}

// histogram adds the share of events in each band: 1 to the cell of the band that the event is in, 0 to the others.
func (a pointerAcc) histogram(first, bands, in int) {
	for c := range bands {
		a.add(first+c, share(c == in))
	}
}

var (
	cellLV      = CellIndex(Pointer, "lv")
	cellLVOct   = CellIndex(Pointer, "lv_oct:0")
	cellDir     = CellIndex(Pointer, "dir#0")
	cellLVH     = CellIndex(Pointer, "lvh#0")
	cellDrag    = CellIndex(Pointer, "drag")
	cellTurn    = CellIndex(Pointer, "turn#0")
	cellTurnSgn = CellIndex(Pointer, "turnsgn")
)

// accumulatePointer adds the cells of steps, turns, jerk, clicks and strokes of one frame.
func accumulatePointer(events []PointerEvent) *accumulator {
	acc := pointerAcc{newAccumulator(Pointer)}
	s := newSteps(events)
	accumulateSteps(acc, s)
	accumulateTurns(acc, s)
	accumulateJerk(acc, s)
	accumulateStrokes(acc, s)
	accumulateClicks(acc, events)
	return acc.accumulator
}

// accumulateSteps adds speed, acceleration and direction of each step.
func accumulateSteps(acc pointerAcc, s *steps) {
	for i, dt := range s.dt {
		acc.named("gaprate", share(dt >= 200))
		acc.named("hes", share(dt >= 60 && dt < 200))
		if dt >= 200 {
			acc.named("lgap", math.Log(clamp(dt, 200, 5000)))
		}
		if s.timed[i] {
			acc.add(cellDrag, share(s.drag[i+1]))
		}
		if !s.moving[i] {
			continue
		}
		oct := octant(s.angle[i])
		acc.add(cellLV, s.lv[i])
		acc.add(cellLVOct+oct, s.lv[i])
		acc.histogram(cellDir, 8, oct)
		acc.histogram(cellLVH, len(speedEdges)+1, band(s.lv[i], speedEdges))
	}
}

// accumulateTurns adds the changes of direction between steps, in radians.
func accumulateTurns(acc pointerAcc, s *steps) {
	for i, ok := range s.turning {
		if !ok {
			continue
		}
		turn, v := s.turn[i], s.v[i+1]
		abs := math.Abs(turn)
		acc.histogram(cellTurn, len(turnEdges)+1, band(abs, turnEdges))
		acc.add(cellTurnSgn, sign(turn))
		acc.named("lcurv", math.Log(abs/math.Max(s.ds[i+1], 1)+.003))
		if v < .3 {
			acc.named("turnslow", math.Min(abs, 1.57))
		}
		if v > 1 {
			acc.named("turnfast", math.Min(abs, 1.57))
		}
		logAcc := math.Log(clamp(math.Abs(s.accel[i]), 1e-4, 1))
		if s.accel[i] > 0 {
			acc.named("lacc+", logAcc)
		} else {
			acc.named("lacc-", logAcc)
		}
		acc.named("accpos", share(s.accel[i] > 0))
		acc.named("lvratio", math.Min(math.Abs(s.lv[i+1]-s.lv[i]), 3))
	}
}

// accumulateJerk adds the change of acceleration over time (px/ms^3) and the changes of sign of acceleration and turning: the
// measures of smoothness in models of human movement.
func accumulateJerk(acc pointerAcc, s *steps) {
	for i := 1; i < len(s.turning); i++ {
		if !s.turning[i] || !s.turning[i-1] {
			continue
		}
		jerk := (s.accel[i] - s.accel[i-1]) / math.Max(s.dt[i+1], 1)
		acc.named("ljerk", math.Log(clamp(math.Abs(jerk), 1e-6, .2)))
		acc.named("aflip", share(s.accel[i]*s.accel[i-1] < 0))
		acc.named("tflip", share(s.turn[i]*s.turn[i-1] < 0))
	}
}

// sign returns -1, 0 or 1.
func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// accumulateClicks adds the pause before a press, the duration of clicks (less than 6 px moved, below 1.5 s), and the length and
// duration of drags.
func accumulateClicks(acc pointerAcc, events []PointerEvent) {
	isMove := func(i int) bool { return events[i].Kind == PointerMove || events[i].Kind == PointerDrag }
	for i, ev := range events {
		if ev.Kind != PointerPress {
			continue
		}
		if i > 0 && isMove(i-1) {
			acc.named("lpre", math.Log(clamp(ev.T-events[i-1].T, 1, 3000)))
		}
		j := i + 1
		for j < len(events) && events[j].Kind != PointerRelease && j < i+200 {
			j++
		}
		if j >= len(events) || events[j].Kind != PointerRelease {
			continue
		}
		held, moved := events[j].T-ev.T, math.Hypot(events[j].X-ev.X, events[j].Y-ev.Y)
		switch {
		case moved < 6 && held > 0 && held < 1500:
			acc.named("lclick", math.Log(clamp(held, 15, 800)))
		case held > 0:
			acc.named("ldragd", math.Log(moved+1))
			acc.named("ldragt", math.Log(held))
		}
		acc.named("isdrag", share(moved >= 6))
		acc.named("isright", share(ev.Right))
		if j+1 < len(events) && isMove(j+1) {
			acc.named("lpost", math.Log(clamp(events[j+1].T-events[j].T, 1, 3000)))
		}
	}
}
