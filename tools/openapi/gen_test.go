package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The committed document must be the output of `go generate ./api/openapi`.
func TestDocumentIsGenerated(t *testing.T) {
	t.Parallel()
	want, err := build("../../api/openapi/src")
	require.NoError(t, err)
	have, err := os.ReadFile("../../api/openapi/openapi.json")
	require.NoError(t, err)
	require.True(t, string(want) == string(have), "openapi.json is not what src gives; run go generate ./api/openapi")
}
