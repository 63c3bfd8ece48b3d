package accuracy

import (
	"context"
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// scorersOf builds the scorer and the queries of each of n people. parts returns the vectors that the ith
// person enrolls with and those that are tested; it is called from several goroutines.
func scorersOf(bg *scoring.Background, n int, parts func(i int) (enrolled, tested []features.Vector)) ([]*scoring.Scorer, [][]features.Vector, error) {
	scorers, queries, failed := make([]*scoring.Scorer, n), make([][]features.Vector, n), make([]error, n)
	parallel(n, func(i int) {
		var enrolled []features.Vector
		enrolled, queries[i] = parts(i)
		scorers[i], failed[i] = scoring.NewScorer(bg, enrolled)
	})
	return scorers, queries, first(failed)
}

// allQueries makes crossScores test every query of an impostor.
const allQueries = math.MaxInt

// crossScores scores every query of each person against that person's own scorer, and at most so many queries
// of each person against every other scorer. It stops early if ctx ends, and returns its error.
func crossScores(ctx context.Context, scorers []*scoring.Scorer, queries [][]features.Vector, perImpostor int) ([]Person, error) {
	out := make([]Person, len(scorers))
	parallel(len(scorers), func(i int) {
		for j, of := range queries {
			if ctx.Err() != nil {
				return
			}
			if i == j {
				out[i].Genuine = append(out[i].Genuine, scoreAll(scorers[i], of)...)
			} else {
				out[i].Impostor = append(out[i].Impostor, scoreAll(scorers[i], of[:min(perImpostor, len(of))])...)
			}
		}
	})
	return out, ctx.Err()
}

func scoreAll(s *scoring.Scorer, queries []features.Vector) []float64 {
	out := make([]float64, len(queries))
	for i, q := range queries {
		out[i] = s.LLR(q)
	}
	return out
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
