package scoring

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
)

// FixedPopulation describes how other people type a phrase: how they differ from each other and how each varies. With it a sample is
// scored by how much better the person explains it than the population does.
type FixedPopulation struct {
	mean          []float64
	within, total square
}

// Constants of the population detector.
const (
	// Fewest people to learn from.
	populationPeople = 5
	// The number of samples that the population's covariance weighs in the person's own.
	personPrior = 50
	personCap   = 3 // deviations
	// Standard deviation of a log time within a person, for capping during training.
	populationSpread = .25
	// Weight of the covariance between people off the diagonal.
	crossShare = .5
)

// ErrFixedPopulation is returned if there are fewer than five people, or their phrases have different lengths.
var ErrFixedPopulation = errors.New("scoring: a phrase's population takes five people with the same lengths")

// LearnPopulation estimates the population from the templates of other people of one phrase.
func LearnPopulation(people []FixedText) (*FixedPopulation, error) {
	if len(people) < populationPeople {
		return nil, ErrFixedPopulation
	}
	dim := people[0].Reactions + people[0].Intervals
	p := &FixedPopulation{mean: make([]float64, dim), within: newSquare(dim), total: newSquare(dim)}
	centers := make([][]float64, len(people))
	for k, f := range people {
		if !f.Enrolled() || f.Reactions != people[0].Reactions || f.Intervals != people[0].Intervals {
			return nil, ErrFixedPopulation
		}
		centers[k] = f.detector().center
		floats.AddScaled(p.mean, 1/float64(len(people)), centers[k])
		floats.Add(p.within.data, cappedCovariance(f.Samples, centers[k]).data)
	}
	floats.Scale(1/float64(len(people)), p.within.data)
	copy(p.total.data, p.within.data)
	for _, c := range centers {
		for i := range dim {
			for j := range dim {
				share := crossShare
				if i == j {
					share = 1.1
				}
				p.total.data[i*dim+j] += share * (c[i] - p.mean[i]) * (c[j] - p.mean[j]) / float64(len(people))
			}
		}
	}
	return p, nil
}

// cappedCovariance returns the covariance about the center, with residuals capped at personCap deviations.
func cappedCovariance(samples [][]float64, center []float64) square {
	n := len(center)
	out := newSquare(n)
	r := make([]float64, n)
	for _, s := range samples {
		for i, c := range center {
			r[i] = math.Min(math.Max(s[i]-c, -personCap*populationSpread), personCap*populationSpread)
		}
		for i, x := range r {
			floats.AddScaled(out.row(i), x/float64(len(samples)), r)
		}
	}
	for i := range n {
		out.row(i)[i] += 1e-4 // a feature that never varies must not make the covariance singular
	}
	return out
}

// gaussian is a density prepared for evaluation, with its residuals capped.
type gaussian struct {
	mean, limit []float64
	root        square
	logDet      float64
}

// newGaussian prepares a density; false if the covariance is not positive definite.
func newGaussian(mean []float64, cov square) (gaussian, bool) {
	g := gaussian{mean: mean, limit: make([]float64, len(mean)), root: newSquare(cov.n)}
	copy(g.root.data, cov.data)
	for i := range mean {
		g.limit[i] = personCap * math.Sqrt(cov.at(i, i))
	}
	if !g.root.cholesky() {
		return g, false
	}
	for i := range mean {
		g.logDet += math.Log(g.root.at(i, i))
	}
	return g, true
}

// logDensity returns the log density without its constant, with residuals capped at personCap deviations.
func (g gaussian) logDensity(x []float64) float64 {
	r := make([]float64, len(x))
	for i, v := range x {
		r[i] = math.Min(math.Max(v-g.mean[i], -g.limit[i]), g.limit[i])
	}
	g.root.forward(r)
	return -.5*floats.Dot(r, r) - g.logDet
}

// Scorer returns a function that scores samples against the template with the population. Higher is more genuine: the
// log-likelihood ratio per feature, averaged with the detector's own distance.
func (p *FixedPopulation) Scorer(f FixedText) (func(reactions, intervals []float64) (float64, error), error) {
	if !f.Enrolled() || f.Reactions+f.Intervals != len(p.mean) {
		return nil, ErrFixedPopulation
	}
	d, n := f.detector(), float64(len(f.Samples))
	mean := make([]float64, len(p.mean))
	for i, c := range d.center {
		mean[i] = (n*c + .5*p.mean[i]) / (n + .5)
	}
	own := cappedCovariance(f.Samples, mean)
	for i := range own.data {
		own.data[i] = (n*own.data[i] + personPrior*p.within.data[i]) / (n + personPrior)
	}
	person, ok := newGaussian(mean, own)
	others, ok2 := newGaussian(p.mean, p.total)
	if !ok || !ok2 {
		return nil, ErrFixedPopulation
	}
	return func(reactions, intervals []float64) (float64, error) {
		x, err := f.sample(reactions, intervals)
		if err != nil {
			return 0, err
		}
		ratio := (person.logDensity(x) - others.logDensity(x)) / float64(len(x))
		return (ratio - d.distance(x)) / 2, nil
	}, nil
}
