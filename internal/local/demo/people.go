package demo

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

const (
	frameKeys      = 50  // keys of one frame
	sessionKeys    = 120 // fewest keys of what is sent as one session
	enrollSessions = 3
	maxFrames      = 10 // of one session
)

// frame is one feature frame with the time that it covers.
type frame struct {
	features   features.Frame
	durationMS float64
}

// person is one typist with sessions: the first ones enroll, one is scored as their own, and the last is typed in the name of
// another person. No frame is sent twice except to demonstrate a replay, because the service would detect it.
type person struct {
	name    string
	enroll  [][]frame
	own     []frame
	abusing []frame
}

// replayed returns frames of the person, the first of them twice.
func (p person) replayed() []frame {
	stolen := p.own[:min(4, len(p.own))]
	return append(slices.Clone(stolen), stolen[0])
}

// People are the typists of a demonstration. Create them with Load.
type People struct {
	Source    string // where they come from, for the reader
	Simulated bool
	people    []person
}

// Load reads n recorded people from the folder, or simulates n if the
// folder has no recordings that fit.
func Load(dir string, n int) (People, error) {
	sets, err := recordings.Find(dir)
	if err != nil {
		sets = nil // without the folder there are no recordings
	}
	best := People{}
	for _, set := range sets {
		if set.Kind != recordings.Keystrokes {
			continue
		}
		sessions, err := recordings.ReadKeystrokes(set.Path)
		if err != nil {
			return People{}, fmt.Errorf("the recordings in %s cannot be read: %w", set.Path, err)
		}
		found := pick(sessions, n)
		if len(found) == n && amount(found) > amount(best.people) {
			best = People{Source: "recorded: " + set.Name, people: found}
		}
	}
	if len(best.people) == n {
		return best, nil
	}
	return made(n), nil
}

// amount is how many frames the people have in all. The set with the most
// frames is demonstrated.
func amount(people []person) int {
	total := 0
	for _, p := range people {
		total += len(p.own) + len(p.abusing)
		for _, s := range p.enroll {
			total += len(s)
		}
	}
	return total
}

// pick returns the first n people with enough sessions, in the order of
// their names.
func pick(sessions []recordings.KeySession, n int) []person {
	byUser := map[string][][]features.KeyEvent{}
	var users []string
	for _, s := range sessions {
		if s.Label == "bot" {
			continue
		}
		if _, known := byUser[s.User]; !known {
			users = append(users, s.User)
		}
		byUser[s.User] = append(byUser[s.User], s.Events)
	}
	slices.SortFunc(users, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var out []person
	for _, u := range users {
		if p, ok := recorded(u, byUser[u]); ok && len(out) < n {
			out = append(out, p)
		}
	}
	return out
}

// recorded makes a person of recorded sessions; it reports false if there
// are too few. Short sessions are joined, because some sets have one
// sentence in each.
func recorded(name string, sessions [][]features.KeyEvent) (person, bool) {
	units := join(sessions)
	if len(units) < enrollSessions+2 || !textual(units[0]) {
		return person{}, false
	}
	p := person{name: name}
	for _, u := range units[:enrollSessions] {
		p.enroll = append(p.enroll, frames(u))
	}
	p.own, p.abusing = frames(units[enrollSessions]), frames(units[enrollSessions+1])
	return p, true
}

// textual distinguishes running text from digits on a keypad, from which a
// free-text template learns nothing.
func textual(events []features.KeyEvent) bool {
	letters := 0
	for _, e := range events {
		if len(e.Key) == 1 && e.Key[0] >= 'a' && e.Key[0] <= 'z' {
			letters++
		}
	}
	return 2*letters > len(events)
}

// join concatenates sessions until each has enough keys. Joined sessions
// are a second apart.
func join(sessions [][]features.KeyEvent) [][]features.KeyEvent {
	const gapMS = 1000
	var out [][]features.KeyEvent
	var unit []features.KeyEvent
	for _, s := range sessions {
		if len(s) == 0 {
			continue
		}
		shift := 0.0
		if len(unit) > 0 {
			shift = unit[len(unit)-1].Release + gapMS - s[0].Press
		}
		for _, e := range s {
			unit = append(unit, features.KeyEvent{Key: e.Key, Press: e.Press + shift, Release: e.Release + shift})
		}
		if len(unit) >= sessionKeys {
			out, unit = append(out, unit), nil
		}
	}
	return out
}

// frames cuts a session as a collector does.
func frames(events []features.KeyEvent) []frame {
	var out []frame
	for part := range slices.Chunk(events, frameKeys) {
		if len(part) < frameKeys/2 || len(out) == maxFrames {
			break
		}
		out = append(out, frame{features.Extract(features.Raw{Keys: part}), span(part)})
	}
	return out
}

// span is the time that the keys took in whole milliseconds, from the first
// press to the last release, within the bounds of a frame.
func span(events []features.KeyEvent) float64 {
	const most = 590_000
	first, last := events[0].Press, 0.0
	for _, e := range events {
		last = max(last, e.Release)
	}
	return math.Ceil(min(max(last-first, 1000), most))
}

// made simulates n people. The seed is fixed, so that every demonstration
// has the same people.
func made(n int) People {
	out := People{Source: "simulated: no recordings of running text were found", Simulated: true}
	for i := range n {
		typist := synthetic.NewTypist(uint64(1000 + i)) // #nosec G115 -- a small number
		p := person{name: fmt.Sprintf("simulated-%d", i+1)}
		for range enrollSessions {
			p.enroll = append(p.enroll, frames(typist.Type(4*frameKeys)))
			typist.NewDay()
		}
		p.own = frames(typist.Type(6 * frameKeys))
		typist.NewDay()
		p.abusing = frames(typist.Type(6 * frameKeys))
		out.people = append(out.people, p)
	}
	return out
}
