package scoring

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// residualCap returns how many standard deviations of a cell's residual count, so that a single cell cannot decide. Of typing fewer do:
// its cells have rare slow keys in them.
func (b *Background) residualCap() float64 {
	if b.Modality == features.Keystroke {
		return 1.7
	}
	return 2.5
}

// posterior is the estimate of a person: mean and covariance of the offset from the population. It has the precision of storage, so
// that a decision does not depend on whether the template was just trained or read back.
type posterior struct {
	mean []float32
	cov  triangle
}

// newPosterior returns a posterior without content for dim cells.
func newPosterior(dim int) posterior { return posterior{make([]float32, dim), newTriangle(dim)} }

// workspace is scratch memory for one score. It is pooled so that scoring does not allocate.
type workspace struct {
	index []int
	r     []float64
	// Standard deviations of the noise of finite counts.
	noise    []float64
	one, two square
}

// workspaces pools scratch memory; a workspace may hold values of an earlier score.
var workspaces = sync.Pool{New: func() any { return &workspace{} }}

// residuals selects the present cells and computes their noise and their residuals, of at most most standard deviations.
func (ws *workspace) residuals(b *Background, v features.Vector, most float64) {
	ws.index, ws.r, ws.noise = ws.index[:0], ws.r[:0], ws.noise[:0]
	for i, n := range v.N {
		if !(n > 0) || math.IsNaN(v.M[i]) {
			continue
		}
		noise := b.Sig2[i] / n
		limit := most * math.Sqrt(b.b.at(i, i)+b.w.at(i, i)+noise)
		ws.index = append(ws.index, i)
		ws.r = append(ws.r, math.Min(math.Max(v.M[i]-b.Mu[i], -limit), limit))
		ws.noise = append(ws.noise, math.Sqrt(noise))
	}
}

// spread writes row row of R = W' + S J S to to, up to the diagonal: S has the noise of the present cells, sqrt(sig2/n), and J its
// correlations.
func (ws *workspace) spread(b *Background, row int, to []float64) {
	i, noise := ws.index[row], ws.noise[row]
	wi, ji := b.w.row(i), b.joint.row(i)
	for col, j := range ws.index[:row+1] {
		to[col] = wi[j] + ji[j]*noise*ws.noise[col]
	}
}

// llr returns log p(r; a, C + R) - log p(r; 0, B + R) with R of spread over the present cells: how much better the person explains
// the window than the population does. It is 0 if no cell is present. p is Student's t with the background's degrees of freedom:
// people vary from day to day more than a Gaussian allows, and a window that fits neither side should count less.
func llr(b *Background, p posterior, v features.Vector) float64 {
	ws, _ := workspaces.Get().(*workspace)
	defer workspaces.Put(ws)
	ws.residuals(b, v, b.residualCap())
	k := len(ws.index)
	if k == 0 {
		return 0
	}
	ws.one, ws.two = ws.one.reshape(k+1), ws.two.reshape(k+1)
	z, r := ws.one.row(k), ws.two.row(k)
	for row, i := range ws.index {
		one, two := ws.one.row(row), ws.two.row(row)
		ws.spread(b, row, one)
		ci, bi := p.cov.row(i), b.b.row(i)
		for col, j := range ws.index[:row+1] {
			two[col] = one[col] + bi[j]
			one[col] += float64(ci[j])
		}
		z[row], r[row] = ws.r[row]-float64(p.mean[i]), ws.r[row]
	}
	own, ok := ws.one.logDensity(b.Tail)
	other, ok2 := ws.two.logDensity(b.Tail)
	if !ok || !ok2 || math.IsNaN(own-other) {
		return 0
	}
	return own - other
}

// information is the contribution of one session to the posterior: precision and precision-weighted residual, over all cells.
type information struct {
	precision square
	h         []float64
}

// inform computes the information of one merged session: R^-1 and R^-1 r over its cells, with R of spread.
func inform(b *Background, v features.Vector) (information, bool) {
	ws := &workspace{}
	ws.residuals(b, v, b.residualCap())
	ws.one = newSquare(len(ws.index))
	for row := range ws.index {
		ws.spread(b, row, ws.one.row(row))
	}
	inv, ok := ws.one.inverse()
	if !ok {
		return information{}, false
	}
	out := information{newSquare(b.Dim()), make([]float64, b.Dim())}
	for row, i := range ws.index {
		to, from := out.precision.row(i), inv.row(row)
		for col, j := range ws.index {
			to[j] = from[col]
			out.h[i] += from[col] * ws.r[col]
		}
	}
	return out, true
}

// combine returns the posterior of a person from sessions that are independent draws of W'.
func combine(b *Background, sessions []information) (posterior, bool) {
	n := b.Dim()
	precision, h := newSquare(n), make([]float64, n)
	copy(precision.data, b.binv.data)
	for _, s := range sessions {
		floats.Add(precision.data, s.precision.data)
		floats.Add(h, s.h)
	}
	cov, ok := precision.inverse()
	if !ok {
		return posterior{}, false
	}
	p := newPosterior(n)
	for i := range n {
		p.mean[i] = float32(floats.Dot(cov.row(i), h))
		for j, c := range cov.row(i)[:i+1] {
			p.cov.row(i)[j] = float32(c)
		}
	}
	return p, true
}

// enrol returns the posterior of a person from merged vectors, one per session.
func enrol(b *Background, sessions []features.Vector) (posterior, bool) {
	all := make([]information, len(sessions))
	for i, v := range sessions {
		var ok bool
		if all[i], ok = inform(b, v); !ok {
			return posterior{}, false
		}
	}
	return combine(b, all)
}

// merge adds the cells of a frame or window to a running vector.
func merge(into, v features.Vector) {
	for i, n := range v.N {
		if n > 0 {
			total := into.N[i] + n
			into.M[i] += (v.M[i] - into.M[i]) * n / total
			into.N[i] = total
		}
	}
}

// mergeAll merges vectors of one dimension into a new one.
func mergeAll(dim int, vectors ...features.Vector) features.Vector {
	out := features.NewVector(dim)
	for _, v := range vectors {
		merge(out, v)
	}
	return out
}
