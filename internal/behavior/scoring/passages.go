package scoring

import (
	"encoding/json"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Passages are stretches of one person's typing, oldest first, each of at least passageKeys keys. A passage is encoded as one byte
// for its number of keys and one byte for the mean of each keystroke cell. The encoding does not depend on a background, so it stays
// valid when the background changes. It is derived behavioral data: seal it.
type Passages []byte

// PassageSize returns the size of a passage in bytes.
func PassageSize() int { return passageSize }

// passageSize is one byte for the number of keys and one for each keystroke cell.
var passageSize = 1 + features.Dim(features.Keystroke)

const (
	// Steps of a cell's range; codes are -127 to 127.
	codeLevels = 254
	codeLeast  = -127
)

// Len returns the number of passages.
func (p Passages) Len() int { return len(p) / passageSize }

// keys returns the number of keys of passage i, at most 255.
func (p Passages) keys(i int) int { return int(p[i*passageSize]) }

func (p Passages) codes(i int) []byte {
	return p[i*passageSize+1 : (i+1)*passageSize]
}

func appendPassage(out Passages, bg *Background, p fingerprint, keys int) Passages {
	out = append(out, byte(min(keys, math.MaxUint8))) // #nosec G115 -- bounded
	for i, c := range features.Cells(features.Keystroke) {
		code := absent
		if p[i] != absent {
			level := math.Round((p.mean(bg, i) - c.Min) / (c.Max - c.Min) * codeLevels)
			code = codeLeast + int(math.Min(math.Max(level, 0), codeLevels))
		}
		out = append(out, byte(int8(code))) // #nosec G115 -- -128 to 127
	}
	return out
}

// MarshalJSON encodes the passages for the person they are about: keys and the mean of each cell, by name.
func (p Passages) MarshalJSON() ([]byte, error) {
	type readable struct {
		Keys  int                `json:"keys"`
		Cells map[string]float64 `json:"cells"`
	}
	cells := features.Cells(features.Keystroke)
	out := make([]readable, p.Len())
	for k := range out {
		out[k] = readable{p.keys(k), map[string]float64{}}
		for i, b := range p.codes(k) {
			if code := int8(b); code != absent { // #nosec G115 -- the bits
				c := cells[i]
				mean := c.Min + float64(int(code)-codeLeast)/codeLevels*(c.Max-c.Min)
				out[k].Cells[c.Name] = math.Round(mean*1e4) / 1e4
			}
		}
	}
	return json.Marshal(out)
}
