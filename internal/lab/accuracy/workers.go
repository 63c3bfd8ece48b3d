package accuracy

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// worker is a simulated user of an application: a typist of one set with the mouse
// of a person of another set, because no recordings contain both. other is the
// mouse of the person who takes over.
type worker struct {
	model    *scoring.Model
	typing   scoring.Templates
	pointing scoring.Templates // empty without pointer recordings
	later    [][]shot          // typing of later sessions
	own      []shot            // the worker's mouse in later use; no frame is used twice
	other    []shot            // the mouse of the person who takes over
}

// Short texts of one sitting are grouped: textsPerSession texts form one session of
// enrollment.
const (
	textsPerSession = 3
	shortText       = 3 * frameKeys
)

// workers are the people of a keystroke set, enrolled on their first three
// sessions. If too few people come back on other days, sets of many short texts
// serve as well.
func (e *env) workers(set recordings.Set) ([]worker, error) {
	all, err := e.readTypists(set)
	if err != nil {
		return nil, err
	}
	people, enrol := having(all, enrolDays+1, 200), enrolAll
	if len(people) < 10 {
		people, enrol = having(all, enrolDays*textsPerSession+takeOverAfter, 20), enrolTexts
		if len(people) < 20 || medianKeys(people) > shortText || phrase(people) {
			return nil, errUnfit
		}
	}
	folds, err := e.keyFolds(set, people)
	if err != nil {
		return nil, err
	}
	hands, err := e.otherMovers()
	if err != nil && !errors.Is(err, errUnfit) {
		return nil, err
	}
	var out []worker
	for _, f := range folds {
		some, err := e.withHands(f.bg, hands, len(f.tested))
		if err != nil {
			return nil, err
		}
		for i, s := range enrol(some[0].model, pick(people, f.tested)) {
			some[i].typing, some[i].later = s.templates, s.later
		}
		out = append(out, some...)
	}
	return out, nil
}

// enrolTexts enrolls people who typed many short texts at one sitting: each text is
// a frame.
func enrolTexts(m *scoring.Model, people []typist) []subject {
	out := make([]subject, len(people))
	parallel(len(people), func(i int) {
		var enrolled []scoring.SessionFrames
		var later []shot
		for k, text := range people[i].sessions {
			part := shots(text, len(text), 1)
			if k >= enrolDays*textsPerSession {
				later = append(later, part...)
				continue
			}
			if k%textsPerSession == 0 {
				enrolled = append(enrolled, scoring.SessionFrames{})
			}
			last := &enrolled[len(enrolled)-1]
			last.Frames = append(last.Frames, part[0].frame)
		}
		out[i].templates, _, _ = m.Train(enrolled, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
		out[i].later = [][]shot{later}
	})
	return out
}

// withHands creates n workers with a mouse and without typing. At least half of the
// pointer users are left to learn the pointer background from; the others are used
// in turn.
func (e *env) withHands(keys *scoring.Background, hands []mover, n int) ([]worker, error) {
	out := make([]worker, n)
	used := indices(min(n, len(hands)/2), func(int) bool { return true })
	m := scoring.NewModel(keys)
	if len(used) > 1 {
		pointer, err := e.foreignPointer(hands, used)
		if err != nil {
			return nil, err
		}
		m = scoring.NewModel(keys, pointer)
	}
	parallel(n, func(i int) {
		out[i].model = m
		if len(used) > 1 {
			out[i].hold(hands[used[i%len(used)]], hands[used[(i+1)%len(used)]])
		}
	})
	return out, nil
}

// hold trains the worker's pointer template on the first recording and stores the
// second for later use.
func (w *worker) hold(own, other mover) {
	var s scoring.SessionFrames
	for _, part := range byTime(own.train[0]) {
		s.Frames = append(s.Frames, features.Extract(features.Raw{Pointer: part}))
	}
	w.pointing, _, _ = w.model.Train([]scoring.SessionFrames{s}, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	w.own = moves(byTime(own.test[0]))
	w.other = append(moves(byTime(other.train[0])), moves(byTime(other.test[0]))...)
}

// moves extracts a frame from each part of a pointer recording.
func moves(parts [][]features.PointerEvent) []shot {
	var out []shot
	for _, part := range parts {
		out = append(out, shot{features.Extract(features.Raw{Pointer: part}), math.Max(span(part)/1000, 1)})
	}
	return out
}

// silentSeconds is the length of a simulated frame without typing: the interval at
// which a collector closes one.
const silentSeconds = 20

// scrolling is a frame of a person who reads: strokes of the wheel with pauses.
// There are no recordings of scrolling; the scorer does not use the cells of
// scrolling.
func scrolling(rng *rand.Rand) shot {
	var events []features.ScrollEvent
	for t := 300.0; t < silentSeconds*1000; t += 1500 + 2500*rng.Float64() {
		for k := range 2 + rng.IntN(5) {
			events = append(events, features.ScrollEvent{T: t + float64(k)*(30+40*rng.Float64()), DY: 100})
		}
	}
	return shot{features.Extract(features.Raw{Scroll: events}), silentSeconds}
}

// pasting is a frame of a person who fills in a form from the clipboard: control
// and V, four times.
func pasting(rng *rand.Rand) shot {
	var keys []features.KeyEvent
	for t := 1000.0; t < silentSeconds*1000; t += 5000 {
		hold := 80 + 60*rng.Float64()
		keys = append(keys, features.KeyEvent{Key: "ctrl", Press: t, Release: t + 3*hold},
			features.KeyEvent{Key: "v", Press: t + hold, Release: t + 2*hold})
	}
	return shot{features.Extract(features.Raw{Keys: keys}), silentSeconds}
}

// several creates frames until they last at least so many seconds.
func several(seconds float64, one func() shot) []shot {
	var out []shot
	for total := 0.0; total < seconds; {
		next := one()
		out, total = append(out, next), total+next.seconds
	}
	return out
}

// lasting is the sum of the frames' seconds.
func lasting(frames []shot) float64 {
	total := 0.0
	for _, f := range frames {
		total += f.seconds
	}
	return total
}
