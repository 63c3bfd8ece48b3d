package events_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

func TestTheDocumentationListsEveryType(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/events.md")
	require.NoError(t, err)
	var missing []string
	for _, typ := range events.Types() {
		d, _ := events.Lookup(typ)
		line := "| `" + string(typ) + "` | " + d.Description + " |"
		if !strings.Contains(string(page), line) {
			missing = append(missing, line)
		}
	}
	require.Empty(t, missing, "lines that docs/events.md lacks")
}
