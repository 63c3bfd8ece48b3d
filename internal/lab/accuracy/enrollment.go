package accuracy

import (
	"fmt"
	"math"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// strangersEach is how many sessions of other people are put among each three
// sessions of a person.
const strangersEach = 3

// runEnrollment replaces the last of three enrollment sessions with one of another
// person. It reports how often training refuses that session and no other, and how
// often it refuses one of three honest sessions.
func runEnrollment(e *env, set recordings.Set) error {
	people, err := e.readTypists(set)
	if err != nil {
		return err
	}
	for _, keys := range []int{100, 150, 250} {
		enough := having(people, enrolDays, keys)
		if len(enough) < 10 {
			return errUnfit
		}
		folds, err := e.keyFolds(set, enough)
		if err != nil {
			return err
		}
		var honest, strangers [][]bool
		for _, f := range folds {
			h, s := enrolMixed(scoring.NewModel(f.bg), pick(enough, f.tested), keys)
			honest, strangers = append(honest, h...), append(strangers, s...)
		}
		figure := Figure{Protocol: "enrollment", Set: set.Name, Case: fmt.Sprintf("three sessions of %d keys", keys)}
		e.share(figure, "honest enrolments with a session refused", honest, "")
		e.share(figure, "stranger's session refused, and no other", strangers, "")
	}
	return e.ctx.Err()
}

// enrolMixed returns, by person, whether a session of an honest enrollment was
// refused, and whether the other person's session, and only that one, was refused.
func enrolMixed(m *scoring.Model, people []typist, keys int) (honest, strangers [][]bool) {
	sessions := make([][]scoring.SessionFrames, len(people))
	parallel(len(people), func(i int) {
		for _, events := range people[i].sessions {
			if len(events) < keys {
				continue
			}
			sessions[i] = append(sessions[i], sessionOf(events[:keys], math.MaxInt))
		}
	})
	honest, strangers = make([][]bool, len(people)), make([][]bool, len(people))
	parallel(len(people), func(i int) {
		own := sessions[i]
		for k := 0; k+enrolDays <= len(own); k++ {
			honest[i] = append(honest[i], len(m.Misfits(own[k:k+enrolDays])) > 0)
			for step := 1; step <= strangersEach; step++ {
				other := sessions[(i+step*7+k)%len(people)]
				if len(other) == 0 || (i+step*7+k)%len(people) == i {
					continue
				}
				mixed := []scoring.SessionFrames{own[k], own[k+1], other[k%len(other)]}
				strangers[i] = append(strangers[i], slices.Equal(m.Misfits(mixed), []int{2}))
			}
		}
	})
	return honest, strangers
}
