package features

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
)

const binaryVersion = 1

// errTruncated is returned for stored frames that end too early or carry what no frame can.
var errTruncated = errors.New("features: stored frame is damaged")

// MarshalBinary encodes the frame for storage: about 3 bytes a filled cell. The schema version is not in it; store it
// beside the bytes.
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

// UnmarshalBinary decodes what MarshalBinary wrote. It checks cells and ranges as Parse does, because stored bytes may
// be damaged too.
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

type reader struct {
	data   []byte
	failed bool
}

func (r *reader) byte() byte {
	if len(r.data) == 0 {
		r.failed = true
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.failed, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.failed, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

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

func binned(n float64) bool { return n == 0 || n == CountFew || n == CountMany }

// within allows for the rounding of a mean to two decimals.
func within(v, lo, hi float64) bool { return v >= lo-.0051 && v <= hi+.0051 }

// Digest identifies the exact vector of the frame: two frames of a living person never share it once Distinctive. It is
// hex of SHA-256 over the cells of every modality.
func (f Frame) Digest() string {
	h := sha256.New()
	for _, m := range Modalities() {
		if b, ok := f.Blocks[m]; ok {
			h.Write([]byte(m))
			h.Write(appendCells(nil, b.Cells))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CountDigest identifies which keystroke and pointer cells were seen and how often, by bin. A frame replayed with
// jitter keeps it; so does a person who types the same text twice, so it is evidence only together with nearness.
func (f Frame) CountDigest() string {
	h := sha256.New()
	for _, m := range []Modality{Keystroke, Pointer} {
		for _, n := range f.Blocks[m].Cells.N {
			h.Write([]byte{byte(n)})
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// minDistinctive is how many filled cells make a coincidence of two vectors impossible in practice.
const minDistinctive = 20

// Distinctive says whether the frame has enough keystroke or pointer cells for its digests to identify it.
func (f Frame) Distinctive() bool {
	return f.Blocks[Keystroke].Cells.Filled()+f.Blocks[Pointer].Cells.Filled() >= minDistinctive
}
