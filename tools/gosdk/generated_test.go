package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The generated part of sdk/go must match the contract and the catalogues.
func TestGoSDKIsUpToDate(t *testing.T) {
	t.Parallel()
	files, err := generate()
	require.NoError(t, err)
	require.Len(t, files, 6)
	for name, text := range files {
		found, err := os.ReadFile(filepath.Join("..", "..", "sdk", "go", name))
		require.NoError(t, err)
		require.Equal(t, string(text), string(found), "sdk/go/%s is stale: run make generate", name)
	}
}
