package moments_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// learned returns the background of so many people, each with the sessions that person returns.
func learned(t *testing.T, ref *scoring.Background, people int, person func() []features.Vector) *scoring.Background {
	t.Helper()
	sums := moments.Empty(ref)
	for range people {
		s, ok := moments.Share(ref, person())
		require.True(t, ok)
		require.NoError(t, sums.Add(s))
	}
	bg, err := sums.Background(ref, "own")
	require.NoError(t, err)
	return bg
}

// People who vary less, or more, from one press to the next than the prior says: the background learns it, within limits.
func TestBackgroundLearnsHowMuchSingleTimesVary(t *testing.T) {
	t.Parallel()
	ref := prior()
	cell := features.CellIndex(features.Keystroke, "h:SP")
	for name, c := range map[string]struct{ deviation, low, high float64 }{
		"steady":  {.0, .33, .7},
		"as said": {1, .75, 1.35},
		"uneven":  {1.6, 1.4, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(5, 6))
			bg := learned(t, ref, 120, func() (own []features.Vector) {
				person := rng.NormFloat64() * .2
				for range 3 {
					v := features.NewVector(ref.Dim())
					v.N[cell] = 8
					v.M[cell] = ref.Mu[cell] + person + rng.NormFloat64()*c.deviation*math.Sqrt(ref.Sig2[cell]/8+ref.Within[cell*(cell+3)/2])
					own = append(own, v)
				}
				return own
			})
			ratio := bg.Sig2[cell] / ref.Sig2[cell]
			require.Greater(t, ratio, c.low)
			require.Less(t, ratio, c.high)
			other := features.CellIndex(features.Keystroke, "h:LP")
			require.Equal(t, ref.Sig2[other], bg.Sig2[other], "no one typed it")
			require.NotSame(t, &ref.Sig2[0], &bg.Sig2[0])
		})
	}
}
