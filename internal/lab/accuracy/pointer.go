package accuracy

import (
	"fmt"
	"sort"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
	"github.com/countersign-dev/countersign/internal/lab/training"
)

const (
	// length of a frame, as the collector cuts it
	pointerFrameMS = 15_000
	// moves in a block of the published protocol
	pointerBlock = 128
	// frames with fewer events are dropped
	pointerMinEvents = 20
)

// mover is one person with a pointer: events to train with and events to test with,
// by session.
type mover struct {
	name        string
	train, test [][]features.PointerEvent // sessions
}

// movers takes the longer of two sessions for training, or the first half of more.
// People with one session are left out.
func movers(sessions []recordings.PointerSession) []mover {
	by := map[string][][]features.PointerEvent{}
	for _, s := range sessions {
		if s.Label == "" {
			by[s.User] = append(by[s.User], s.Events)
		}
	}
	var out []mover
	for name, all := range by {
		if len(all) < 2 {
			continue
		}
		if len(all) == 2 && span(all[0]) < span(all[1]) {
			all[0], all[1] = all[1], all[0]
		}
		out = append(out, mover{name, all[:len(all)/2], all[len(all)/2:]})
	}
	sort.Slice(out, func(i, j int) bool { return lessID(out[i].name, out[j].name) })
	return out
}

// span is the time from the first to the last event, in milliseconds.
func span(events []features.PointerEvent) float64 {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].T - events[0].T
}

// byTime cuts events into frames of 15 s.
func byTime(events []features.PointerEvent) [][]features.PointerEvent {
	var out [][]features.PointerEvent
	last := -1
	for _, ev := range events {
		k := int((ev.T - events[0].T) / pointerFrameMS)
		if k != last {
			out, last = append(out, nil), k
		}
		out[len(out)-1] = append(out[len(out)-1], ev)
	}
	return longEnough(out)
}

// byMoves cuts events into blocks of 128 moves, the unit of the published figures.
func byMoves(events []features.PointerEvent) [][]features.PointerEvent {
	out := [][]features.PointerEvent{nil}
	moves := 0
	for _, ev := range events {
		if moves == pointerBlock {
			out, moves = append(out, nil), 0
		}
		if ev.Kind == features.PointerMove || ev.Kind == features.PointerDrag {
			moves++
		}
		out[len(out)-1] = append(out[len(out)-1], ev)
	}
	return longEnough(out)
}

// longEnough drops frames with fewer than pointerMinEvents events.
func longEnough(frames [][]features.PointerEvent) [][]features.PointerEvent {
	var out [][]features.PointerEvent
	for _, f := range frames {
		if len(f) >= pointerMinEvents {
			out = append(out, f)
		}
	}
	return out
}

// cutter cuts a session into frames.
type cutter func([]features.PointerEvent) [][]features.PointerEvent

// runPointer trains on one session and tests on another: frames of 15 s, alone and
// four merged, and the published blocks of 128 moves.
func runPointer(e *env, set recordings.Set) error {
	sessions, err := e.readPointers(set)
	if err != nil {
		return err
	}
	people := movers(sessions)
	if len(people) < 10 {
		return errUnfit
	}
	for _, c := range []struct {
		name    string
		cut     cutter
		merged  int
		compare string
	}{
		{"one frame of 15 s", byTime, 1, "target AUC .93"},
		{"four frames merged (60 s)", byTime, 4, "target AUC .97"},
		{"one block of 128 moves", byMoves, 1, "published EER 17.6 %, AUC .876"},
		{"three blocks merged", byMoves, 3, "published EER 10.6 %, AUC .940"},
		{"five blocks merged", byMoves, 5, "published EER 9.0 %, AUC .950"},
	} {
		folds, err := e.pointerFolds(set, people, c.cut)
		if err != nil {
			return err
		}
		var all []Person
		for _, f := range folds {
			some, err := pointerScores(e, f.bg, pick(people, f.tested), c.cut, c.merged)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		e.verification(Figure{Protocol: "pointer", Set: set.Name, Case: c.name}, all, c.compare)
	}
	return nil
}

func (e *env) pointerFolds(set recordings.Set, people []mover, cut cutter) ([]fold, error) {
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = p.name
	}
	return e.folds(set, features.Pointer, names, func(chosen []int) ([]training.Sample, training.Options) {
		return pointerSamples(pick(people, chosen), cut), training.DefaultOptions(features.Pointer)
	})
}

// learnPointer learns a background from frames of 15 s.
func learnPointer(people []mover) (*scoring.Background, error) {
	opt := training.DefaultOptions(features.Pointer)
	opt.MinPeople = 10
	return training.Learn(pointerSamples(people, byTime), opt)
}

// pointerSamples makes training samples with exact counts from each frame of each
// person.
func pointerSamples(people []mover, cut cutter) []training.Sample {
	var out []training.Sample
	for _, p := range people {
		for _, s := range append(append([][]features.PointerEvent(nil), p.train...), p.test...) {
			for _, frame := range cut(s) {
				out = append(out, training.Sample{Person: p.name, Events: len(frame), Cells: features.ExactPointer(frame)})
			}
		}
	}
	return out
}

// pointerScores scores people whose queries are merged from so many neighbouring
// frames. Queries overlap.
func pointerScores(e *env, bg *scoring.Background, people []mover, cut cutter, merged int) ([]Person, error) {
	scorers, queries, err := scorersOf(bg, len(people), func(i int) (enrolled, tested []features.Vector) {
		for _, s := range people[i].train {
			enrolled = append(enrolled, bg.Merge(pointerVectors(bg, cut(s))...))
		}
		for _, s := range people[i].test {
			frames := pointerVectors(bg, cut(s))
			for k := 0; k+merged <= len(frames); k++ {
				tested = append(tested, bg.Merge(frames[k:k+merged]...))
			}
		}
		return enrolled, tested
	})
	if err != nil {
		return nil, fmt.Errorf("pointer: %w", err)
	}
	return crossScores(e.ctx, scorers, queries, allQueries)
}

// pointerVectors extracts and weighs frames as the service does.
func pointerVectors(bg *scoring.Background, frames [][]features.PointerEvent) []features.Vector {
	out := make([]features.Vector, len(frames))
	for i, f := range frames {
		block, _ := features.ExtractPointer(f)
		out[i] = bg.Weigh(block)
	}
	return out
}
