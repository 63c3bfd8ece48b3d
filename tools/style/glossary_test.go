package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGlossaryIsInContributing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	for _, word := range glossaryWords {
		require.Contains(t, string(text), "| "+word.instead+" |", "CONTRIBUTING.md lacks the row of %s", word.pattern)
	}
}
