package synthetic

import (
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// simulatedPeople is how many people the backgrounds of Population claim to rest on.
const simulatedPeople = 1000

// Backgrounds returns the stated priors as if they had been learned from a thousand simulated people, one per modality. Simulated
// people are drawn from the priors, so for them, and for no one else, that is exactly right. Versions end in "-simulated".
func Backgrounds() ([]*scoring.Background, error) {
	var out []*scoring.Background
	for _, m := range []features.Modality{features.Keystroke, features.Pointer} {
		bg := *scoring.Default().Background(m)
		bg.DriftCells = drifting(m, bg.DriftCells)
		bg.Version += "-simulated"
		bg.Card = scoring.Card{Data: "simulated people; none recorded", Licence: "Apache-2.0", People: simulatedPeople,
			Population: "simulated people", Learned: bg.Card.Learned}
		if err := bg.Prepare(); err != nil {
			return nil, err
		}
		out = append(out, &bg)
	}
	return out, nil
}

// drifting returns the day-to-day change of simulated people: all of what the prior allows for, or a share of it.
func drifting(m features.Modality, allowed []float64) []float64 {
	out := slices.Clone(allowed)
	if m == features.Keystroke {
		floats.Scale(dayShare, out)
	}
	return out
}

// Population returns the model of Backgrounds, for tests that need claims above likely. It panics if the priors are unusable, which any
// test would reveal.
var Population = sync.OnceValue(func() *scoring.Model {
	all, err := Backgrounds()
	if err != nil {
		panic("synthetic: population: " + err.Error())
	}
	return scoring.NewModel(all...)
})
