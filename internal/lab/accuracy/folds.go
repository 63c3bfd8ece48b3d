package accuracy

import (
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
	"github.com/countersign-dev/countersign/internal/lab/training"
)

// fold is a background with the people it is tested on, none of whom it was learned
// from.
type fold struct {
	bg     *scoring.Background
	tested []int // indices of people
}

// folds chooses the background of a set and the people to test with it. learn
// returns the samples of the people with the given indices, in case a background
// has to be learned from part of the set.
func (e *env) folds(set recordings.Set, m features.Modality, names []string, learn func(people []int) ([]training.Sample, training.Options)) ([]fold, error) {
	if e.own != noOwn {
		return e.ownFolds(set, m, names)
	}
	embedded := e.opt.Model.Background(m)
	known, err := learnedFrom(embedded, set)
	if err != nil {
		return nil, err
	}
	if e.opt.Background == BackgroundSplit || e.opt.Background == BackgroundAuto && known {
		return e.split(set, m, len(names), learn)
	}
	tested, err := e.unlearned(set, m, names)
	if err != nil {
		return nil, err
	}
	e.note("%s: %s background %s; %d of %d people tested", set.Name, m, embedded.Version, min(len(tested), e.opt.MaxPeople), len(names))
	return []fold{{embedded, tested[:min(len(tested), e.opt.MaxPeople)]}}, nil
}

// fewest is the number of people a comparison needs at least: below it the
// intervals are too wide to decide on.
const fewest = 8

// unlearned returns the people that none of the compared models was learned from.
// Without a comparison, people that the model knows are tested as well, and a note
// in the report says so.
func (e *env) unlearned(set recordings.Set, m features.Modality, names []string) ([]int, error) {
	models := []*scoring.Model{e.opt.Model}
	if e.opt.Against != nil {
		models = append(models, e.opt.Against)
	}
	tested := indices(len(names), func(int) bool { return true })
	for _, model := range models {
		bg := model.Background(m)
		known, err := learnedFrom(bg, set)
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		if bg.Card.HeldBack == 0 && e.opt.Against == nil {
			e.note("%s: background %s was learned from these very people; the figures are too good", set.Name, bg.Version)
			continue
		}
		tested = slices.DeleteFunc(tested, func(i int) bool { return !training.HeldBack(names[i], bg.Card.HeldBack) })
	}
	if len(tested) < fewest {
		e.note("%s: no comparison, %d people were held back from learning", set.Name, len(tested))
		return nil, fmt.Errorf("%w: %d people that were not learned from, %d needed", errUnfit, len(tested), fewest)
	}
	return tested, nil
}

// split learns on part of the people and tests on the rest. Large sets are divided
// once, 7 to 3; small ones crosswise into two halves, so that every person is
// tested.
func (e *env) split(set recordings.Set, m features.Modality, people int, learn func(people []int) ([]training.Sample, training.Options)) ([]fold, error) {
	var out []fold
	for _, tested := range e.parts(people) {
		samples, opt := learn(indices(people, func(i int) bool { return !tested(i) }))
		opt.MinPeople = 10
		bg, err := training.Learn(samples, opt)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnfit, err)
		}
		test := indices(people, tested)
		out = append(out, fold{bg, test[:min(len(test), e.opt.MaxPeople)]})
		e.note("%s: %s background learned from %d people of the set, disjoint from the %d tested", set.Name, m, bg.Card.People, len(test))
	}
	return out, nil
}

// parts returns who is tested in each fold of a set of n people.
func (e *env) parts(people int) []func(i int) bool {
	if people < 300 {
		return []func(i int) bool{func(i int) bool { return i%2 == 0 }, func(i int) bool { return i%2 == 1 }}
	}
	return []func(i int) bool{func(i int) bool { return i%10 < 3 }}
}

// indices returns the numbers below n for which keep is true, in order.
func indices(n int, keep func(int) bool) []int {
	var out []int
	for i := range n {
		if keep(i) {
			out = append(out, i)
		}
	}
	return out
}

// learnedFrom reports whether a background was learned from exactly this file. A
// copy of it under a different name counts too.
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

func (e *env) keyFolds(set recordings.Set, people []typist) ([]fold, error) {
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = p.name
	}
	return e.folds(set, features.Keystroke, names, func(chosen []int) ([]training.Sample, training.Options) {
		var some []typist
		for _, i := range chosen {
			some = append(some, people[i])
		}
		return keySamples(some, frameKeys), training.DefaultOptions(features.Keystroke)
	})
}
