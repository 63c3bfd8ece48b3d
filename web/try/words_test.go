package try

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiguresMatchTheMeasuredAccuracy(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/accuracy.md")
	require.NoError(t, err)
	measured := func(words string) {
		require.True(t, strings.Contains(string(text), words), "docs/accuracy.md does not contain %q: change figures in words.go with it", words)
	}
	measured(" is confirmed or likely | " + rates[0].Own)
	measured("no verdict on the person | " + rates[1].Own)
	measured(" is likely | " + rates[0].Other)
	measured(" is not_confirmed | " + rates[2].Other)
	measured("1 / 2 / 3 frames in 81 / 88 / 91 % (prior)")
	measured("typically within 12 s of typing")
	require.Equal(t, "88 %", noticed)
	measured("28 writers")
}

// The verdicts exclude each other, so a column that does not add up would contradict itself.
func TestRatesAddUp(t *testing.T) {
	t.Parallel()
	var own, other float64
	for _, r := range rates {
		for text, sum := range map[string]*float64{r.Own: &own, r.Other: &other} {
			share, err := strconv.ParseFloat(strings.TrimSuffix(text, " %"), 64)
			require.NoError(t, err)
			*sum += share
		}
	}
	require.InDelta(t, 100, own, 0.001)
	require.InDelta(t, 100, other, 0.001)
}

// A passage must have the keys that an enrollment session needs, and a few more.
func TestPassagesAreLongEnoughToEnroll(t *testing.T) {
	t.Parallel()
	for _, p := range passages {
		require.GreaterOrEqual(t, len(p), 115)
		require.False(t, strings.ContainsAny(p, "\"'&<>"), "a passage is easy to type")
	}
}
