package tables_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// namedIn are the packages whose SQL may name a table. All others call subjectrow or build their statements from its parts.
var namedIn = map[string][]string{
	"subjects": {
		"internal/account/subjectrow",
		"internal/platform/audit",  // imports no room: it compares the log with all that is stored
		"internal/platform/events", // imports no room: it finds the entries about a subject
		"internal/subject",         // owns the rules by which the row changes
	},
}

func TestSQLNamesATableInFewPackages(t *testing.T) {
	t.Parallel()
	found := map[string]map[string]bool{}
	patterns := map[string]*regexp.Regexp{}
	for table := range namedIn {
		found[table], patterns[table] = map[string]bool{}, regexp.MustCompile(`(?i)\b(from|join|update|into)\s+`+table+`\b`)
	}
	root := filepath.Join("..", "..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testing" || name == "migrations" || name == "node_modules" || strings.HasPrefix(name, ".") && len(name) > 2 {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); ext != ".sql" && (ext != ".go" || strings.HasSuffix(path, "_test.go")) {
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // our own tree
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for table, pattern := range patterns {
			if pattern.Match(text) {
				found[table][filepath.ToSlash(dir)] = true
			}
		}
		return err
	}))
	for table, allowed := range namedIn {
		require.Equal(t, allowed, slices.Sorted(maps.Keys(found[table])), "packages whose SQL names %s", table)
		require.LessOrEqual(t, len(allowed), 6, table)
	}
}
