package features

import "math"

// Vector holds the cells of one modality: N how many events a cell stands on (0 is absent), M their mean. Both have
// length Dim of the modality.
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

// Block is what a frame says of one modality.
type Block struct {
	Cells    Vector
	Events   int     // presses, pointer events, scroll events
	ActiveMS float64 // time in which the modality was in use
}

// Presence holds the human-presence scalars of a frame, in the order of PresenceScalars; Has says which are there.
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

// Frame is one checked feature frame: blocks by modality, presence scalars and the resolution of the collector's clock
// in milliseconds (0 where it did not say).
type Frame struct {
	Blocks   map[Modality]Block
	Presence Presence
	ClockMS  float64
}

// Block returns the block of a modality and whether the frame has one with at least one filled cell.
func (f Frame) Block(m Modality) (Block, bool) {
	b, ok := f.Blocks[m]
	return b, ok
}

// Present lists the modalities of the frame in schema order.
func (f Frame) Present() []Modality {
	var out []Modality
	for _, m := range Modalities() {
		if _, ok := f.Blocks[m]; ok {
			out = append(out, m)
		}
	}
	return out
}

// Keys is the number of key presses in the frame.
func (f Frame) Keys() int { return f.Blocks[Keystroke].Events }

// ActiveMS is the longest active time of any modality: modalities overlap in time, so they are not added.
func (f Frame) ActiveMS() float64 {
	longest := 0.0
	for _, b := range f.Blocks {
		longest = math.Max(longest, b.ActiveMS)
	}
	return longest
}

func (f *Frame) put(m Modality, b Block) {
	if b.Events == 0 && b.Cells.Filled() == 0 {
		return
	}
	if f.Blocks == nil {
		f.Blocks = map[Modality]Block{}
	}
	f.Blocks[m] = b
}

// round2 keeps two decimals, the precision a collector sends: finer values recognise a recording, not a person.
func round2(v float64) float64 { return math.Round(v*100) / 100 }

// accumulator sums the per-event values of a frame's cells.
type accumulator struct {
	modality Modality
	n        []int
	sum, sq  []float64
}

func newAccumulator(m Modality) *accumulator {
	d := Dim(m)
	return &accumulator{modality: m, n: make([]int, d), sum: make([]float64, d), sq: make([]float64, d)}
}

func (a *accumulator) add(cell int, v float64) {
	a.n[cell]++
	a.sum[cell] += v
	a.sq[cell] += v * v
}

func (a *accumulator) named(name string, v float64) {
	if i := CellIndex(a.modality, name); i >= 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
		a.add(i, v)
	}
}

func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// vector bins the counts and rounds the means: the content-free form that leaves a collector.
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

// Exact is the form of a block before binning: exact counts, unrounded means and sums of squares. Background learning
// needs it to estimate the variance of events within a frame; it never leaves the machine that reads a recording.
type Exact struct {
	N, M, SS []float64
}

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
