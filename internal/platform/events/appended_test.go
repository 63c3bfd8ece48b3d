package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

// A type that nothing appends promises what never comes.
func TestEveryTypeIsAppendedSomewhere(t *testing.T) {
	t.Parallel()
	names := constants(t)
	require.Len(t, names, len(events.Types()))
	var code strings.Builder
	for _, dir := range []string{"activities", "api", "cmd", "internal", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/platform/events/") {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // our own tree
			code.Write(text)
			return err
		}))
	}
	var missing []events.Type
	for name, typ := range names {
		if !regexp.MustCompile(`\bevents\.` + name + `\b`).MatchString(code.String()) {
			missing = append(missing, typ)
		}
	}
	require.Empty(t, missing, "types that nothing appends")
}

// constants are the types by the names of their constants.
func constants(t *testing.T) map[string]events.Type {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, 0)
	require.NoError(t, err)
	out := map[string]events.Type{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			if _, known := events.Lookup(events.Type(value)); known {
				out[spec.Names[0].Name] = events.Type(value)
			}
		}
		return true
	})
	return out
}
