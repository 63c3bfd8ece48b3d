package features_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

const docsPath = "../../../docs/features.md"

func TestDocumentationMatchesTheSchema(t *testing.T) {
	t.Parallel()
	if *update {
		require.NoError(t, os.WriteFile(docsPath, []byte(features.Markdown()), 0o644))
	}
	got, err := os.ReadFile(docsPath)
	require.NoError(t, err)
	require.Equal(t, features.Markdown(), string(got), "run go test ./internal/behavior/features -update")
}

func TestSchemaIsConsistent(t *testing.T) {
	t.Parallel()
	want := map[features.Modality]int{features.Keystroke: 104, features.Pointer: 84}
	seen := map[string]bool{}
	for _, m := range features.Modalities() {
		if n, ok := want[m]; ok {
			require.Equal(t, n, features.Dim(m))
		}
		for i, c := range features.Cells(m) {
			require.False(t, seen[c.Name], c.Name)
			seen[c.Name] = true
			require.Equal(t, i, features.CellIndex(m, c.Name))
			require.Less(t, c.Min, c.Max, c.Name)
			require.NotEmpty(t, c.Definition)
			require.NotEmpty(t, c.Unit)
		}
	}
	require.Equal(t, -1, features.CellIndex(features.Keystroke, "h:q"))
}
