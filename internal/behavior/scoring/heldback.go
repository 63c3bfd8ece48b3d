package scoring

import (
	"errors"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// ErrSessions is returned by Ratios if the enrolled sessions give no template.
var ErrSessions = errors.New("scoring: no template can be computed from the sessions")

// Ratios returns the log-likelihood ratio of each probe against a person with the enrolled sessions, less the margin of the background, so
// that ratios of different backgrounds compare with the same thresholds. Sessions and probes are merged, weighed vectors. It returns
// ErrSessions if no template can be computed.
func (b *Background) Ratios(enrolled, probes []features.Vector) ([]float64, error) {
	p, ok := enrol(b, enrolled)
	if !ok || len(enrolled) == 0 {
		return nil, ErrSessions
	}
	out := make([]float64, len(probes))
	for i, v := range probes {
		out[i] = llr(b, p, v) - b.margin()
	}
	return out, nil
}

// Confirms reports whether a session with a ratio as of Ratios would be confirmed, given enough keys.
func (b *Background) Confirms(ratio float64) bool {
	return b.Modality == features.Keystroke && !b.fewPeople() && ratio > confirmLLR
}
