package scoring

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/floats"
)

// Constants of the fixed-text detector. A feature's residual is capped, and its spread is shrunk towards the population's. Two
// distances are averaged: the capped Manhattan distance to the median (the detector of Killourhy and Maxion, 2009), and the distance
// to the nearest samples after removing the correlation of features.
const (
	fixedCap = 4
	// The number of samples that the population's spread weighs.
	fixedPrior = 10
	// Mean absolute deviation of a log time within a person.
	fixedPopulation = 0.20
	fixedFloor      = 0.05
	fixedMinMS      = 5
	fixedNeighbours = 5
	// Samples at which correlations have weight one half.
	fixedShrink = 30
	// With more features, correlations are not estimated: there are too few samples for them.
	fixedWhitenMost = 64
	// Samples after which the weight of a sample halves: people get faster while they learn a phrase.
	fixedHalfLife = 25
)

// fixedDetector is a phrase template prepared for comparisons.
type fixedDetector struct {
	center, spread []float64
	// Cholesky root of the shrunk correlations; empty if they are not estimated.
	root square
	near [][]float64
}

// detector computes the weighted median and spread of each feature, and the correlations of their residuals.
func (f FixedText) detector() fixedDetector {
	dim := f.Reactions + f.Intervals
	d := fixedDetector{center: make([]float64, dim), spread: make([]float64, dim)}
	column, weights := make([]float64, len(f.Samples)), recency(len(f.Samples))
	for i := range dim {
		for j, s := range f.Samples {
			column[j] = s[i]
		}
		d.center[i] = weightedMedian(column, weights)
		sum := fixedPrior * fixedPopulation
		for j, v := range column {
			sum += weights[j] * math.Abs(v-d.center[i])
		}
		d.spread[i] = math.Max(sum/(fixedPrior+floats.Sum(weights)), fixedFloor)
	}
	if dim <= fixedWhitenMost {
		d.learnCorrelations(f.Samples)
	}
	return d
}

// residual returns the sample's distances from the center, in capped spreads.
func (d fixedDetector) residual(sample []float64) []float64 {
	out := make([]float64, len(d.center))
	for i, c := range d.center {
		out[i] = math.Min(math.Max((sample[i]-c)/d.spread[i], -fixedCap), fixedCap)
	}
	return out
}

// learnCorrelations estimates the correlations of the residuals, shrunk towards independence.
func (d *fixedDetector) learnCorrelations(samples [][]float64) {
	n, trust := len(d.center), float64(len(samples))/float64(len(samples)+fixedShrink)
	residuals := make([][]float64, len(samples))
	root := newSquare(n)
	for k, s := range samples {
		residuals[k] = d.residual(s)
		for i, x := range residuals[k] {
			floats.AddScaled(root.row(i)[:i+1], x, residuals[k][:i+1])
		}
	}
	scale := make([]float64, n)
	for i := range n {
		scale[i] = math.Sqrt(root.at(i, i) + 1e-9)
	}
	for i := range n {
		for j := range i {
			root.row(i)[j] *= trust / (scale[i] * scale[j])
		}
		root.row(i)[i] = 1
	}
	if !root.cholesky() {
		return
	}
	d.root = root
	for _, r := range residuals {
		root.forward(r)
		d.near = append(d.near, r)
	}
}

// distance returns the mean of both distances per feature.
func (d fixedDetector) distance(sample []float64) float64 {
	r := d.residual(sample)
	manhattan := floats.Norm(r, 1) / float64(len(r))
	if len(d.near) == 0 {
		return manhattan
	}
	d.root.forward(r)
	distances := make([]float64, len(d.near))
	for i, s := range d.near {
		distances[i] = floats.Distance(r, s, 1) / float64(len(r))
	}
	sort.Float64s(distances)
	nearest := distances[:min(fixedNeighbours, len(distances))]
	return (manhattan + floats.Sum(nearest)/float64(len(nearest))) / 2
}

// recency returns the weights of n samples, oldest first. The newest has weight 1; the weight halves every fixedHalfLife samples.
func recency(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Exp2(-float64(n-1-i) / fixedHalfLife)
	}
	return out
}

// weightedMedian returns the value below which half of the weight lies, between two values if it falls between them. With equal
// weights it is the median.
func weightedMedian(v, weights []float64) float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return v[order[a]] < v[order[b]] })
	half, middle := floats.Sum(weights)/2, weights[order[0]]/2
	for k := 1; k < len(order); k++ {
		lower, upper := order[k-1], order[k]
		step := (weights[lower] + weights[upper]) / 2
		if middle+step >= half {
			return v[lower] + (v[upper]-v[lower])*math.Max(half-middle, 0)/step
		}
		middle += step
	}
	return v[order[len(order)-1]]
}
