package try

import (
	"os"
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
	for _, row := range []string{
		" is confirmed or likely | " + figures[0].Rate,
		" is not_confirmed | " + figures[1].Rate,
		" is likely | " + figures[2].Rate,
	} {
		measured(row)
	}
	measured("1 / 2 / 3 frames in 83 / 89 / 92 % (prior)")
	measured("typically within 12 s of typing")
	require.Equal(t, "89 %", figures[3].Rate)
	measured("28 writers")
}

// A passage must have the keys that an enrollment session needs, and a few more.
func TestPassagesAreLongEnoughToEnroll(t *testing.T) {
	t.Parallel()
	for _, p := range passages {
		require.GreaterOrEqual(t, len(p), 115)
		require.False(t, strings.ContainsAny(p, "\"'&<>"), "a passage is easy to type")
	}
}
