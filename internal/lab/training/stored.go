package training

import (
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// FromFrame makes a sample of a stored frame, for learning from research frames
// whose subjects consented. person is a pseudonym. It reports false if the frame
// has nothing of the base's modality. Use it with Options.Base set.
func FromFrame(base *scoring.Background, person string, f features.Frame) (Sample, bool) {
	block, ok := f.Block(base.Modality)
	if !ok || block.Cells.Filled() == 0 {
		return Sample{}, false
	}
	v := base.Weigh(block)
	return Sample{Person: person, Events: block.Events, Cells: features.Exact{N: v.N, M: v.M, SS: make([]float64, base.Dim())}}, true
}
