package scoring

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/countersign-dev/countersign/internal/features"
)

// ErrDamaged is returned for stored states and templates that cannot be read.
var ErrDamaged = errors.New("scoring: stored bytes are damaged")

// stateVersion and templateVersion are the first byte of the stored forms.
const (
	stateVersion    = 1
	templateVersion = 1
	maxHeader       = 1 << 20
)

type stateHeader struct {
	State
	KeyChunks, PointerChunks []chunk
	Prints                   int
}

// MarshalBinary encodes the state for storage: a JSON header and packed vectors, some 10 kB at most.
func (s State) MarshalBinary() ([]byte, error) {
	head := stateHeader{State: s, KeyChunks: s.Keystroke.chunks, PointerChunks: s.Pointer.chunks, Prints: len(s.Replay.prints)}
	out, err := appendHeader(stateVersion, head)
	if err != nil {
		return nil, err
	}
	for _, c := range append(append([]chunk(nil), s.Keystroke.chunks...), s.Pointer.chunks...) {
		out = appendVector(out, c.cells)
	}
	for _, p := range s.Replay.prints {
		out = appendPrint(out, p)
	}
	return out, nil
}

// UnmarshalBinary decodes what MarshalBinary wrote. Empty bytes are a state without evidence.
func (s *State) UnmarshalBinary(data []byte) error {
	if len(data) == 0 {
		*s = NewState(UnknownDevice)
		return nil
	}
	var head stateHeader
	r, err := readHeader(data, stateVersion, &head)
	if err != nil {
		return err
	}
	if len(head.KeyChunks) > maxChunks || len(head.PointerChunks) > maxChunks || head.Prints > recentPrints {
		return fmt.Errorf("%w: too many chunks", ErrDamaged)
	}
	for i := range head.KeyChunks {
		head.KeyChunks[i].cells = r.vector(features.Dim(features.Keystroke))
	}
	for i := range head.PointerChunks {
		head.PointerChunks[i].cells = r.vector(features.Dim(features.Pointer))
	}
	out := head.State
	out.Keystroke.chunks, out.Pointer.chunks = head.KeyChunks, head.PointerChunks
	for range head.Prints {
		out.Replay.prints = append(out.Replay.prints, r.print())
	}
	if r.failed || len(r.data) != 0 {
		return ErrDamaged
	}
	*s = out
	return nil
}

type sessionHeader struct {
	Keys     int     `json:"keys"`
	ActiveMS float64 `json:"active_ms"`
	AtMS     int64   `json:"at_ms"`
	Adapted  bool    `json:"adapted,omitempty"`
}

type templateHeader struct {
	Modality      features.Modality
	Device        DeviceClass
	ModelVersion  string
	SchemaVersion string
	Provisional   bool
	Adaptations   int
	Limitations   []string
	Sessions      []sessionHeader
	Prints        int
	Dim           int
}

// MarshalBinary encodes the template for storage, some 35 kB for keystrokes: means of sessions, the posterior, and
// fingerprints. It is personal data; seal it.
func (t Template) MarshalBinary() ([]byte, error) {
	head := templateHeader{t.Modality, t.Device, t.ModelVersion, t.SchemaVersion, t.Provisional, t.Adaptations,
		t.Limitations, nil, len(t.gallery), len(t.posterior.mean)}
	for _, s := range t.Sessions {
		head.Sessions = append(head.Sessions, sessionHeader{s.Keys, s.ActiveMS, s.AtMS, s.Adapted})
	}
	out, err := appendHeader(templateVersion, head)
	if err != nil {
		return nil, err
	}
	for _, s := range t.Sessions {
		out = appendVector(out, s.Cells)
	}
	for _, p := range t.gallery {
		out = appendPrint(out, p)
	}
	for i, v := range t.posterior.mean {
		out = appendFloat(out, v)
		for _, c := range t.posterior.cov.row(i)[:i+1] {
			out = appendFloat(out, c)
		}
	}
	return out, nil
}

// UnmarshalBinary decodes what MarshalBinary wrote.
func (t *Template) UnmarshalBinary(data []byte) error {
	var head templateHeader
	r, err := readHeader(data, templateVersion, &head)
	if err != nil {
		return err
	}
	dim := features.Dim(head.Modality)
	if dim == 0 || head.Dim != dim || len(head.Sessions) > maxSessions || head.Prints > galleryFrames {
		return fmt.Errorf("%w: template of %q", ErrDamaged, head.Modality)
	}
	out := Template{Modality: head.Modality, Device: head.Device, ModelVersion: head.ModelVersion, SchemaVersion: head.SchemaVersion,
		Provisional: head.Provisional, Adaptations: head.Adaptations, Limitations: head.Limitations}
	for _, s := range head.Sessions {
		out.Sessions = append(out.Sessions, SessionVector{r.vector(dim), s.Keys, s.ActiveMS, s.AtMS, s.Adapted})
	}
	for range head.Prints {
		out.gallery = append(out.gallery, r.print())
	}
	out.posterior = posterior{mean: make([]float64, dim), cov: newSquare(dim)}
	for i := range dim {
		out.posterior.mean[i] = r.float()
		r.floats(out.posterior.cov.row(i)[:i+1])
	}
	if r.failed || len(r.data) != 0 {
		return ErrDamaged
	}
	*t = out
	return nil
}

func appendHeader(version byte, head any) ([]byte, error) {
	body, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("scoring: encode: %w", err)
	}
	out := append(make([]byte, 0, len(body)+16<<10), version)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...), nil
}

func readHeader(data []byte, version byte, head any) (*byteReader, error) {
	if len(data) == 0 || data[0] != version {
		return nil, fmt.Errorf("%w: version", ErrDamaged)
	}
	size, n := binary.Uvarint(data[1:])
	if n <= 0 || size > maxHeader || uint64(len(data)-1-n) < size { // #nosec G115 -- n bytes of those behind the first were read
		return nil, fmt.Errorf("%w: header", ErrDamaged)
	}
	body := data[1+n : 1+n+int(size)]
	if err := json.Unmarshal(body, head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return &byteReader{data: data[1+n+int(size):]}, nil
}

func appendFloat(out []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
}

func appendVector(out []byte, v features.Vector) []byte {
	out = append(out, byte(v.Filled())) // #nosec G115 -- a vector has fewer than 256 cells
	for i, n := range v.N {
		if n > 0 {
			out = appendFloat(append(out, byte(i)), n)
			out = appendFloat(out, v.M[i])
		}
	}
	return out
}

func appendPrint(out []byte, p fingerprint) []byte {
	for _, z := range p {
		out = append(out, byte(z)) // #nosec G115 -- the bits; print reads them back
	}
	return out
}

type byteReader struct {
	data   []byte
	failed bool
}

func (r *byteReader) take(n int) []byte {
	if len(r.data) < n {
		r.failed, r.data = true, nil
		return make([]byte, n)
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *byteReader) float() float64 {
	var v [1]float64
	r.floats(v[:])
	return v[0]
}

// floats reads as many as there is room for.
func (r *byteReader) floats(into []float64) {
	raw := r.take(4 * len(into))
	for i := range into {
		v := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.failed = true
			return
		}
		into[i] = v
	}
}

func (r *byteReader) vector(dim int) features.Vector {
	v := features.NewVector(dim)
	for range int(r.take(1)[0]) {
		i := int(r.take(1)[0])
		n, m := r.float(), r.float()
		if i >= dim || !(n > 0) || r.failed {
			r.failed = true
			return v
		}
		v.N[i], v.M[i] = n, m
	}
	return v
}

func (r *byteReader) print() fingerprint {
	raw := r.take(features.Dim(features.Keystroke))
	out := make(fingerprint, len(raw))
	for i, b := range raw {
		out[i] = int8(b) // #nosec G115 -- the bits that appendPrint wrote
	}
	return out
}
