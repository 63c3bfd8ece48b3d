package accuracy

import (
	"sort"
	"strconv"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
	"github.com/countersign-dev/countersign/internal/lab/training"
)

// typist is one recorded person: sessions in order of time, each a list of key
// presses.
type typist struct {
	name     string
	sessions [][]features.KeyEvent
}

// typists groups sessions by person and sorts both by name, so that the same file
// always gives the same figures.
func typists(sessions []recordings.KeySession) []typist {
	at := map[string]int{}
	var out []typist
	var ids [][]string
	for _, s := range sessions {
		i, ok := at[s.User]
		if !ok {
			i = len(out)
			at[s.User] = i
			out, ids = append(out, typist{name: s.User}), append(ids, nil)
		}
		out[i].sessions, ids[i] = append(out[i].sessions, s.Events), append(ids[i], s.Session)
	}
	for i := range out {
		sort.Stable(byID{ids[i], func(a, b int) {
			out[i].sessions[a], out[i].sessions[b] = out[i].sessions[b], out[i].sessions[a]
		}})
	}
	sort.SliceStable(out, func(i, j int) bool { return lessID(out[i].name, out[j].name) })
	return out
}

// byID sorts session names, as numbers if they are numbers. swap swaps the sessions
// along with their names.
type byID struct {
	ids  []string
	swap func(a, b int)
}

func (s byID) Len() int           { return len(s.ids) }
func (s byID) Less(a, b int) bool { return lessID(s.ids[a], s.ids[b]) }
func (s byID) Swap(a, b int) {
	s.ids[a], s.ids[b] = s.ids[b], s.ids[a]
	s.swap(a, b)
}

// lessID compares two names, as numbers if both are numbers: session 10 comes after
// session 9.
func lessID(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return x < y
	}
	return a < b
}

// cut divides presses into frames of a number of keys. A remainder shorter than
// half a frame is dropped, and presses for less than two frames stay together.
func cut(events []features.KeyEvent, keys int) [][]features.KeyEvent {
	if len(events) < 2*keys {
		return [][]features.KeyEvent{events}
	}
	var out [][]features.KeyEvent
	for len(events) >= keys {
		out, events = append(out, events[:keys]), events[keys:]
	}
	if 2*len(events) >= keys {
		out = append(out, events)
	}
	return out
}

// weighed extracts a frame as a collector does and weighs its counts as the service
// does.
func weighed(bg *scoring.Background, events []features.KeyEvent) features.Vector {
	block, _ := features.ExtractKeystroke(events)
	return bg.Weigh(block)
}

// mergedFrames cuts a session into frames and merges them into one vector.
func mergedFrames(bg *scoring.Background, events []features.KeyEvent, keys int) features.Vector {
	var frames []features.Vector
	for _, part := range cut(events, keys) {
		frames = append(frames, weighed(bg, part))
	}
	return bg.Merge(frames...)
}

// keySamples makes training samples with exact counts from each frame of each
// person.
func keySamples(people []typist, keys int) []training.Sample {
	var out []training.Sample
	for _, p := range people {
		for _, s := range p.sessions {
			for _, part := range cut(s, keys) {
				out = append(out, training.Sample{Person: p.name, Events: len(part), Cells: features.ExactKeystroke(part)})
			}
		}
	}
	return out
}
