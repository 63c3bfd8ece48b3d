package accuracy

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// frameKeys is the length of a frame in keys: a collector sends as many after about
// ten seconds of typing.
const frameKeys = 50

// The gallery protocol: ten sentences to enrol from, five to test with.
const (
	gallerySessions = 10
	querySessions   = 5
)

// galleryPublished are the figures to compare with, by sentences enrolled.
var galleryPublished = map[int]string{1: "TypeNet 7.56 %, target 6.5 %", 5: "TypeNet 4.80 %, target 3.0 %", 10: "TypeNet 3.73 %, target 2.2 %"}

// runGallery enrolls 1, 5 or 10 short sessions and tests with one further session,
// as Acien et al. 2020 do (TypeNet). Impostors are one query of every other person.
// All sessions are of one sitting, so the scorer makes no allowance for changes
// from day to day.
func runGallery(e *env, set recordings.Set) error {
	people, err := e.readTypists(set)
	if err != nil {
		return err
	}
	if people = having(people, gallerySessions+querySessions, 8); len(people) < 20 || medianKeys(people) > 3*frameKeys || phrase(people) {
		return errUnfit
	}
	folds, err := e.keyFolds(set, people)
	if err != nil {
		return err
	}
	for _, gallery := range []int{1, 5, gallerySessions} {
		var all []Person
		for _, f := range folds {
			bg, err := withDrift(f.bg, 0)
			if err != nil {
				return err
			}
			some, err := galleryScores(e, bg, pick(people, f.tested), gallery)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		e.verification(Figure{Protocol: "gallery", Set: set.Name, Case: fmt.Sprintf("%d sentences enrolled, 1 tested", gallery)}, all, galleryPublished[gallery])
	}
	return nil
}

// galleryScores scores people who enroll the first sessions of their gallery and
// test with the sessions after it.
func galleryScores(e *env, bg *scoring.Background, people []typist, gallery int) ([]Person, error) {
	scorers, queries, err := scorersOf(bg, len(people), func(i int) (enrolled, tested []features.Vector) {
		for k, s := range people[i].sessions[:gallerySessions+querySessions] {
			v := mergedFrames(bg, s, frameKeys)
			switch {
			case k < gallery:
				enrolled = append(enrolled, v)
			case k >= gallerySessions:
				tested = append(tested, v)
			}
		}
		return enrolled, tested
	})
	if err != nil {
		return nil, err
	}
	return crossScores(e.ctx, scorers, queries, 1)
}

// enrolDays is how many sessions enroll if people come back on other days; the
// service asks for as many.
const enrolDays = 3

// runDays enrolls the first three sessions and tests windows of later ones; every
// other person is an impostor.
func runDays(e *env, set recordings.Set) error {
	people, folds, err := e.returning(set)
	if err != nil {
		return err
	}
	for _, c := range dayCases {
		var all []Person
		for _, f := range folds {
			some, err := dayScores(e, f.bg, pick(people, f.tested), c)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		e.verification(Figure{Protocol: "days", Set: set.Name, Case: c.String()}, all, c.compare)
	}
	return nil
}

// dayCase is how much is enrolled and how much is tested.
type dayCase struct {
	sessions, enrolled int // sessions, and keys of each; 0 is all
	tested             int // keys
	compare            string
}

var dayCases = []dayCase{
	{3, 0, 50, ""}, {3, 0, 100, "target 4.5 %"}, {3, 0, 250, "target 2.0 %"},
	{1, 100, 200, ""}, {1, 250, 200, ""}, {2, 100, 200, ""}, {3, 100, 200, ""}, {3, 250, 200, ""},
}

func (c dayCase) String() string {
	enrolled := "sessions"
	if c.enrolled > 0 {
		enrolled = fmt.Sprintf("x %d keys", c.enrolled)
	}
	return fmt.Sprintf("%d %s enrolled, %d keys of later ones", c.sessions, enrolled, c.tested)
}

// dayScores scores people under one case. Tested windows do not overlap.
func dayScores(e *env, bg *scoring.Background, people []typist, c dayCase) ([]Person, error) {
	scorers, queries, err := scorersOf(bg, len(people), func(i int) (enrolled, tested []features.Vector) {
		for k, s := range people[i].sessions {
			if k < c.sessions {
				if c.enrolled > 0 {
					s = s[:min(c.enrolled, len(s))]
				}
				enrolled = append(enrolled, mergedFrames(bg, s, frameKeys))
			}
			for k >= enrolDays && len(s) >= c.tested {
				tested = append(tested, mergedFrames(bg, s[:c.tested], frameKeys))
				s = s[c.tested:]
			}
		}
		return enrolled, tested
	})
	if err != nil {
		return nil, err
	}
	return crossScores(e.ctx, scorers, queries, allQueries)
}

// returning reads the people of a set who come back on other days, with the folds to test them in.
func (e *env) returning(set recordings.Set) ([]typist, []fold, error) {
	people, err := e.readTypists(set)
	if err != nil {
		return nil, nil, err
	}
	if people = having(people, enrolDays+1, 200); len(people) < 10 {
		return nil, nil, errUnfit
	}
	folds, err := e.keyFolds(set, people)
	return people, folds, err
}

// having returns the people with at least so many sessions of at least so many
// keys; shorter sessions are dropped.
func having(people []typist, sessions, keys int) []typist {
	var out []typist
	for _, p := range people {
		kept := typist{name: p.name}
		for _, s := range p.sessions {
			if len(s) >= keys {
				kept.sessions = append(kept.sessions, s)
			}
		}
		if len(kept.sessions) >= sessions {
			out = append(out, kept)
		}
	}
	return out
}

// medianKeys is the median length of a session, which distinguishes sets of
// sentences from sets of texts.
func medianKeys(people []typist) float64 {
	var lengths []float64
	for _, p := range people {
		for _, s := range p.sessions {
			lengths = append(lengths, float64(len(s)))
		}
	}
	return quantile(sorted(lengths), .5)
}

// pick returns the elements at the given indices.
func pick[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = all[k]
	}
	return out
}

// withDrift copies a background and replaces its allowance for changes from day to
// day.
func withDrift(bg *scoring.Background, drift float64) (*scoring.Background, error) {
	out := *bg
	out.Drift, out.DriftCells = drift, nil
	return &out, out.Prepare()
}
