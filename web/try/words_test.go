package try

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page promises what was measured and nothing else.
func TestTheFiguresAreThoseMeasured(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/accuracy.md")
	require.NoError(t, err)
	measured := func(words string) {
		require.True(t, strings.Contains(string(text), words), "docs/accuracy.md does not say %q: change figures in words.go with it", words)
	}
	for _, row := range []string{
		"| the person is confirmed or likely | " + figures[0].Rate,
		"| a different person is not_confirmed | " + figures[1].Rate,
		"| a different person is confirmed | " + figures[2].Rate,
	} {
		measured(row)
	}
	measured("1 / 2 / 3 frames in 83 / 90 / 93 %, typically within 11 s")
	require.Equal(t, "90 %", figures[3].Rate)
	measured("28 writers")
}

// A passage has to hold the keys of a session of an enrolment, with a few to spare.
func TestPassagesAreLongEnough(t *testing.T) {
	t.Parallel()
	for _, p := range passages {
		require.GreaterOrEqual(t, len(p), 115)
		require.False(t, strings.ContainsAny(p, "\"'&<>"), "a passage is easy to type")
	}
}
