package scoring

import (
	"encoding/json"
	"strconv"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// The forms of this file are for the person whom a state or a template is about (an export): all stored values, by name. They are
// never decoded.

// cellsByName has [n, mean] for each filled cell.
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

// readableChunk is a chunk with its cells by name.
type readableChunk struct {
	chunk
	Cells cellsByName `json:"cells"`
}

// readableWindow is a window with its chunks in readable form.
type readableWindow struct {
	window
	Chunks []readableChunk `json:"chunks"`
}

// readable converts the window for an export.
func (w window) readable(mod features.Modality) readableWindow {
	out := readableWindow{window: w, Chunks: make([]readableChunk, len(w.chunks))}
	for i, c := range w.chunks {
		out.Chunks[i] = readableChunk{c, byName(mod, c.cells)}
	}
	return out
}

// readableReplay is the replay state with hexadecimal digests.
type readableReplay struct {
	replayState
	// hexadecimal: JSON's numbers are too short.
	Digests []string      `json:"digests,omitempty"`
	Prints  []fingerprint `json:"fingerprints,omitempty"`
}

// readable converts the replay state for an export.
func (r replayState) readable() readableReplay {
	out := readableReplay{replayState: r, Prints: r.prints}
	for _, d := range r.Digests {
		out.Digests = append(out.Digests, strconv.FormatUint(d, 16))
	}
	return out
}

// MarshalJSON encodes everything stored about a session's assurance.
func (s State) MarshalJSON() ([]byte, error) {
	type fields State
	return json.Marshal(struct {
		fields
		Keystroke readableWindow `json:"keystroke"`
		Pointer   readableWindow `json:"pointer"`
		Replay    readableReplay `json:"replay"`
	}{fields(s), s.Keystroke.readable(features.Keystroke), s.Pointer.readable(features.Pointer), s.Replay.readable()})
}

// readableSession is one session of a template with its cells by name.
type readableSession struct {
	Cells    cellsByName `json:"cells"`
	Keys     int         `json:"keys"`
	ActiveMS float64     `json:"active_ms"`
	AtMS     int64       `json:"at_ms"`
	Adapted  bool        `json:"adapted"`
}

// readablePosterior is the estimate of the person: the offset of each cell's mean from the population, and its uncertainty (the lower
// triangle of the covariance, row by row in the order of the cells).
type readablePosterior struct {
	Cells      []string    `json:"cells"`
	Mean       []float32   `json:"mean"`
	Covariance [][]float32 `json:"covariance"`
}

// readable converts the posterior for an export.
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

// MarshalJSON encodes everything stored in a template.
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
