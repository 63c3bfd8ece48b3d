package moments

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// codecVersion is the first byte of the stored form of sums.
const codecVersion = 1

// ErrCodec is returned for bytes that are not sums as MarshalBinary writes them.
var ErrCodec = errors.New("moments: unreadable sums")

// sumsMost bounds the decompressed size of stored sums in bytes, against a corrupt row.
const sumsMost = 8 << 20

// MarshalBinary encodes the sums for storage, in some 100 kB for keystrokes. Of symmetric products one half is stored. Sums of a few people
// say much about each of them: seal the bytes.
func (s *Sums) MarshalBinary() ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(s.encode()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Digest returns 16 bytes by which equal sums are recognised.
func (s *Sums) Digest() []byte {
	sum := sha256.Sum256(s.encode())
	return sum[:16]
}

// encode lists the sums without compression.
func (s *Sums) encode() []byte {
	raw := []byte{codecVersion}
	for _, text := range []string{s.Reference, string(s.Modality)} {
		raw = append(binary.AppendVarint(raw, int64(len(text))), text...)
	}
	raw = binary.AppendVarint(raw, int64(s.People))
	raw = binary.AppendVarint(raw, int64(len(s.weight)))
	s.each(func(v *int64) { raw = binary.AppendVarint(raw, *v) })
	return raw
}

// Parse decodes the output of MarshalBinary. It returns ErrReference for sums relative to a background other than ref, which an earlier
// version of the service may have stored: they must be formed anew.
func Parse(ref *scoring.Background, data []byte) (Sums, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), sumsMost))
	if err != nil || len(raw) == 0 || raw[0] != codecVersion {
		return Sums{}, fmt.Errorf("%w: %w", ErrCodec, errors.Join(err, io.ErrUnexpectedEOF))
	}
	in := bytes.NewReader(raw[1:])
	reference, modality := readText(in), readText(in)
	people, err := binary.ReadVarint(in)
	if err != nil {
		return Sums{}, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	cells, err := binary.ReadVarint(in)
	if err != nil {
		return Sums{}, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	if reference != ref.Version || features.Modality(modality) != ref.Modality || cells != int64(ref.Dim()) {
		return Sums{}, fmt.Errorf("%w: stored %s, in the service %s", ErrReference, reference, ref.Version)
	}
	out := newSums(ref)
	out.People = int(people)
	out.each(func(v *int64) {
		if err == nil {
			*v, err = binary.ReadVarint(in)
		}
	})
	if err != nil || in.Len() > 0 {
		return Sums{}, fmt.Errorf("%w: %w", ErrCodec, errors.Join(err, io.ErrUnexpectedEOF))
	}
	out.mirror()
	return out, nil
}

// readText reads a text with its length; it is empty if the bytes end early.
func readText(in *bytes.Reader) string {
	n, err := binary.ReadVarint(in)
	if err != nil || n < 0 || n > int64(in.Len()) {
		return ""
	}
	out := make([]byte, n)
	_, _ = io.ReadFull(in, out)
	return string(out)
}

// each visits the stored values: all of those by cell and of the products that are not symmetric, the lower triangles of the others.
func (s *Sums) each(visit func(*int64)) {
	n := len(s.weight)
	for _, list := range [][]int64{s.weight, s.mean, s.noise} {
		for i := range list {
			visit(&list[i])
		}
	}
	for _, p := range []products{s.across, s.within} {
		for k := range p.firsts {
			visit(&p.firsts[k])
		}
		for i := range n {
			for j := range i + 1 {
				visit(&p.weights[i*n+j])
				visit(&p.seconds[i*n+j])
			}
		}
	}
}

// mirror copies the lower triangles of symmetric products to the upper ones.
func (s *Sums) mirror() {
	n := len(s.weight)
	for _, p := range []products{s.across, s.within} {
		for i := range n {
			for j := range i {
				p.weights[j*n+i], p.seconds[j*n+i] = p.weights[i*n+j], p.seconds[i*n+j]
			}
		}
	}
}
