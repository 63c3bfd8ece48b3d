package scoring

import (
	"math"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// The pattern of typing: people are faster between hands than within one, slower before a word, and hold some keys longer, so the cells
// of their frames follow the pattern of the population's means. How much holds vary has a pattern too. A program that ignores which keys it
// presses has one level for all cells of a family. Both are compared by their likelihood over the last frames; no table of keys is needed.
const (
	// Keys over which the pattern is collected; older ones count less and less.
	patternKeys = 200
	// Variance of a mean that is rounded to two decimals.
	roundingNoise = .01 * .01 / 12
	// Share of the background's margin that is added to the ratio: a pattern that is only stated fits people less well.
	patternMargin = .785
	// Standard deviations at which a residual is limited: more than of a person's, because a program is far from people in single cells.
	patternCap = 2.5
	// Degrees of freedom of a program's times: a pause in a rare class of keys is no pattern.
	blindTail = 6
)

// blindScales are the amounts by which a program's times may vary, as multiples of the variance of a person's single event.
var blindScales = []float64{.003, .03, .1, .3, 1}

// pattern is the recent typing of a session, merged, with its log-likelihood ratio: above 0 it is likelier a person's than that of
// a program that ignores the keys.
type pattern struct {
	cells features.Vector
	Keys  float64 `json:"keys,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

// observe returns the pattern after a frame with the weighed cells and the number of keys. The receiver is not modified.
func (p pattern) observe(bg *Background, cells features.Vector, keys int) pattern {
	out := pattern{cells: mergeAll(bg.Dim(), p.cells, cells), Keys: p.Keys + float64(keys)}
	out.Ratio = patternRatio(bg, out.cells) + patternMargin*bg.margin()
	if share := patternKeys / out.Keys; share < 1 {
		for i := range out.cells.N {
			out.cells.N[i] *= share
		}
		out.Keys = patternKeys
	}
	return out
}

// blindFamilies are the families of cells whose means follow the keys: holds, press to press, release to press, and how much holds vary.
var blindFamilies = [...]string{"h", "p", "r", "hs"}

// patternFamilies are the indices in blindFamilies by cell, -1 for others.
var patternFamilies = func() []int {
	families := make([]int, 0, features.Dim(features.Keystroke))
	for _, c := range features.Cells(features.Keystroke) {
		kind, _, _ := strings.Cut(c.Name, ":")
		families = append(families, slices.Index(blindFamilies[:], kind))
	}
	return families
}()

// patternRatio returns log p(cells; person of the population) - log p(cells; program that ignores the keys).
func patternRatio(bg *Background, v features.Vector) float64 {
	ws, _ := workspaces.Get().(*workspace)
	defer workspaces.Put(ws)
	counted := temporary(len(v.N))
	defer temporaries.Put(counted)
	timed := features.Vector{N: counted.N, M: v.M}
	for i, family := range patternFamilies {
		if family >= 0 {
			timed.N[i] = v.N[i]
		}
	}
	ws.residuals(bg, timed, patternCap)
	k := len(ws.index)
	if k == 0 {
		return 0
	}
	blind := math.Inf(-1)
	for _, scale := range blindScales {
		blind = math.Max(blind, blindDensity(bg, timed, ws.index, scale))
	}
	ws.one = ws.one.reshape(k + 1)
	copy(ws.one.row(k), ws.r)
	for row, i := range ws.index {
		r, wi, bi := ws.one.row(row), bg.w.row(i), bg.b.row(i)
		for col, j := range ws.index[:row+1] {
			r[col] = wi[j] + bi[j]
		}
		r[row] += ws.noise[row] * ws.noise[row] // of a program's events too it is not asked which cells they have in common
	}
	person, ok := ws.one.logDensity(bg.Tail)
	if !ok || math.IsNaN(person-blind) {
		return 0
	}
	return person - blind
}

// blindDensity is the log density of cells that have one level in each family, with independent noise.
func blindDensity(bg *Background, v features.Vector, index []int, scale float64) float64 {
	var weight, level [len(blindFamilies)]float64
	variance := func(i int) float64 { return scale*bg.Sig2[i]/v.N[i] + roundingNoise }
	for _, i := range index {
		f, w := patternFamilies[i], 1/variance(i)
		weight[f] += w
		level[f] += w * v.M[i]
	}
	total := 0.0
	for _, i := range index {
		f := patternFamilies[i]
		d := v.M[i] - level[f]/weight[f]
		total -= ((blindTail+1)*math.Log1p(d*d/variance(i)/blindTail) + math.Log(variance(i))) / 2
	}
	return total
}
