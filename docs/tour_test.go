package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sourceLink matches [`Identifier`](../path/file.go).
var sourceLink = regexp.MustCompile("\\[`([A-Za-z.]+)`\\]\\((\\.\\./[^)]+\\.go)\\)")

// TestCodeTourNamesExistingIdentifiers checks that each identifier in the tour is declared in the file that its link names.
// TestLinksResolve checks the files.
func TestCodeTourNamesExistingIdentifiers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	links := sourceLink.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(links), 30)
	for _, m := range links {
		require.Contains(t, declared(t, m[2]), m[1], "docs/architecture.md links `%s` to %s, which does not declare it", m[1], m[2])
	}
	require.Equal(t, len(links), strings.Count(string(text), ".go)"), "a link to a Go file must name an identifier: [`Name`](../path/file.go)")
}

// declared returns the names of a file's top-level declarations.
func declared(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					names[s.Name.Name] = true
				}
			}
		}
	}
	return names
}

// arrow matches a line of the drawing of the rooms: from --> to & to.
var arrow = regexp.MustCompile(`(?m)^  ([a-z]+) --> ([a-z &]+)$`)

// TestArchitectureDrawsTheRooms compares the table and the drawing of architecture.md with the folders of internal/ and
// their imports.
func TestArchitectureDrawsTheRooms(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Rooms\n")
	section, _, _ = strings.Cut(section, "\n## ")
	drawn := map[string]bool{}
	for _, m := range arrow.FindAllStringSubmatch(section, -1) {
		for to := range strings.SplitSeq(m[2], " & ") {
			drawn[m[1]+" --> "+to] = true
		}
	}
	require.Equal(t, importsBetweenRooms(t), drawn, "docs/architecture.md#rooms draws other imports than the code has")

	rooms, err := filepath.Glob("../internal/*/doc.go")
	require.NoError(t, err)
	require.NotEmpty(t, rooms)
	for _, doc := range rooms {
		room := filepath.Base(filepath.Dir(doc))
		require.Contains(t, section, "\n| `internal/"+room+"` | ", "docs/architecture.md#rooms lacks the room %s", room)
	}
}

var internalImport = regexp.MustCompile(`"github\.com/countersign-dev/countersign/internal/([a-z]+)`)

// importsBetweenRooms returns every import of one room by another, tests left out, as "from --> to".
func importsBetweenRooms(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir("../internal", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := strings.Split(filepath.ToSlash(path), "/")[2]
		for _, i := range parsed.Imports {
			if m := internalImport.FindStringSubmatch(i.Path.Value); m != nil && m[1] != from {
				found[from+" --> "+m[1]] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	return found
}
