package features

import "math"

// ScrollEvent is one raw scroll event: time in ms and scrolled distance in px.
type ScrollEvent struct {
	T, DX, DY float64
}

// scrollBurstMS is the pause that ends a burst of scrolling, in ms.
const scrollBurstMS = 200

// scrollCells lists the cells about bursts of scrolling: length, speed, direction and intervals.
func scrollCells() []Cell {
	c := func(name, unit string, lo, hi float64, def string) Cell { return Cell{name, Scroll, def, unit, lo, hi} }
	return []Cell{
		c("sc:lv", "log px/ms", math.Log(.01), math.Log(50), "log(clip(|dy|/dt,.01,50)) within a burst (0 < dt < 200 ms)"),
		c("sc:lgap", "log ms", math.Log(200), math.Log(5000), "log(clip(pause between bursts,200,5000))"),
		c("sc:blen", "log", 0, math.Log(MaxEvents), "log(events of a burst)"),
		c("sc:bdist", "log px", 0, math.Log(maxPathPX), "log(|sum of dy| of a burst + 1)"),
		c("sc:bdur", "log ms", 0, math.Log(5000), "log(clip(duration of a burst of 2 and more,1,5000))"),
		c("sc:up", "share", 0, 1, "share of events that scroll up (dy < 0)"),
		c("sc:rev", "share", 0, 1, "share of bursts that reverse the direction of the previous burst"),
		c("sc:decel", "share", 0, 1, "share of successive events of a burst that slow down"),
		c("sc:horiz", "share", 0, 1, "share of events with |dx| > |dy|"),
	}
}

// ExtractScroll computes the scroll block of one frame from its scroll events, in order of time.
func ExtractScroll(events []ScrollEvent) Block {
	acc := newAccumulator(Scroll)
	active, start, lastSum := 0.0, 0, 0.0
	for i, ev := range events {
		acc.named("sc:up", share(ev.DY < 0))
		acc.named("sc:horiz", share(math.Abs(ev.DX) > math.Abs(ev.DY)))
		last := i+1 == len(events)
		if !last && events[i+1].T-ev.T < scrollBurstMS {
			active += math.Max(events[i+1].T-ev.T, 0)
			continue
		}
		sum := accumulateBurst(acc, events[start:i+1])
		if start > 0 {
			acc.named("sc:rev", share(sum*lastSum < 0))
		}
		if !last {
			acc.named("sc:lgap", math.Log(clamp(events[i+1].T-ev.T, 200, 5000)))
		}
		start, lastSum = i+1, sum
	}
	if !finite(active) {
		active = 0
	}
	return Block{Cells: acc.vector(), Events: len(events), ActiveMS: math.Round(math.Min(active, MaxActiveMS))}
}

// accumulateBurst adds the cells of one burst and returns its duration in ms.
func accumulateBurst(acc *accumulator, burst []ScrollEvent) float64 {
	sum, before := 0.0, -1.0
	for i, ev := range burst {
		sum += ev.DY
		if i == 0 {
			continue
		}
		dt := ev.T - burst[i-1].T
		if dt <= 0 {
			continue
		}
		v := math.Abs(ev.DY) / dt
		acc.named("sc:lv", math.Log(clamp(v, .01, 50)))
		if before >= 0 {
			acc.named("sc:decel", share(v < before))
		}
		before = v
	}
	acc.named("sc:blen", math.Log(float64(len(burst))))
	acc.named("sc:bdist", math.Log(math.Abs(sum)+1))
	if len(burst) > 1 {
		acc.named("sc:bdur", math.Log(clamp(burst[len(burst)-1].T-burst[0].T, 1, 5000)))
	}
	return sum
}
