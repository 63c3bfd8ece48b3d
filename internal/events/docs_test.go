package events_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/events"
)

func TestTheDocumentationListsEveryType(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/events.md")
	require.NoError(t, err)
	for _, typ := range events.Types() {
		d, _ := events.Lookup(typ)
		require.Contains(t, string(page), "| `"+string(typ)+"` | "+d.Description+" |", "docs/events.md")
	}
}
