package moments_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

func TestSumsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	sums := share(t, 1)
	require.NoError(t, sums.Add(share(t, 2)))
	data, err := sums.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, len(data), 200_000)
	got, err := moments.Parse(prior(), data)
	require.NoError(t, err)
	require.Equal(t, sums, got)

	_, err = moments.Parse(scoring.Default().Background(features.Pointer), data)
	require.ErrorIs(t, err, moments.ErrReference)
	for _, broken := range [][]byte{nil, {1, 2, 3}, data[:len(data)/2]} {
		_, err = moments.Parse(prior(), broken)
		require.ErrorIs(t, err, moments.ErrCodec)
	}
}

// crowd returns the sessions of people who all type slower than the prior says, and their sums.
func crowd(t *testing.T, n int) ([][]features.Vector, moments.Sums) {
	t.Helper()
	sums := moments.Empty(prior())
	var people [][]features.Vector
	for seed := range uint64(n) {
		vs := sessions(t, seed, 3)
		s, ok := moments.Share(prior(), vs)
		require.True(t, ok)
		require.NoError(t, sums.Add(s))
		people = append(people, vs)
	}
	return people, sums
}

func TestCompareAcceptsWhatIsNotWorse(t *testing.T) {
	t.Parallel()
	people, sums := crowd(t, 40)
	before := moments.Empty(prior())
	require.NoError(t, before.Add(sums))
	got, err := sums.Compare(prior(), prior(), people)
	require.NoError(t, err)
	require.Equal(t, before, sums, "comparing changes no sums")
	require.Equal(t, 40, got.People)
	require.Equal(t, 80, got.Genuine)
	require.Equal(t, 600, got.Strangers)
	require.False(t, got.Worse(), "%+v", got)

	_, err = sums.Compare(prior(), prior(), people[:9])
	require.ErrorIs(t, err, moments.ErrTooFew)
}

func TestWorse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after moments.Rates
		genuine       int
		worse         bool
	}{
		"fewer errors":                    {moments.Rates{EER: .05}, moments.Rates{EER: .03}, 240, false},
		"half a point more errors":        {moments.Rates{EER: .03}, moments.Rates{EER: .0349}, 240, false},
		"more errors":                     {moments.Rates{EER: .03}, moments.Rates{EER: .036}, 240, true},
		"one session of few":              {moments.Rates{EER: .03}, moments.Rates{EER: .06}, 24, false},
		"confirms strangers":              {moments.Rates{EER: .05}, moments.Rates{EER: .03, FalseConfirmed: .006}, 240, true},
		"confirms no more than before":    {moments.Rates{EER: .05, FalseConfirmed: .01}, moments.Rates{EER: .03, FalseConfirmed: .01}, 240, false},
		"confirms few, and no one before": {moments.Rates{EER: .05}, moments.Rates{EER: .03, FalseConfirmed: .004}, 240, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.worse, moments.Comparison{Genuine: c.genuine, Before: c.before, After: c.after}.Worse())
		})
	}
}
