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

// A person who learns a phrase gets faster: 30 % within the first ten repetitions. Enrolling again brings the error back
// down, whatever the samples of the first days were, and others stay out.
func TestFixedTextFollowsALearningCurve(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	own, other := make([]float64, 20), make([]float64, 20)
	for i := range own {
		own[i], other[i] = 80+200*rng.Float64(), 80+200*rng.Float64()
	}
	at := func(base []float64, repetition int) (reactions, intervals []float64) {
		scaled := make([]float64, len(base))
		for i, b := range base {
			scaled[i] = b * (1 - .3*math.Min(float64(repetition)/10, 1))
		}
		return phrase(rng, scaled, .12)
	}
	refused := func(f FixedText, base []float64) float64 {
		n := 0
		for range 200 {
			_, decision, err := f.Verify(at(base, 10))
			require.NoError(t, err)
			if decision != FixedAccept {
				n++
			}
		}
		return float64(n) / 200
	}
	enrol := func(f FixedText, first, n int) FixedText {
		for i := range n {
			var err error
			f, err = f.Enrol(at(own, first+i))
			require.NoError(t, err)
		}
		return f
	}
	f := enrol(FixedText{}, 0, FixedMinSamples)
	early := refused(f, own)
	require.Greater(t, early, .1, "the first five repetitions are not how the person types afterwards")
	f = enrol(f, FixedMinSamples, 10)
	require.Less(t, refused(f, own), .05)
	require.Greater(t, refused(f, other), .95)

	var slow FixedText // as full as it gets before the phrase was learnt
	for range FixedMaxSamples {
		var err error
		slow, err = slow.Enrol(at(own, 0))
		require.NoError(t, err)
	}
	require.Greater(t, refused(slow, own), .5)
	require.Less(t, refused(enrol(slow, 10, fixedHalfLife+5), own), .05, "new samples outweigh any number of old ones")
	require.Len(t, enrol(slow, 10, 2*FixedMaxSamples).Samples, FixedMaxSamples)
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
