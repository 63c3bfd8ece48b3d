package models

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/s2"
)

// Dictionary compresses small documents with S2. The documents of one kind repeat the same phrases, which are in the dictionary and
// therefore not in what is stored. It is safe for concurrent use.
//
// The phrases of a version never change: what was compressed with them could not be read any more. A phrase that is not in them costs
// its length, so that a dictionary ages but does not fail.
type Dictionary struct {
	version byte
	dict    *s2.Dict
	most    int
}

// errCompressed says that bytes were not written by this version of the dictionary.
var errCompressed = errors.New("the compressed document cannot be read")

// NewDictionary returns a version of a dictionary from 16 B to 64 kB of phrases, the most frequent last. Documents of more than most bytes
// are not decompressed. It panics if the phrases have a different size.
func NewDictionary(version byte, phrases string, most int) *Dictionary {
	d := s2.MakeDictManual([]byte(phrases), uint16(max(0, min(len(phrases)-16, math.MaxUint16))))
	if d == nil {
		panic("models: a dictionary has from 16 B to 64 kB of phrases")
	}
	return &Dictionary{version, d, most}
}

// Compress returns the document, compressed, after the version of the dictionary.
func (d *Dictionary) Compress(document []byte) []byte {
	s := newScratch()
	defer s.free()
	return d.compress(s, document)
}

// compress is Compress with the memory of s, in which the document may be.
func (d *Dictionary) compress(s *scratch, document []byte) []byte {
	s.compressed = d.dict.Encode(slices.Grow(s.compressed[:0], s2.MaxEncodedLen(len(document))), document)
	out := make([]byte, 1+len(s.compressed))
	out[0] = d.version
	copy(out[1:], s.compressed)
	return out
}

// Decompress returns the document that Compress was given. It returns an error if the bytes are of a different version or damaged.
func (d *Dictionary) Decompress(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != d.version {
		return nil, fmt.Errorf("%w: it is not of version %d", errCompressed, d.version)
	}
	if n, err := s2.DecodedLen(b[1:]); err != nil || n > d.most {
		return nil, fmt.Errorf("%w: its size is wrong", errCompressed)
	}
	out, err := d.dict.Decode(nil, b[1:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCompressed, err)
	}
	return out, nil
}

// AppendPart appends a part of a document after its length.
func AppendPart(dst, part []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(part))), part...)
}

// CutPart returns the first part that AppendPart appended, and the rest. It returns an error if the length exceeds what follows.
func CutPart(b []byte) (part, rest []byte, err error) {
	n, width := binary.Uvarint(b)
	if width <= 0 || n > math.MaxInt32 || width+int(n) > len(b) {
		return nil, nil, fmt.Errorf("%w: a part of it is missing", errCompressed)
	}
	end := width + int(n)
	return b[width:end:end], b[end:], nil
}
