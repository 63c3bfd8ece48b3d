package scoring

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/floats"
)

// Constants of the fixed-text detector. A feature's residual is capped, its spread shrunk towards the population's. Two
// views are averaged: the capped Manhattan distance to the median, and the distance to the nearest samples after taking
// out what features have in common.
const (
	fixedCap        = 4
	fixedPrior      = 10   // samples the population's spread counts for
	fixedPopulation = 0.20 // mean absolute deviation of a log time within a person
	fixedFloor      = 0.05
	fixedMinMS      = 5
	fixedNeighbours = 5
	fixedShrink     = 30 // samples at which correlations are half trusted
	fixedWhitenMost = 64 // features beyond which correlations are left alone: cost, and too few samples
	fixedHalfLife   = 25 // samples after which one counts half: people get faster while they learn a phrase
)

// fixedDetector is a phrase template prepared for comparing.
type fixedDetector struct {
	center, spread []float64
	root           square // Cholesky root of the shrunk correlations; empty where not whitened
	near           [][]float64
}

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

// residual is the sample in capped spreads from the center.
func (d fixedDetector) residual(sample []float64) []float64 {
	out := make([]float64, len(d.center))
	for i, c := range d.center {
		out[i] = math.Min(math.Max((sample[i]-c)/d.spread[i], -fixedCap), fixedCap)
	}
	return out
}

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

// distance is the mean of both views per feature.
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

// recency is what n samples count for, oldest first. The newest counts 1.
func recency(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Exp2(-float64(n-1-i) / fixedHalfLife)
	}
	return out
}

// weightedMedian is the value half of the weight lies below, between two values where it falls between them; the median
// where all weights are the same.
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
