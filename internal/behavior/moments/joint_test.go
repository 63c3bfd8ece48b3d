package moments_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Two cells whose sessions differ from each other together, or against each other: the background learns it.
func TestBackgroundLearnsWhichCellsErrTogether(t *testing.T) {
	t.Parallel()
	ref := prior()
	a, b := features.CellIndex(features.Keystroke, "p:alt_LR"), features.CellIndex(features.Keystroke, "h:SP")
	require.Zero(t, joint(ref, a, b))
	for name, c := range map[string]struct{ correlation, low, high float64 }{
		"together": {.9, .45, .7},
		"apart":    {0, -.15, .15},
		"against":  {-.9, -.7, -.45},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(7, 8))
			bg := learned(t, ref, 150, func() (own []features.Vector) {
				people := [2]float64{rng.NormFloat64() * .2, rng.NormFloat64() * .2}
				for range 4 {
					v := features.NewVector(ref.Dim())
					shared := rng.NormFloat64()
					noise := [2]float64{shared, c.correlation*shared + math.Sqrt(1-c.correlation*c.correlation)*rng.NormFloat64()}
					for k, i := range []int{a, b} {
						v.N[i] = 8
						v.M[i] = ref.Mu[i] + people[k] + noise[k]*math.Sqrt(ref.Sig2[i]/8)
					}
					own = append(own, v)
				}
				return own
			})
			require.Greater(t, joint(bg, a, b), c.low)
			require.Less(t, joint(bg, a, b), c.high)
			require.InDelta(t, 1, joint(bg, a, a), 0)
			other, same := features.CellIndex(features.Keystroke, "p:SP_L"), features.CellIndex(features.Keystroke, "r:SP_L")
			require.InDelta(t, joint(ref, other, same), joint(bg, other, same), .01, "no one typed it")
		})
	}
}

func joint(bg *scoring.Background, i, j int) float64 {
	return scoring.Unpack(bg.Joint, bg.Dim())[i*bg.Dim()+j]
}
