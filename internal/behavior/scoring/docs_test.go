package scoring_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

func TestModelCardMatchesTheEmbeddedBackgrounds(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/background.md")
	require.NoError(t, err)
	require.Contains(t, string(page), scoring.Default().ModelCards(), "copy countersign background card embedded to docs/background.md")
}

// Anyone may use what is embedded: it was made of no recordings, so no licence of a recording applies to it.
func TestEmbeddedBackgroundsAreMadeOfNoRecordings(t *testing.T) {
	t.Parallel()
	cards := scoring.Default().Cards()
	require.Len(t, cards, 2)
	for _, c := range cards {
		require.False(t, c.NonCommercial)
		require.Equal(t, "Apache-2.0", c.Licence)
		require.Zero(t, c.People)
		require.Zero(t, c.Frames)
		require.Empty(t, c.Sources)
		require.NotEmpty(t, c.Limitations)
	}
}
