package accuracy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Comparison is one figure under the background in force and under a candidate.
// AfterLow and AfterHigh are the 95 % interval of After.
type Comparison struct {
	Protocol, Set, Case, Metric, Unit string
	Before, After                     Number
	AfterLow, AfterHigh               Number
}

// Compare measures two models on the same recordings and the same people, none of
// whom either was learned from. A candidate is activated on its result. Protocols
// that learn a background of their own are left out, because they would not measure
// the two models.
func Compare(ctx context.Context, opt Options, before, after *scoring.Model) ([]Comparison, error) {
	opt.Background, opt.Out = BackgroundEmbedded, ""
	var reports [2]Report
	for i, pair := range [][2]*scoring.Model{{before, after}, {after, before}} {
		opt.Model, opt.Against = pair[0], pair[1]
		var err error
		if reports[i], err = runSome(ctx, opt, "gallery", "days", "claims", "pointer"); err != nil {
			return nil, fmt.Errorf("accuracy: model %s: %w", opt.Model.Version(), err)
		}
	}
	var out []Comparison
	for _, f := range reports[1].Figures {
		if b, ok := reports[0].Find(f.Protocol, f.Set, f.Case, f.Metric); ok {
			out = append(out, Comparison{f.Protocol, f.Set, f.Case, f.Metric, f.Unit, b.Value, f.Value, f.Low, f.High})
		}
	}
	return out, nil
}

// runSome runs some protocols and joins their figures. It returns ErrNothing if
// none of them fits a set.
func runSome(ctx context.Context, opt Options, names ...string) (Report, error) {
	var all Report
	for _, name := range names {
		opt.Protocol = name
		r, err := Run(ctx, opt)
		if err != nil && !errors.Is(err, ErrNothing) {
			return all, err
		}
		all.Figures, all.Notes = append(all.Figures, r.Figures...), append(all.Notes, r.Notes...)
	}
	if len(all.Figures) == 0 {
		return all, fmt.Errorf("%w: %s (%s)", ErrNothing, strings.Join(names, ", "), strings.Join(all.Notes, "; "))
	}
	return all, nil
}

// Worse returns the comparisons in which the second model is worse by more than its
// own error bars. Only figures that decisions depend on count: pooled error rates
// and false trust.
func Worse(all []Comparison) []Comparison {
	var out []Comparison
	for _, c := range all {
		switch c.Metric {
		case "EER pooled", "impostor confirmed (false)", "impostor likely (false)":
			if c.AfterLow > c.Before {
				out = append(out, c)
			}
		}
	}
	return out
}
