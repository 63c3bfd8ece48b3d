package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The generated parts of sdk/go and api/wire must match the contract and the catalogues.
func TestGeneratedGoIsUpToDate(t *testing.T) {
	t.Parallel()
	files, err := generate()
	require.NoError(t, err)
	require.Len(t, files, 7)
	for name, text := range files {
		found, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		require.Equal(t, string(text), string(found), "%s is stale: run make generate", name)
	}
}
