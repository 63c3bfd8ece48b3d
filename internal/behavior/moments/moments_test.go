package moments_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

func prior() *scoring.Background { return scoring.Default().Background(features.Keystroke) }

// sessions returns the enrolled sessions of a simulated person.
func sessions(t require.TestingT, seed uint64, n int) []features.Vector {
	typist := synthetic.NewTypist(seed)
	var all []scoring.SessionFrames
	for range n {
		typist.NewDay()
		var s scoring.SessionFrames
		for range 3 {
			s.Frames = append(s.Frames, typist.Frame(50))
		}
		all = append(all, s)
	}
	ts, _, err := scoring.Default().Train(all, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	require.NoError(t, err)
	var out []features.Vector
	for _, s := range ts.Find(features.Keystroke, scoring.Desktop).Sessions {
		out = append(out, s.Cells)
	}
	return out
}

func share(t require.TestingT, seed uint64) moments.Sums {
	s, ok := moments.Share(prior(), sessions(t, seed, 3))
	require.True(t, ok)
	return s
}

func TestSubtractingAShareLeavesWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	shares := []moments.Sums{share(t, 1), share(t, 2), share(t, 3), share(t, 4)}
	rapid.Check(t, func(t *rapid.T) {
		sums := moments.Empty(prior())
		for _, k := range rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, "people") {
			require.NoError(t, sums.Add(shares[k]))
		}
		before := moments.Empty(prior())
		require.NoError(t, before.Add(sums))
		k := rapid.IntRange(0, 3).Draw(t, "one more")
		require.NoError(t, sums.Add(shares[k]))
		require.NotEqual(t, before, sums)
		require.NoError(t, sums.Subtract(shares[k]))
		require.Equal(t, before, sums)
	})
}

func TestTheOrderOfPeopleDoesNotMatter(t *testing.T) {
	t.Parallel()
	var shares []moments.Sums
	for seed := range uint64(6) {
		shares = append(shares, share(t, seed))
	}
	want := moments.Empty(prior())
	for _, s := range shares {
		require.NoError(t, want.Add(s))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		rng.Shuffle(len(shares), func(i, j int) { shares[i], shares[j] = shares[j], shares[i] })
		got := moments.Empty(prior())
		for _, s := range shares {
			require.NoError(t, got.Add(s))
		}
		require.Equal(t, want, got)
	}
}

func TestShareNeedsTwoSessionsAndCountsOnePerson(t *testing.T) {
	t.Parallel()
	_, ok := moments.Share(prior(), sessions(t, 1, 1))
	require.False(t, ok)
	for _, n := range []int{2, 3, 5} {
		s, ok := moments.Share(prior(), sessions(t, 1, n))
		require.True(t, ok)
		require.Equal(t, 1, s.People)
	}
}

func TestSumsRefuseWhatTheyCannotCombine(t *testing.T) {
	t.Parallel()
	pointer := moments.Empty(scoring.Default().Background(features.Pointer))
	sums := moments.Empty(prior())
	require.ErrorIs(t, sums.Add(pointer), moments.ErrReference)
	require.ErrorIs(t, sums.Subtract(share(t, 1)), moments.ErrMissing)
	_, err := sums.Background(prior(), "own")
	require.ErrorIs(t, err, moments.ErrTooFew)
}

// People unlike the prior: everyone types slower than it says. The background follows the people, and separates strangers.
func TestBackgroundFollowsTheDeploymentsPeople(t *testing.T) {
	t.Parallel()
	sums := moments.Empty(prior())
	cell := features.CellIndex(features.Keystroke, "p:alt_LR")
	const slower = .3
	for seed := range uint64(60) {
		vs := sessions(t, seed, 3)
		for _, v := range vs {
			v.M[cell] += slower
		}
		s, ok := moments.Share(prior(), vs)
		require.True(t, ok)
		require.NoError(t, sums.Add(s))
	}
	bg, err := sums.Background(prior(), "own-60")
	require.NoError(t, err)
	require.Equal(t, 60, bg.Card.People)
	require.True(t, bg.Card.Local)
	require.InDelta(t, prior().Mu[cell]+slower, bg.Mu[cell], .15)
	require.NotEqual(t, prior().Version, bg.Version)
	own, other := sessions(t, 500, 4), sessions(t, 600, 3)
	scorer, err := scoring.NewScorer(bg, own[:3])
	require.NoError(t, err)
	require.Greater(t, scorer.LLR(own[3]), scorer.LLR(other[0]))
}

func TestPositiveKeepsTheDiagonal(t *testing.T) {
	t.Parallel()
	full := []float64{1, .99, -.99, .99, 4, 3.9, -.99, 3.9, 9}
	out := moments.Positive(full, 3)
	for i := range 3 {
		require.InDelta(t, full[i*4], out[i*4], 1e-9)
	}
	for i := range 3 {
		for j := range 3 {
			require.InDelta(t, out[i*3+j], out[j*3+i], 1e-9)
			require.LessOrEqual(t, math.Abs(out[i*3+j]), math.Sqrt(full[i*4]*full[j*4]))
		}
	}
}
