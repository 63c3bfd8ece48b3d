package accuracy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Comparison is one figure under the background in force and under a candidate.
type Comparison struct {
	Protocol, Set, Case, Metric, Unit string
	Before, After                     Number
	AfterLow, AfterHigh               Number
}

// Compare measures two models on the same recordings and the same people, whom neither was learned from. It is what stands
// between learning a background and activating it. Protocols that learn a background of their own are left out.
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

// runSome runs some protocols; it is an error where none of them fits.
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

// Worse are the comparisons of what a deployment decides by (pooled error rates and false trust) in which the second is
// worse by more than its own error bars.
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
