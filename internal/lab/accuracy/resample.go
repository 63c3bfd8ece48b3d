package accuracy

import (
	"math"
	"math/rand/v2"
	"sort"
)

// ranked has every score of a set of people in ascending order, so that a resample
// of people costs one sweep and no sorting.
type ranked struct {
	scores []rankedScore
	people int
}

// rankedScore is a score with the index of the target person.
type rankedScore struct {
	value   float64
	person  int32
	genuine bool
}

// pooledFigures are the pooled figures of one weighting of people: EER, AUC, and
// FNMR at an FMR of 1 % and 0.1 %.
type pooledFigures struct {
	eer, auc, fnmr1, fnmr01 float64
}

// rank sorts the scores of all people.
func rank(people []Person) ranked {
	r := ranked{people: len(people)}
	for p, person := range people {
		for _, v := range person.Genuine {
			r.scores = append(r.scores, rankedScore{v, int32(p), true})
		}
		for _, v := range person.Impostor {
			r.scores = append(r.scores, rankedScore{v, int32(p), false})
		}
	}
	sort.Slice(r.scores, func(a, b int) bool { return r.scores[a].value < r.scores[b].value })
	return r
}

// figures sweeps the threshold upwards over the scores. Each score counts as often
// as its person was drawn. It reports false if no genuine or no impostor score was
// drawn.
func (r ranked) figures(weights []float64) (pooledFigures, bool) {
	var genuine, impostor float64
	for _, s := range r.scores {
		if s.genuine {
			genuine += weights[s.person]
		} else {
			impostor += weights[s.person]
		}
	}
	if genuine == 0 || impostor == 0 {
		return pooledFigures{}, false
	}
	out := pooledFigures{eer: math.NaN(), fnmr1: math.NaN(), fnmr01: math.NaN()}
	rejected, passed, lastRej, lastAcc, area := 0.0, impostor, 0.0, 1.0, 0.0
	for at := 0; at < len(r.scores); {
		rej, acc := rejected/genuine, passed/impostor
		if math.IsNaN(out.eer) && rej >= acc {
			out.eer = cross(lastRej, lastAcc, rej, acc)
		}
		lastRej, lastAcc = rej, acc
		if math.IsNaN(out.fnmr1) && acc <= .01 {
			out.fnmr1 = rej
		}
		if math.IsNaN(out.fnmr01) && acc <= .001 {
			out.fnmr01 = rej
		}
		value, g, i := r.scores[at].value, 0.0, 0.0
		for ; at < len(r.scores) && r.scores[at].value == value; at++ {
			if s := r.scores[at]; s.genuine {
				g += weights[s.person]
			} else {
				i += weights[s.person]
			}
		}
		area += g * (impostor - passed + i/2)
		rejected, passed = rejected+g, passed-i
	}
	for _, missing := range []*float64{&out.fnmr1, &out.fnmr01} {
		if math.IsNaN(*missing) {
			*missing = lastRej
		}
	}
	if math.IsNaN(out.eer) {
		out.eer = cross(lastRej, lastAcc, 1, 0)
	}
	out.auc = area / genuine / impostor
	return out, true
}

// pooledIntervals returns the bounds of 95 % bootstrap intervals over people, for
// each pooled figure. The seed fixes the draws.
func pooledIntervals(people []Person, resamples int, seed uint64) (low, high pooledFigures) {
	r := rank(people)
	rng := rand.New(rand.NewPCG(seed, 29))
	var columns [4][]float64
	weights := make([]float64, r.people)
	for range resamples {
		clear(weights)
		for range weights {
			weights[rng.IntN(len(weights))]++
		}
		if f, ok := r.figures(weights); ok {
			for k, v := range []float64{f.eer, f.auc, f.fnmr1, f.fnmr01} {
				columns[k] = append(columns[k], v)
			}
		}
	}
	var lo, hi [4]float64
	for k := range columns {
		if lo[k], hi[k] = math.NaN(), math.NaN(); len(columns[k]) > 1 {
			sort.Float64s(columns[k])
			lo[k], hi[k] = quantile(columns[k], .025), quantile(columns[k], .975)
		}
	}
	return pooledFigures{lo[0], lo[1], lo[2], lo[3]}, pooledFigures{hi[0], hi[1], hi[2], hi[3]}
}
