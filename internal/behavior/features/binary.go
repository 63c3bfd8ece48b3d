package features

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
)

// binaryVersion is the first byte of a stored frame.
const binaryVersion = 2

// errTruncated is returned for stored frames that end too early or contain values that no frame can have.
var errTruncated = errors.New("features: stored frame is damaged")

// MarshalBinary encodes the frame for storage, about 3 bytes per filled cell. Means are rounded to two decimals, like those that a collector sends.
func (f Frame) MarshalBinary() ([]byte, error) {
	out := []byte{binaryVersion}
	out = binary.AppendUvarint(out, uint64(math.Round(f.ClockMS*1000)))
	for _, m := range Modalities() {
		b, ok := f.Blocks[m]
		out = append(out, byte(share(ok)))
		if !ok {
			continue
		}
		out = binary.AppendUvarint(out, uint64(b.Events)) // #nosec G115 -- a count, never negative
		out = binary.AppendUvarint(out, uint64(math.Round(b.ActiveMS)))
		out = appendCells(out, b.Cells)
	}
	return appendPresence(out, f.Presence), nil
}

// appendCells writes the number of filled cells, then for each its index, its count bin and its mean in hundredths.
func appendCells(out []byte, v Vector) []byte {
	out = append(out, byte(v.Filled())) // #nosec G115 -- a vector has fewer than 256 cells
	for i, n := range v.N {
		if n > 0 {
			out = append(out, byte(i), byte(n))
			out = binary.AppendVarint(out, int64(math.Round(v.M[i]*100)))
		}
	}
	return out
}

// appendPresence writes the number of scalars, then for each its index and its value.
func appendPresence(out []byte, p Presence) []byte {
	count := 0
	for _, has := range p.Has {
		count += int(share(has))
	}
	out = append(out, byte(count))
	for i, has := range p.Has {
		if has {
			out = append(out, byte(i))
			out = binary.AppendVarint(out, int64(math.Round(p.Values[i]*100)))
		}
	}
	return out
}

// UnmarshalBinary decodes the output of MarshalBinary. It checks cells and ranges like Read, because stored bytes may be damaged.
func (f *Frame) UnmarshalBinary(data []byte) error {
	r := reader{data: data}
	if r.byte() != binaryVersion {
		return fmt.Errorf("%w: version", errTruncated)
	}
	out := Frame{ClockMS: float64(r.uvarint()) / 1000}
	for _, m := range Modalities() {
		if r.byte() == 0 {
			continue
		}
		b := Block{Events: int(min(r.uvarint(), MaxEvents)), ActiveMS: float64(min(r.uvarint(), MaxActiveMS))}
		b.Cells = r.cells(m)
		if r.failed {
			return errTruncated
		}
		out.put(m, b)
	}
	out.Presence = r.presence()
	if r.failed || len(r.data) != 0 {
		return errTruncated
	}
	*f = out
	return nil
}

// reader reads a stored frame. The first error makes every later read return zero.
type reader struct {
	data   []byte
	failed bool
}

// byte reads one byte; 0 and the error errTruncated at the end of the data.
func (r *reader) byte() byte {
	if len(r.data) == 0 {
		r.failed = true
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// uvarint reads an unsigned variable-length integer.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.failed, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

// varint reads a signed variable-length integer in zigzag form.
func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.failed, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

// cells reads the filled cells of a modality; an index, count or mean outside the schema is an error.
func (r *reader) cells(m Modality) Vector {
	schema := schemaCells[m]
	v := NewVector(len(schema))
	for range int(r.byte()) {
		i, n, mean := int(r.byte()), float64(r.byte()), float64(r.varint())/100
		if r.failed || i >= len(schema) || !binned(n) || n == 0 || !within(mean, schema[i].Min, schema[i].Max) {
			r.failed = true
			return v
		}
		v.N[i], v.M[i] = n, mean
	}
	return v
}

// presence reads the presence scalars; a value outside its range is an error.
func (r *reader) presence() Presence {
	var p Presence
	for range int(r.byte()) {
		i, value := int(r.byte()), float64(r.varint())/100
		if r.failed || i >= len(presenceScalars) || !within(value, presenceScalars[i].Min, presenceScalars[i].Max) {
			r.failed = true
			return p
		}
		p.set(presenceScalars[i].Name, value)
	}
	return p
}

// binned reports whether a count is one of the bins of BinCount.
func binned(n float64) bool { return n == 0 || n == CountFew || n == CountMany }

// within reports whether a mean is in the range, allowing for its rounding to two decimals.
func within(v, lo, hi float64) bool { return v >= lo-.0051 && v <= hi+.0051 }

// Digest identifies the exact vector of the frame: hexadecimal SHA-256 over the cells of every modality. If both are Distinctive,
// two frames with equal digests are the same recording; people do not repeat their timing.
func (f Frame) Digest() string {
	sum := f.Sum()
	return hex.EncodeToString(sum[:])
}

// Sum returns the bytes of the Digest.
func (f Frame) Sum() [sha256.Size]byte {
	out := make([]byte, 0, 1<<10)
	for _, m := range Modalities() {
		if b, ok := f.Blocks[m]; ok {
			out = appendCells(append(out, m...), b.Cells)
		}
	}
	return sha256.Sum256(out)
}

// CountDigest identifies which keystroke and pointer cells occurred and how often, by bin. A replay with jitter has the same
// CountDigest; so has a person who types the same text twice, so it is evidence only together with similar means.
func (f Frame) CountDigest() string {
	h := sha256.New()
	for _, m := range []Modality{Keystroke, Pointer} {
		for _, n := range f.Blocks[m].Cells.N {
			h.Write([]byte{byte(n)})
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// minDistinctive is the number of filled cells from which equal vectors of two frames cannot be a coincidence.
const minDistinctive = 20

// Distinctive reports whether the frame has enough keystroke or pointer cells for its digests to identify it.
func (f Frame) Distinctive() bool {
	return f.Blocks[Keystroke].Cells.Filled()+f.Blocks[Pointer].Cells.Filled() >= minDistinctive
}
