package accuracy

import (
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// runLeaveOneOut is the protocol of Monaco and Tappert 2018: every session in turn
// is the query and the others enroll; each query is scored by the model of every
// person, and the scores are min-max normalised over the models. The normalisation
// uses all models at once, which a service cannot do, so the figures serve for
// comparison only.
func runLeaveOneOut(e *env, set recordings.Set) error {
	people, err := e.readTypists(set)
	if err != nil {
		return err
	}
	people = having(people, 4, 8)
	if len(people) < 10 || len(people) > 100 {
		return errUnfit
	}
	sessions := len(people[0].sessions)
	for _, p := range people {
		sessions = min(sessions, len(p.sessions))
	}
	f := Figure{Protocol: "leave-one-out", Set: set.Name}
	if phrase(people) {
		f.Case = fmt.Sprintf("one phrase, %d repetitions enrolled, min-max over models", sessions-1)
		scores, err := normalised(len(people), sessions, phraseScores(people, sessions))
		if err != nil {
			return err
		}
		e.verification(f, scores, "Manhattan 9.2 %, scaled 5.3 %, POHMM 5.3 %")
		return nil
	}
	folds, err := e.keyFolds(set, people)
	if err != nil {
		return err
	}
	var all []Person
	for _, fold := range folds {
		score, err := sessionScores(fold.bg, pick(people, fold.tested), sessions)
		if err != nil {
			return err
		}
		scores, err := normalised(len(fold.tested), sessions, score)
		if err != nil {
			return err
		}
		all = append(all, scores...)
	}
	f.Case = fmt.Sprintf("free text, %d sessions enrolled, min-max over models", sessions-1)
	e.verification(f, all, "Manhattan 6.1 %, scaled 2.8 %, POHMM 2.0 % (whole set)")
	return nil
}

// phrase reports whether every person types the same keys in every session.
func phrase(people []typist) bool {
	want := people[0].sessions[0]
	if len(want) > 60 {
		return false
	}
	for _, p := range people {
		for _, s := range p.sessions {
			if len(s) != len(want) {
				return false
			}
			for i := range s {
				if s[i].Key != want[i].Key {
					return false
				}
			}
		}
	}
	return true
}

// scoreFunc scores the query of a person's left-out session against another person's model without that session.
type scoreFunc func(model, query, session int) (float64, error)

// normalised scores each session of each person against each model, and normalises
// the scores of a query over the models to 0 to 1.
func normalised(people, sessions int, score scoreFunc) ([]Person, error) {
	out := make([]Person, people)
	for s := range sessions {
		for q := range people {
			row := make([]float64, people)
			lo, hi := math.Inf(1), math.Inf(-1)
			for m := range people {
				var err error
				if row[m], err = score(m, q, s); err != nil {
					return nil, err
				}
				lo, hi = math.Min(lo, row[m]), math.Max(hi, row[m])
			}
			for m := range people {
				v := (row[m] - lo) / math.Max(hi-lo, 1e-9)
				if m == q {
					out[m].Genuine = append(out[m].Genuine, v)
				} else {
					out[m].Impostor = append(out[m].Impostor, v)
				}
			}
		}
	}
	return out, nil
}

// phraseScores scores with the detector for fixed texts. Models are built once for
// each person and left-out session.
func phraseScores(people []typist, sessions int) scoreFunc {
	type key struct{ model, session int }
	models := map[key]func(a, b []float64) (float64, error){}
	return func(model, query, session int) (float64, error) {
		id := key{model, session}
		if models[id] == nil {
			var f scoring.FixedText
			var err error
			for s := range sessions {
				if s == session {
					continue
				}
				if f, err = f.Enrol(phraseTimes(people[model].sessions[s])); err != nil {
					return 0, err
				}
			}
			if models[id], err = f.Scorer(); err != nil {
				return 0, err
			}
		}
		d, err := models[id](phraseTimes(people[query].sessions[session]))
		return -d, err
	}
}

// phraseTimes returns hold times and press-press times in milliseconds, within the
// limits of the legacy endpoints.
func phraseTimes(events []features.KeyEvent) (holds, intervals []float64) {
	limit := func(v float64) float64 { return math.Min(math.Max(v, 0), scoring.FixedMaxMS) }
	for i, ev := range events {
		holds = append(holds, limit(ev.Release-ev.Press))
		if i+1 < len(events) {
			intervals = append(intervals, limit(events[i+1].Press-ev.Press))
		}
	}
	return holds, intervals
}

// sessionScores scores with the detector for free text, one scorer for each person
// and left-out session.
func sessionScores(bg *scoring.Background, people []typist, sessions int) (scoreFunc, error) {
	vectors := make([][]features.Vector, len(people))
	scorers := make([][]*scoring.Scorer, len(people))
	failed := make([]error, len(people))
	parallel(len(people), func(i int) {
		for _, s := range people[i].sessions[:sessions] {
			vectors[i] = append(vectors[i], mergedFrames(bg, s, frameKeys))
		}
		for out := range sessions {
			enrolled := append(append([]features.Vector(nil), vectors[i][:out]...), vectors[i][out+1:]...)
			s, err := scoring.NewScorer(bg, enrolled)
			if err != nil {
				failed[i] = err
			}
			scorers[i] = append(scorers[i], s)
		}
	})
	if err := first(failed); err != nil {
		return nil, err
	}
	return func(model, query, session int) (float64, error) {
		return scorers[model][session].LLR(vectors[query][session]), nil
	}, nil
}
