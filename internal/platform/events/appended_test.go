package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

// A type that nothing appends would promise events that never come.
func TestEveryDataStructIsUsedOutsideThePackage(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, dir := range []string{"activities", "api", "cmd", "internal", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/platform/events/") {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // our own tree
			for _, m := range regexp.MustCompile(`\bevents\.(\w+Data)\b`).FindAllSubmatch(text, -1) {
				used[string(m[1])] = true
			}
			return err
		}))
	}
	var missing []string
	for _, typ := range events.Types() {
		d, _ := events.Lookup(typ)
		for _, data := range d.Data() {
			name := reflect.TypeOf(data).Name()
			require.Equal(t, typ, data.EventType(), name)
			if !used[name] {
				missing = append(missing, name)
			}
		}
	}
	require.Empty(t, missing, "data that nothing appends")
}

func TestEveryTypeConstantIsInTheCatalogue(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("data_*.go")
	require.NoError(t, err)
	var constants int
	count := func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if kind, typed := spec.Type.(*ast.Ident); ok && typed && kind.Name == "Type" {
			value, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			_, known := events.Lookup(events.Type(value))
			require.True(t, known, "%s", spec.Names[0].Name)
			constants++
		}
		return true
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, count)
	}
	require.Len(t, events.Types(), constants)
}
