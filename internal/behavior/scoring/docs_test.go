package scoring_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

var update = flag.Bool("update", false, "rewrite generated documentation")

const cardPath = "../../../docs/model-card.md"

func TestModelCardMatchesTheEmbeddedBackgrounds(t *testing.T) {
	t.Parallel()
	if *update {
		require.NoError(t, os.WriteFile(cardPath, []byte(scoring.Default().ModelCards()), 0o644))
	}
	got, err := os.ReadFile(cardPath)
	require.NoError(t, err)
	require.Equal(t, scoring.Default().ModelCards(), string(got), "run go test ./internal/behavior/scoring -update")
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
