package features

import (
	"math"
	"sort"
)

// Limits of the rhythm cells, in ms.
const (
	switchMaxMS = 5000
	pauseMinMS  = 1000
	pauseMaxMS  = 60000
)

// rhythmCells lists the cells about switching between keys, pointer and scrolling, and about pauses.
func rhythmCells() []Cell {
	c := func(name, unit string, lo, hi float64, def string) Cell { return Cell{name, Rhythm, def, unit, lo, hi} }
	top := math.Log(switchMaxMS)
	return []Cell{
		c("rt:key_ptr", "log ms", 0, top, "log(clip(dt,1,5000)) from a key press to the pointer event right after it, dt < 5000 ms"),
		c("rt:ptr_key", "log ms", 0, top, "log(clip(dt,1,5000)) from a pointer event to the key press right after it, dt < 5000 ms"),
		c("rt:click_key", "log ms", 0, top, "log(clip(dt,1,5000)) from a pointer press or release to the key press right after it"),
		c("rt:scroll_ptr", "log ms", 0, top, "log(clip(dt,1,5000)) from a scroll event to the pointer event right after it"),
		c("rt:lpause", "log ms", math.Log(pauseMinMS), math.Log(pauseMaxMS), "log(clip(dt,1000,60000)) of silences of 1 s and more"),
		c("rt:burst", "log", 0, math.Log(MaxEvents), "log(key presses of a run without a silence of 1 s)"),
		c("rt:switches", "share", 0, 1, "share of successive events that change between keys, pointer and scroll"),
	}
}

// tick is the time and kind of one event of any modality.
type tick struct {
	t float64
	// 0 key, 1 pointer move, 2 pointer button, 3 scroll.
	kind int
}

// ExtractRhythm computes the rhythm block of one frame from the times of all its events: how the person alternates between keys,
// pointer and scrolling.
func ExtractRhythm(keys []KeyEvent, pointer []PointerEvent, scroll []ScrollEvent) Block {
	line := timeline(keys, pointer, scroll)
	acc := newAccumulator(Rhythm)
	run := 0
	for i, ev := range line {
		if ev.kind == 0 {
			run++
		}
		if i+1 == len(line) {
			break
		}
		next := line[i+1]
		dt := next.t - ev.t
		acc.named("rt:switches", share(family(ev.kind) != family(next.kind)))
		if dt >= pauseMinMS {
			acc.named("rt:lpause", math.Log(clamp(dt, pauseMinMS, pauseMaxMS)))
			closeRun(acc, &run)
		}
		if name := switchCell(ev.kind, next.kind); name != "" && dt < switchMaxMS {
			acc.named(name, math.Log(clamp(dt, 1, switchMaxMS)))
		}
	}
	closeRun(acc, &run)
	if len(line) < 2 {
		return Block{Cells: NewVector(Dim(Rhythm))}
	}
	span := math.Round(clamp(line[len(line)-1].t-line[0].t, 0, MaxActiveMS))
	return Block{Cells: acc.vector(), Events: min(len(line), MaxEvents), ActiveMS: span}
}

// closeRun adds the length of a run of events of one kind.
func closeRun(acc *accumulator, run *int) {
	if *run > 0 {
		acc.named("rt:burst", math.Log(float64(*run)))
	}
	*run = 0
}

// family maps pointer moves and buttons to one kind.
func family(kind int) int {
	if kind == 2 {
		return 1
	}
	return kind
}

// switchCell names the cell of a switch between two kinds; empty if the schema has none.
func switchCell(from, to int) string {
	switch {
	case from == 0 && family(to) == 1:
		return "rt:key_ptr"
	case from == 1 && to == 0:
		return "rt:ptr_key"
	case from == 2 && to == 0:
		return "rt:click_key"
	case from == 3 && family(to) == 1:
		return "rt:scroll_ptr"
	}
	return ""
}

// timeline merges the events of all modalities in order of time.
func timeline(keys []KeyEvent, pointer []PointerEvent, scroll []ScrollEvent) []tick {
	line := make([]tick, 0, len(keys)+len(pointer)+len(scroll))
	add := func(t float64, kind int) {
		if finite(t) {
			line = append(line, tick{t, kind})
		}
	}
	for _, k := range keys {
		add(k.Press, 0)
	}
	for _, p := range pointer {
		kind := 1
		if p.Kind == PointerPress || p.Kind == PointerRelease {
			kind = 2
		}
		add(p.T, kind)
	}
	for _, s := range scroll {
		add(s.T, 3)
	}
	sort.SliceStable(line, func(i, j int) bool { return line[i].t < line[j].t })
	return line
}
