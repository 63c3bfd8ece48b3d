package accuracy

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/internal/scoring"
)

// Comparison is one figure under the background in force and under a candidate.
type Comparison struct {
	Protocol, Set, Case, Metric, Unit string
	Before, After                     Number
	AfterLow, AfterHigh               Number
}

// Compare measures the model in force and a candidate on the same recordings, people neither was learned from. It is what
// stands between learning a background and activating it.
func Compare(ctx context.Context, opt Options, candidate *scoring.Model) ([]Comparison, error) {
	if opt.Background == "" {
		opt.Background = BackgroundEmbedded
	}
	opt.Out = ""
	before, err := Run(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("accuracy: model in force: %w", err)
	}
	opt.Model = candidate
	after, err := Run(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("accuracy: candidate: %w", err)
	}
	var out []Comparison
	for i, f := range after.Figures {
		if i < len(before.Figures) && before.Figures[i].Case == f.Case && before.Figures[i].Metric == f.Metric {
			out = append(out, Comparison{f.Protocol, f.Set, f.Case, f.Metric, f.Unit, before.Figures[i].Value, f.Value, f.Low, f.High})
		}
	}
	return out, nil
}
