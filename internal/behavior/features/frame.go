package features

import "math"

// Vector holds the cells of one modality: N is the number of events of each cell (0: absent) and M the mean of their values. Both
// have length Dim of the modality. In a received frame N is a count bin (see BinCount).
type Vector struct {
	N []float64
	M []float64
}

// NewVector returns an empty vector of dim cells.
func NewVector(dim int) Vector {
	buf := make([]float64, 2*dim)
	return Vector{N: buf[:dim:dim], M: buf[dim:]}
}

// Filled is the number of cells present.
func (v Vector) Filled() int {
	filled := 0
	for _, n := range v.N {
		if n > 0 {
			filled++
		}
	}
	return filled
}

// Block is the part of a frame about one modality.
type Block struct {
	Cells Vector
	// Presses, pointer events, scroll events.
	Events int
	// Time in which the modality was in use.
	ActiveMS float64
}

// Presence holds the human-presence scalars of a frame, in the order of PresenceScalars; Has marks those that are present.
type Presence struct {
	Has    []bool
	Values []float64
}

// Get returns a scalar by name and whether the frame carries it.
func (p Presence) Get(name string) (float64, bool) {
	i, ok := presenceIndex[name]
	if !ok || i >= len(p.Has) || !p.Has[i] {
		return 0, false
	}
	return p.Values[i], true
}

// set stores a scalar by name, limited to its published range and rounded as a collector sends it.
func (p *Presence) set(name string, v float64) {
	i, ok := presenceIndex[name]
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if p.Has == nil {
		p.Has, p.Values = make([]bool, len(presenceScalars)), make([]float64, len(presenceScalars))
	}
	s := presenceScalars[i]
	p.Has[i], p.Values[i] = true, round2(math.Min(math.Max(v, s.Min), s.Max))
}

// Frame is one validated feature frame: blocks by modality, presence scalars, and the resolution of the collector's clock in
// milliseconds (0 if unknown).
type Frame struct {
	Blocks   map[Modality]Block
	Presence Presence
	ClockMS  float64
}

// Block returns the block of a modality, and whether the frame has one with at least one filled cell.
func (f Frame) Block(m Modality) (Block, bool) {
	b, ok := f.Blocks[m]
	return b, ok
}

// Present returns the modalities of the frame in the order of the schema.
func (f Frame) Present() []Modality {
	var out []Modality
	for _, m := range Modalities() {
		if _, ok := f.Blocks[m]; ok {
			out = append(out, m)
		}
	}
	return out
}

// Keys returns the number of key presses in the frame.
func (f Frame) Keys() int { return f.Blocks[Keystroke].Events }

// ActiveMS returns the longest active time of any modality. The modalities overlap in time, so their times are not added.
func (f Frame) ActiveMS() float64 {
	longest := 0.0
	for _, b := range f.Blocks {
		longest = math.Max(longest, b.ActiveMS)
	}
	return longest
}

// put adds a block unless it is empty.
func (f *Frame) put(m Modality, b Block) {
	if b.Events == 0 && b.Cells.Filled() == 0 {
		return
	}
	if f.Blocks == nil {
		f.Blocks = map[Modality]Block{}
	}
	f.Blocks[m] = b
}

// round2 rounds to two decimals, the precision that a collector sends. Finer values would identify a recording.
func round2(v float64) float64 { return math.Round(v*100) / 100 }

// accumulator sums the per-event values of a frame's cells.
type accumulator struct {
	modality Modality
	n        []int
	sum, sq  []float64
}

// newAccumulator returns an accumulator without events.
func newAccumulator(m Modality) *accumulator {
	d := Dim(m)
	return &accumulator{modality: m, n: make([]int, d), sum: make([]float64, d), sq: make([]float64, d)}
}

// add adds the value of one event to a cell; -1 is no cell.
func (a *accumulator) add(cell int, v float64) {
	a.n[cell]++
	a.sum[cell] += v
	a.sq[cell] += v * v
}

// named adds the value of one event to the cell with the name.
func (a *accumulator) named(name string, v float64) {
	if i := CellIndex(a.modality, name); i >= 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
		a.add(i, v)
	}
}

// share is 1 or 0, so that the mean of a cell is the share of events for which a condition holds.
func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// vector bins the counts and rounds the means. The result is content-free and may leave the collector.
func (a *accumulator) vector() Vector {
	cells := schemaCells[a.modality]
	v := NewVector(len(a.n))
	for i, n := range a.n {
		if n > 0 {
			m := a.sum[i] / float64(n)
			v.N[i], v.M[i] = BinCount(n), round2(math.Min(math.Max(m, cells[i].Min), cells[i].Max))
		}
	}
	return v
}

// Exact is a block before binning: exact counts, unrounded means and sums of squares. Training a background needs it to estimate
// the variance of events within a frame; it must never leave the machine that reads a recording.
type Exact struct {
	N, M, SS []float64
}

// exact returns the accumulated counts, means and sums of squares.
func (a *accumulator) exact() Exact {
	e := Exact{N: make([]float64, len(a.n)), M: make([]float64, len(a.n)), SS: a.sq}
	for i, n := range a.n {
		e.N[i] = float64(n)
		if n > 0 {
			e.M[i] = a.sum[i] / float64(n)
		}
	}
	return e
}
