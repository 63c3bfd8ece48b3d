package scoring

import (
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Memory holds stored states and templates while they are used. Those that are decoded later reuse it, so that a frame allocates
// next to nothing for them. The zero value is ready for use; it is not safe for concurrent use.
type Memory struct {
	doubles []float64
	singles []float32
	steps   []int8
	texts   []string
}

// Reset wipes the memory. What was decoded into it must not be used any more.
func (m *Memory) Reset() {
	reset(&m.doubles)
	reset(&m.singles)
	reset(&m.steps)
	reset(&m.texts)
}

// reset wipes the used part of a slab, which allocate relies on.
func reset[T any](slab *[]T) {
	clear(*slab)
	*slab = (*slab)[:0]
}

// slabLeast is the least number of items of a slab: enough for one half of a full session.
const slabLeast = 2048

// allocate returns n zero items of a slab. If it is full, a larger one takes its place, and the items allocated before stay in the old one.
func allocate[T any](slab *[]T, n int) []T {
	at := len(*slab)
	if at+n > cap(*slab) {
		*slab, at = make([]T, 0, max(2*cap(*slab), n, slabLeast)), 0
	}
	*slab = (*slab)[:at+n]
	return (*slab)[at : at+n : at+n]
}

// temporaries pools vectors that do not outlive a call.
var temporaries = sync.Pool{New: func() any { return new(features.Vector) }}

// temporary returns an empty vector of dim cells. The caller returns it to temporaries.
func temporary(dim int) *features.Vector {
	v, _ := temporaries.Get().(*features.Vector)
	if len(v.N) != dim {
		*v = features.NewVector(dim)
	}
	clear(v.N)
	clear(v.M)
	return v
}
