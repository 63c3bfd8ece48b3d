package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCollectorTablesMatchService(t *testing.T) {
	t.Parallel()
	want, err := constants()
	require.NoError(t, err)
	have, err := os.ReadFile("../src/features/tables.ts")
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "run go generate ./sdk/js/gen and commit the result")
}
