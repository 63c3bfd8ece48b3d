package scoring

import (
	"encoding/json"
	"strconv"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// The forms of this file are for the person whom a state or a template is about (an export): everything stored, by name.
// Nothing reads them back.

// cellsByName is [n, mean] of each cell that is filled.
type cellsByName map[string][2]float64

func byName(mod features.Modality, v features.Vector) cellsByName {
	out := cellsByName{}
	cells := features.Cells(mod)
	for i, n := range v.N {
		if n > 0 {
			out[cells[i].Name] = [2]float64{n, v.M[i]}
		}
	}
	return out
}

type readableChunk struct {
	chunk
	Cells cellsByName `json:"cells"`
}

type readableWindow struct {
	window
	Chunks []readableChunk `json:"chunks"`
}

func (w window) readable(mod features.Modality) readableWindow {
	out := readableWindow{window: w, Chunks: make([]readableChunk, len(w.chunks))}
	for i, c := range w.chunks {
		out.Chunks[i] = readableChunk{c, byName(mod, c.cells)}
	}
	return out
}

type readableReplay struct {
	replayState
	Digests []string      `json:"digests,omitempty"` // hexadecimal: JSON's numbers are too short
	Prints  []fingerprint `json:"fingerprints,omitempty"`
}

func (r replayState) readable() readableReplay {
	out := readableReplay{replayState: r, Prints: r.prints}
	for _, d := range r.Digests {
		out.Digests = append(out.Digests, strconv.FormatUint(d, 16))
	}
	return out
}

// MarshalJSON writes all that is stored of a session's assurance.
func (s State) MarshalJSON() ([]byte, error) {
	type fields State
	return json.Marshal(struct {
		fields
		Keystroke readableWindow `json:"keystroke"`
		Pointer   readableWindow `json:"pointer"`
		Replay    readableReplay `json:"replay"`
	}{fields(s), s.Keystroke.readable(features.Keystroke), s.Pointer.readable(features.Pointer), s.Replay.readable()})
}

type readableSession struct {
	Cells    cellsByName `json:"cells"`
	Keys     int         `json:"keys"`
	ActiveMS float64     `json:"active_ms"`
	AtMS     int64       `json:"at_ms"`
	Adapted  bool        `json:"adapted"`
}

// readablePosterior is what was learned of the person: how far from the population the mean of each cell lies, and how sure
// that is (the lower triangle of the covariance, row by row in the order of the cells).
type readablePosterior struct {
	Cells      []string    `json:"cells"`
	Mean       []float32   `json:"mean"`
	Covariance [][]float32 `json:"covariance"`
}

func (p posterior) readable(mod features.Modality) readablePosterior {
	out := readablePosterior{Mean: p.mean}
	for i, c := range features.Cells(mod) {
		out.Cells = append(out.Cells, c.Name)
		if i < len(p.mean) {
			out.Covariance = append(out.Covariance, p.cov.row(i))
		}
	}
	return out
}

// MarshalJSON writes all that is stored of a template.
func (t Template) MarshalJSON() ([]byte, error) {
	sessions := make([]readableSession, len(t.Sessions))
	for i, s := range t.Sessions {
		sessions[i] = readableSession{byName(t.Modality, s.Cells), s.Keys, s.ActiveMS, s.AtMS, s.Adapted}
	}
	return json.Marshal(struct {
		Modality      features.Modality `json:"modality"`
		Device        DeviceClass       `json:"device"`
		ModelVersion  string            `json:"model_version"`
		SchemaVersion string            `json:"feature_schema_version"`
		Provisional   bool              `json:"provisional"`
		Adaptations   int               `json:"adaptations"`
		Limitations   []string          `json:"limitations"`
		Sessions      []readableSession `json:"sessions"`
		Fingerprints  []fingerprint     `json:"fingerprints"`
		Posterior     readablePosterior `json:"posterior"`
	}{t.Modality, t.Device, t.ModelVersion, t.SchemaVersion, t.Provisional, t.Adaptations, append([]string{}, t.Limitations...),
		sessions, t.gallery, t.posterior.readable(t.Modality)})
}
