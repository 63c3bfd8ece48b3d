package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The document in the repository is the one the sources give; `go generate ./api/openapi` brings them together again.
func TestDocumentIsGenerated(t *testing.T) {
	t.Parallel()
	want, err := build("../src")
	require.NoError(t, err)
	have, err := os.ReadFile("../openapi.json")
	require.NoError(t, err)
	require.True(t, string(want) == string(have), "openapi.json is not what src gives; run go generate ./api/openapi")
}
