package accuracy

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/background"
	"github.com/countersign-dev/countersign/internal/features"
	"github.com/countersign-dev/countersign/internal/recordings"
	"github.com/countersign-dev/countersign/internal/scoring"
)

// fold is a background with people it was not learned from.
type fold struct {
	bg     *scoring.Background
	tested []int // indices of people
}

// folds chooses the background of a set. learn learns one from the people of the given indices.
func (e *env) folds(set recordings.Set, m features.Modality, people int, learn func(people []int) ([]background.Sample, background.Options)) ([]fold, error) {
	embedded := e.opt.Model.Background(m)
	known, err := learnedFrom(embedded, set)
	if err != nil {
		return nil, err
	}
	if e.opt.Background == BackgroundEmbedded && known {
		e.note("%s: the embedded background was learned from these very people; the figures are too good", set.Name)
	}
	if e.opt.Background == BackgroundEmbedded || e.opt.Background == BackgroundAuto && !known {
		all := indices(people, func(int) bool { return true })
		e.note("%s: %s background %s, learned from other recordings; all people tested", set.Name, m, embedded.Version)
		return []fold{{embedded, all[:min(len(all), e.opt.MaxPeople)]}}, nil
	}
	return e.split(set, m, people, learn)
}

// split learns on part of the people and tests on the rest. Large sets are divided once, 7 to 3; small ones crosswise in
// two halves, so that everybody is tested.
func (e *env) split(set recordings.Set, m features.Modality, people int, learn func(people []int) ([]background.Sample, background.Options)) ([]fold, error) {
	parts := []func(i int) bool{func(i int) bool { return i%10 < 3 }}
	if people < 300 {
		parts = []func(i int) bool{func(i int) bool { return i%2 == 0 }, func(i int) bool { return i%2 == 1 }}
	}
	var out []fold
	for _, tested := range parts {
		samples, opt := learn(indices(people, func(i int) bool { return !tested(i) }))
		opt.MinPeople = 10
		bg, err := background.Learn(samples, opt)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnfit, err)
		}
		test := indices(people, tested)
		out = append(out, fold{bg, test[:min(len(test), e.opt.MaxPeople)]})
		e.note("%s: %s background learned from %d people of the set, disjoint from the %d tested", set.Name, m, bg.Card.People, len(test))
	}
	return out, nil
}

func indices(n int, keep func(int) bool) []int {
	var out []int
	for i := range n {
		if keep(i) {
			out = append(out, i)
		}
	}
	return out
}

func learnedFrom(bg *scoring.Background, set recordings.Set) (bool, error) {
	digest, err := recordings.Digest(set.Path)
	if err != nil {
		return false, err
	}
	for _, s := range bg.Card.Sources {
		if s.SHA256 == digest {
			return true, nil
		}
	}
	return false, nil
}

// keyFolds is folds for typing.
func (e *env) keyFolds(set recordings.Set, people []typist) ([]fold, error) {
	return e.folds(set, features.Keystroke, len(people), func(chosen []int) ([]background.Sample, background.Options) {
		var some []typist
		for _, i := range chosen {
			some = append(some, people[i])
		}
		return keySamples(some, frameKeys), background.DefaultOptions(features.Keystroke)
	})
}
