package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexListsEveryPageOnce checks that docs/README.md links each page of this folder exactly once.
func TestIndexListsEveryPageOnce(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, page := range found {
			if page == "README.md" {
				continue
			}
			require.Equal(t, 1, strings.Count(string(index), "\n| ["+page+"]("+page+") | "), "docs/README.md must list %s once", page)
		}
	}
}

// TestReadmeLinksTheIndex checks that a reader of the repository finds the index.
func TestReadmeLinksTheIndex(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.Contains(t, string(text), "(docs/README.md)")
}
