package scoring

import (
	"errors"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Scorer scores windows against one person outside any session, for measurements with their own protocols.
type Scorer struct {
	bg        *Background
	posterior posterior
}

// NewScorer enrolls a person from merged, weighed vectors, one per session.
func NewScorer(bg *Background, sessions []features.Vector) (*Scorer, error) {
	p, ok := enrol(bg, sessions)
	if !ok {
		return nil, errors.New("scoring: the person cannot be enrolled from these vectors")
	}
	return &Scorer{bg, p}, nil
}

// LLR returns the log-likelihood ratio of a merged, weighed window.
func (s *Scorer) LLR(v features.Vector) float64 { return llr(s.bg, s.posterior, v) }

// Merge merges weighed vectors of a background's modality.
func (b *Background) Merge(vectors ...features.Vector) features.Vector {
	return mergeAll(b.Dim(), vectors...)
}
