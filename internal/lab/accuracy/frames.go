package accuracy

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// FramePerson is one person's stored frames. Name is a pseudonym.
type FramePerson struct {
	Name   string
	Frames []features.Frame
}

const (
	framesLeast  = 8 // frames a person must have to be tested
	framesWindow = 2 // frames merged into one query
)

// CompareFrames measures two backgrounds on stored frames of people that neither
// was learned from. Half of a person's frames enroll, in three parts; the other
// half is tested, two frames at a time; every other person is an impostor. Stored
// frames have no session and no day, so the figures compare two backgrounds and do
// not predict the error rates of the service.
func CompareFrames(before, after *scoring.Background, people []FramePerson, opt Options) ([]Comparison, error) {
	if opt.Bootstrap <= 0 {
		opt.Bootstrap = 200
	}
	var reports [2]Report
	for i, bg := range []*scoring.Background{before, after} {
		scores, err := frameScores(bg, people)
		if err != nil {
			return nil, err
		}
		e := env{opt: opt, own: noOwn}
		e.opt.Log = func(string) {}
		e.verification(Figure{Protocol: "frames", Set: "stored frames", Case: "half enrolled, two frames tested"}, scores, "")
		reports[i] = e.report
	}
	var out []Comparison
	for i, f := range reports[1].Figures {
		out = append(out, Comparison{f.Protocol, f.Set, f.Case, f.Metric, f.Unit, reports[0].Figures[i].Value, f.Value, f.Low, f.High})
	}
	return out, nil
}

// frameScores scores the people under one background. People with fewer than
// framesLeast usable frames are left out; it returns an error if fewer than fewest
// people remain.
func frameScores(bg *scoring.Background, people []FramePerson) ([]Person, error) {
	var scorers []*scoring.Scorer
	var queries [][]features.Vector
	for _, p := range people {
		var vectors []features.Vector
		for _, f := range p.Frames {
			if block, ok := f.Block(bg.Modality); ok && block.Cells.Filled() > 0 {
				vectors = append(vectors, bg.Weigh(block))
			}
		}
		if len(vectors) < framesLeast {
			continue
		}
		half := len(vectors) / 2
		s, err := scoring.NewScorer(bg, thirds(bg, vectors[:half]))
		if err != nil {
			return nil, err
		}
		var tests []features.Vector
		for at := half; at+framesWindow <= len(vectors); at += framesWindow {
			tests = append(tests, bg.Merge(vectors[at:at+framesWindow]...))
		}
		scorers, queries = append(scorers, s), append(queries, tests)
	}
	if len(scorers) < fewest {
		return nil, fmt.Errorf("%w: %d people with %d frames and more held back, %d needed", errUnfit, len(scorers), framesLeast, fewest)
	}
	return crossScores(context.Background(), scorers, queries, 1)
}

// thirds deals vectors out to three parts in turn and merges each part. Empty parts
// are left out.
func thirds(bg *scoring.Background, vectors []features.Vector) []features.Vector {
	var parts [3][]features.Vector
	for i, v := range vectors {
		parts[i%3] = append(parts[i%3], v)
	}
	var out []features.Vector
	for _, part := range parts {
		if len(part) > 0 {
			out = append(out, bg.Merge(part...))
		}
	}
	return out
}
