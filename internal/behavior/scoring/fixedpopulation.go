package scoring

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
)

// FixedPopulation is what is known of a phrase from other people who type it: how they differ and how each varies. With
// it a sample is rated by how much better the person explains it than somebody of the population does.
type FixedPopulation struct {
	mean          []float64
	within, total square
}

// Constants of the population detector.
const (
	populationPeople = 5   // fewest people to learn from
	personPrior      = 50  // samples the population's covariance counts for in the person's own
	personCap        = 3   // deviations
	populationSpread = .25 // deviation of a log time within a person, for capping while learning
	crossShare       = .5  // share of the covariance between people that is trusted off the diagonal
)

// ErrFixedPopulation is returned where there are too few people, or phrases of other lengths.
var ErrFixedPopulation = errors.New("scoring: a phrase's population takes five people with the same lengths")

// LearnPopulation learns from the templates of other people of one phrase.
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

// gaussian is a prepared density with its residuals capped.
type gaussian struct {
	mean, limit []float64
	root        square
	logDet      float64
}

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

func (g gaussian) logDensity(x []float64) float64 {
	r := make([]float64, len(x))
	for i, v := range x {
		r[i] = math.Min(math.Max(v-g.mean[i], -g.limit[i]), g.limit[i])
	}
	g.root.forward(r)
	return -.5*floats.Dot(r, r) - g.logDet
}

// Scorer prepares a template for comparing against the population. Higher is more genuine: the log-likelihood ratio per
// feature, averaged with the detector's own distance.
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
