package scoring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// ErrDamaged is returned for stored states and templates that cannot be decoded.
var ErrDamaged = errors.New("scoring: stored bytes are damaged")

// packer traverses the fields of a stored form in their order, either writing or reading them, so that one function defines the
// format. Integers are varints, amounts and ratios doubles, cells and posteriors single floats; lengths are checked before memory is
// allocated. The first error ends the traversal: later fields read as zero.
type packer struct {
	// The output so far, or the remaining input.
	data    []byte
	reading bool
	failed  bool
	// Where decoded cells, posteriors and fingerprints are put; nil allocates each.
	mem *Memory
}

// encode appends the version and the fields that the function traverses.
func encode(out []byte, version byte, walk func(*packer)) ([]byte, error) {
	p := &packer{data: append(out, version)}
	if walk(p); p.failed {
		return nil, fmt.Errorf("%w: not written", ErrDamaged)
	}
	return p.data, nil
}

// decode reads the output of encode completely.
func decode(version byte, data []byte, mem *Memory, walk func(*packer)) error {
	if len(data) == 0 || data[0] != version {
		return fmt.Errorf("%w: version", ErrDamaged)
	}
	p := &packer{data: data[1:], reading: true, mem: mem}
	if walk(p); p.failed || len(p.data) != 0 {
		return ErrDamaged
	}
	return nil
}

// fail ends the traversal: later fields are neither read nor written.
func (p *packer) fail() { p.failed, p.data = true, nil }

// take returns the next n bytes of the input.
func (p *packer) take(n int) []byte {
	if p.failed || len(p.data) < n {
		p.fail()
		return make([]byte, n)
	}
	out := p.data[:n]
	p.data = p.data[n:]
	return out
}

// whole packs a signed integer as a varint.
func (p *packer) whole(v *int64) {
	if !p.reading {
		p.data = binary.AppendVarint(p.data, *v)
		return
	}
	got, n := binary.Varint(p.data)
	if n <= 0 {
		p.fail()
		return
	}
	p.take(n)
	*v = got
}

// count packs a non-negative integer.
func (p *packer) count(v *int) {
	n := int64(*v)
	if p.whole(&n); p.reading {
		*v = int(n)
	}
}

// flag packs a boolean as one byte.
func (p *packer) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	if p.count(&n); p.reading {
		*v = n != 0
	}
}

func (p *packer) bits(v *uint64) {
	if p.reading {
		*v = binary.LittleEndian.Uint64(p.take(8))
	} else {
		p.data = binary.LittleEndian.AppendUint64(p.data, *v)
	}
}

func (p *packer) double(v *float64) {
	b := math.Float64bits(*v)
	p.bits(&b)
	const exponent = 0x7ff << 52
	if b&exponent == exponent { // infinite, or no number
		p.fail()
	} else if p.reading {
		*v = math.Float64frombits(b)
	}
}

// singles packs finite float32 values of known number.
func (p *packer) singles(v []float32) {
	fine := true
	if p.reading {
		raw := p.take(4 * len(v))
		for i := range v {
			v[i] = single(raw[4*i:])
			fine = fine && finite(v[i])
		}
	} else {
		out := p.data
		for _, f := range v {
			out = appendSingle(out, f)
			fine = fine && finite(f)
		}
		p.data = out
	}
	if !fine {
		p.fail()
	}
}

// appendSingle appends a float32 in little-endian order.
func appendSingle(out []byte, f float32) []byte {
	return binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
}

// single decodes a float32 in little-endian order.
func single(raw []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(raw)) }

// finite reports whether a value is neither infinite nor NaN.
func finite(f float32) bool {
	const exponent = 0xff << 23
	return math.Float32bits(f)&exponent != exponent
}

// vector packs the filled cells: their number, then index, count and mean of each.
func (p *packer) vector(dim int, v *features.Vector) {
	const size = 1 + 4 + 4
	filled := v.Filled()
	if p.count(&filled); !p.reading {
		out := p.data
		for i, n := range v.N {
			if n > 0 {
				out = append(out, byte(i)) // #nosec G115 -- a vector has fewer than 256 cells
				out = appendSingle(appendSingle(out, float32(n)), float32(v.M[i]))
			}
		}
		p.data = out
		return
	}
	*v = p.newVector(dim)
	if filled < 0 || filled > dim {
		p.fail()
		return
	}
	for raw := p.take(size * filled); len(raw) > 0; raw = raw[size:] {
		i := int(raw[0])
		n, m := single(raw[1:]), single(raw[5:])
		if i >= dim || !(n > 0) || !finite(n) || !finite(m) {
			p.fail()
			return
		}
		v.N[i], v.M[i] = float64(n), float64(m)
	}
}

// cells packs the filled cells of a state: a bit for each cell, and of the filled ones the count and the sum of the values, in
// hundredths. A frame has whole counts and means with two decimals, so both are whole numbers, however many frames were merged; other
// values follow a count of 0.
func (p *packer) cells(dim int, v *features.Vector) {
	if p.reading {
		p.readCells(dim, v)
		return
	}
	at := len(p.data)
	out := append(p.data, make([]byte, (dim+7)/8)...)
	for i, n := range v.N {
		if n > 0 {
			out[at+i/8] |= 1 << (i % 8)
			out = appendCell(out, n, v.M[i])
		}
	}
	p.data = out
}

func appendCell(out []byte, n, mean float64) []byte {
	// Merging leaves an error far below a thousandth of a hundredth.
	const close, most = 1e-3, 1 << 40
	sum := n * mean * 100
	whole := math.Round(sum)
	if n == math.Trunc(n) && n <= math.MaxUint8 && math.Abs(sum-whole) < close && math.Abs(whole) < most {
		return binary.AppendVarint(append(out, byte(n)), int64(whole))
	}
	return appendSingle(appendSingle(append(out, 0), float32(n)), float32(mean))
}

func (p *packer) readCells(dim int, v *features.Vector) {
	*v = p.newVector(dim)
	filled := p.take((dim + 7) / 8)
	for i := range dim {
		if filled[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		var sum int64
		n := float64(p.take(1)[0])
		var mean float64
		if n > 0 {
			p.whole(&sum)
			mean = float64(sum) / (100 * n)
		} else {
			raw := p.take(8)
			n, mean = float64(single(raw)), float64(single(raw[4:]))
		}
		if !(n > 0) || math.IsInf(n, 0) || math.IsInf(mean, 0) || math.IsNaN(mean) {
			p.fail()
			return
		}
		v.N[i], v.M[i] = n, mean
	}
}

// print packs a fingerprint: the present cells and their steps.
func (p *packer) print(v *fingerprint) {
	if !p.reading {
		out := p.data
		for _, z := range *v {
			out = append(out, byte(z)) // #nosec G115 -- the bits, which are read back below
		}
		p.data = out
		return
	}
	*v = p.newPrint(features.Dim(features.Keystroke))
	for i, b := range p.take(len(*v)) {
		(*v)[i] = int8(b) // #nosec G115 -- the bits
	}
}

// newVector returns an empty vector in the memory.
func (p *packer) newVector(dim int) features.Vector {
	if p.mem == nil {
		return features.NewVector(dim)
	}
	return features.Vector{N: allocate(&p.mem.doubles, dim), M: allocate(&p.mem.doubles, dim)}
}

// newPrint returns a fingerprint of n cells in the memory.
func (p *packer) newPrint(n int) fingerprint {
	if p.mem == nil {
		return make(fingerprint, n)
	}
	return allocate(&p.mem.steps, n)
}

// newPosterior returns a posterior without content for dim cells, in the memory.
func (p *packer) newPosterior(dim int) posterior {
	if p.mem == nil {
		return newPosterior(dim)
	}
	return posterior{allocate(&p.mem.singles, dim), allocate(&p.mem.singles, triangleSize(dim))}
}

// maxText is the longest text stored, in bytes: the id of a frame has up to 128 characters of up to four bytes.
const maxText = 512

// text packs a string of at most maxText bytes.
func text[S ~string](p *packer, v *S) {
	n := len(*v)
	if p.count(&n); n < 0 || n > maxText {
		p.fail()
		return
	}
	if p.reading {
		*v = S(p.take(n))
	} else {
		p.data = append(p.data, *v...)
	}
}

// texts packs a list of texts with a limit on their number.
func texts(p *packer, v *[]string, most int) {
	n := len(*v)
	if p.count(&n); n < 0 || n > most {
		p.fail()
		return
	}
	if p.reading {
		*v = p.newTexts(n)
	}
	for i := range *v {
		text(p, &(*v)[i])
	}
}

// newTexts returns a list of n empty texts in the memory; nil for none.
func (p *packer) newTexts(n int) []string {
	switch {
	case n == 0:
		return nil
	case p.mem == nil:
		return make([]string, n)
	default:
		return allocate(&p.mem.texts, n)
	}
}

// list packs a list of items with a limit on their number; no item is nil.
func list[T any](p *packer, v *[]T, most int, each func(*T)) {
	n := len(*v)
	if p.count(&n); n < 0 || n > most {
		p.fail()
		return
	}
	if p.reading {
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		each(&(*v)[i])
	}
}
