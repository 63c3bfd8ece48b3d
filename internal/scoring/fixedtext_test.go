package scoring

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func phrase(rng *rand.Rand, base []float64, spread float64) (reactions, intervals []float64) {
	for i, b := range base {
		v := b * math.Exp(spread*rng.NormFloat64())
		if i < len(base)/2 {
			reactions = append(reactions, v)
		} else {
			intervals = append(intervals, v)
		}
	}
	return reactions, intervals
}

func TestFixedTextTellsPeopleApart(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	own, other := make([]float64, 20), make([]float64, 20)
	for i := range own {
		own[i], other[i] = 80+200*rng.Float64(), 80+200*rng.Float64()
	}
	var f FixedText
	for i := range FixedMinSamples {
		require.Equal(t, i >= FixedMinSamples, f.Enrolled())
		r, k := phrase(rng, own, .15)
		var err error
		f, err = f.Enrol(r, k)
		require.NoError(t, err)
	}
	require.True(t, f.Enrolled())
	body, err := json.Marshal(f)
	require.NoError(t, err)
	var back FixedText
	require.NoError(t, json.Unmarshal(body, &back))
	accepted, rejected := 0, 0
	for range 50 {
		c, decision, err := back.Verify(phrase(rng, own, .15))
		require.NoError(t, err)
		require.True(t, c >= 0 && c <= 1)
		if decision == FixedAccept {
			accepted++
		}
		_, decision, err = back.Verify(phrase(rng, other, .15))
		require.NoError(t, err)
		if decision == FixedReject {
			rejected++
		}
	}
	require.Greater(t, accepted, 45)
	require.Greater(t, rejected, 45)
}

func TestFixedTextRefusesOddSamples(t *testing.T) {
	t.Parallel()
	var f FixedText
	_, err := f.Enrol(nil, []float64{1})
	require.ErrorIs(t, err, ErrFixedLength)
	_, err = f.Enrol(make([]float64, FixedMaxLength+1), []float64{1})
	require.ErrorIs(t, err, ErrFixedLength)
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1), FixedMaxMS + 1} {
		_, err = f.Enrol([]float64{100}, []float64{bad})
		require.ErrorIs(t, err, ErrFixedValue)
	}
	f, err = f.Enrol([]float64{100}, []float64{100, 90})
	require.NoError(t, err)
	_, err = f.Enrol([]float64{100}, []float64{100})
	require.ErrorIs(t, err, ErrFixedLength)
	_, decision, err := f.Verify([]float64{100}, []float64{100, 90})
	require.ErrorIs(t, err, ErrFixedFew)
	require.Equal(t, FixedChallenge, decision)
}
