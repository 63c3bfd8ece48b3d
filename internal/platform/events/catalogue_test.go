package events_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

var update = flag.Bool("update", false, "rewrite testdata/catalogue.jsonl from the code")

const golden = "testdata/catalogue.jsonl"

// TestPublishedCatalogueMatchesGolden pins what GET /api/v1/event-types publishes, byte for byte: one line per public type.
// Receivers of webhooks generate code from it, so a difference in the golden file is a change of the contract.
func TestPublishedCatalogueMatchesGolden(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	for _, d := range events.Catalogue() {
		line, err := json.Marshal(map[string]any{"type": d.Type, "schema": d.MessageSchema(), "example": d.MessageExample()})
		require.NoError(t, err)
		got.Write(append(line, '\n'))
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}
