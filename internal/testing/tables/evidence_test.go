package tables_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// docs/audit.md says of each column that audit verify does not compare why not.
func TestWhatIsNotComparedIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/audit.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), strings.Join(uncomparedLines(), "\n")+"\n\n"), "docs/audit.md lacks:\n%s", strings.Join(uncomparedLines(), "\n"))
}

func uncomparedLines() (out []string) {
	names := map[string][]string{} // by reason
	for _, table := range pg.Tables() {
		if table.Compared() == nil {
			reason := cmp.Or(table.Unlogged, table.Free["*"])
			names[reason] = append(names[reason], table.Name)
			continue
		}
		for column, reason := range table.Free {
			names[reason] = append(names[reason], table.Name+"."+column)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(names)) {
		out = append(out, fmt.Sprintf("| `%s` | %s |", strings.Join(slices.Sorted(slices.Values(names[reason])), "`, `"), reason))
	}
	return out
}
