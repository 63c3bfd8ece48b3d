package accuracy

import (
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// fusionFrames is how many frames of typing are played, each followed by one of
// pointer use.
const fusionFrames = 4

// runFusion pairs each typist of the set with a pointer user of another set in the
// data folder, because no recordings contain both. Simulated pairs show what fusion
// gains if typing and pointing are independent; in real people they are not
// entirely.
func runFusion(e *env, set recordings.Set) error {
	people, err := e.readTypists(set)
	if err != nil {
		return err
	}
	hands, err := e.otherMovers()
	if err != nil {
		return err
	}
	people = having(people, enrolDays+1, 200)
	n := min(len(people), len(hands))
	if n < 10 {
		return errUnfit
	}
	folds, err := e.keyFolds(set, people[:n])
	if err != nil {
		return err
	}
	for _, fold := range folds {
		pointerBG, err := e.foreignPointer(hands, fold.tested)
		if err != nil {
			return err
		}
		m := scoring.NewModel(fold.bg, pointerBG)
		e.fuse(m, set.Name, pick(people, fold.tested), pick(hands, fold.tested))
	}
	return e.ctx.Err()
}

// otherMovers reads the first pointer set whose people come back for a second
// session.
func (e *env) otherMovers() ([]mover, error) {
	sets, err := recordings.Find(e.opt.Data)
	if err != nil {
		return nil, err
	}
	for _, s := range sets {
		if s.Kind != recordings.Pointer {
			continue
		}
		sessions, err := e.readPointers(s)
		if err != nil {
			return nil, err
		}
		if all := movers(sessions); len(all) >= 20 {
			return all, nil
		}
	}
	return nil, errUnfit
}

// foreignPointer learns a pointer background from the people who are not paired;
// with too few of them it returns the model's own.
func (e *env) foreignPointer(hands []mover, paired []int) (*scoring.Background, error) {
	used := map[int]bool{}
	for _, i := range paired {
		used[i] = true
	}
	rest := indices(len(hands), func(i int) bool { return !used[i] })
	if len(rest) < 20 {
		return e.opt.Model.Background(features.Pointer), nil
	}
	return learnPointer(pick(hands, rest))
}

// fuse measures typing alone and typing with a pointer on the same people, so that
// the difference is the effect of fusion.
func (e *env) fuse(m *scoring.Model, set string, people []typist, hands []mover) {
	subjects := enrolAll(m, people)
	paired := make([]subject, len(subjects))
	parallel(len(subjects), func(i int) { paired[i] = addPointer(m, subjects[i], hands[i]) })
	for _, with := range []struct {
		name     string
		subjects []subject
		perFrame int // shots to one frame of typing
	}{{"typing alone", subjects, 1}, {"typing and pointer, made-up pairs", paired, 2}} {
		genuine, impostor := make([][][]verdict, len(people)), make([][][]verdict, len(people))
		parallel(len(people), func(i int) {
			own := with.subjects[i]
			for _, frames := range own.later {
				genuine[i] = append(genuine[i], play(m, own.templates, frames))
			}
			for j, other := range with.subjects {
				if i != j && e.ctx.Err() == nil {
					impostor[i] = append(impostor[i], play(m, own.templates, other.later[i%len(other.later)]))
				}
			}
		})
		reportFusion(e, set, with.name, with.perFrame, genuine, impostor)
	}
}

// addPointer returns the subject with a pointer template and with a frame of
// pointer use after each frame of typing.
func addPointer(m *scoring.Model, s subject, hand mover) subject {
	var enrolled scoring.SessionFrames
	for _, part := range byTime(hand.train[0]) {
		enrolled.Frames = append(enrolled.Frames, features.Extract(features.Raw{Pointer: part}))
	}
	pointer, _, _ := m.Train([]scoring.SessionFrames{enrolled}, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	out := subject{templates: append(append(scoring.Templates(nil), s.templates...), pointer...)}
	moves := byTime(hand.test[0])
	for _, typing := range s.later {
		var mixed []shot
		for k := range min(fusionFrames, len(typing)) {
			part := moves[k%len(moves)]
			mixed = append(mixed, typing[k], shot{features.Extract(features.Raw{Pointer: part}), math.Max(span(part)/1000, 1)})
		}
		out.later = append(out.later, mixed)
	}
	return out
}

// reportFusion reports trust and false trust after two and after all frames of
// typing. perFrame is how many frames are played for one of typing.
func reportFusion(e *env, set, name string, perFrame int, genuine, impostor [][][]verdict) {
	for _, frame := range []int{2, fusionFrames} {
		at := frame * perFrame
		f := Figure{Protocol: "fusion", Set: set, Case: fmt.Sprintf("%s, after %d frames of typing", name, frame)}
		e.share(f, "genuine confirmed", atFrames(genuine, at, at, func(v verdict) bool { return v.continuity == scoring.Confirmed }), "")
		e.share(f, "genuine confirmed or likely", atFrames(genuine, at, at, func(v verdict) bool { return trusted(v.continuity) }), "")
		e.share(f, "impostor confirmed (false)", atFrames(impostor, at, at, func(v verdict) bool { return v.continuity == scoring.Confirmed }), "")
		e.share(f, "impostor confirmed or likely (false)", atFrames(impostor, at, at, func(v verdict) bool { return trusted(v.continuity) }), "")
		e.share(f, "impostor not_confirmed", atFrames(impostor, at, at, func(v verdict) bool { return v.continuity == scoring.NotConfirmed }), "")
	}
}
