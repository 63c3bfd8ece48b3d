package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write creates a file with one line per argument and returns its path.
func write(t *testing.T, name string, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	return file
}

func TestGlossaryFindsWordsInProse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		line string
		want string // part of the finding; empty for none
	}{
		"comment":                 {"a.go", "// The limiter answers.", `"answers": returns`},
		"string":                  {"a.go", `var s = "Temporal is away"`, `"away": unavailable`},
		"identifier":              {"a.go", "var away = 1", ""},
		"part of a word":          {"a.go", "// The outdoors are a storyboard.", ""},
		"capital letter":          {"a.go", "// Nobody calls it.", `"Nobody": the caller`},
		"document":                {"a.md", "It is told of an event.", `"told": receives`},
		"document without a word": {"a.md", "It receives an event.", ""},
		"file of another kind":    {"a.json", "it is told", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := []string{c.line}
			if strings.HasSuffix(c.file, ".go") {
				lines = []string{"package a", c.line}
			}
			_, found, err := glossary([]string{write(t, c.file, lines...)})
			require.NoError(t, err)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].text, c.want)
			require.Equal(t, len(lines), found[0].line)
		})
	}
}

func TestCitationsFindsAbsentDocuments(t *testing.T) {
	t.Parallel()
	file := write(t, "a.go", "package a", "// See SPEC.md section 3.", "// See docs/contract.md.", "// specific")
	_, found, err := citations([]string{file})
	require.NoError(t, err)
	require.Equal(t, []finding{{file, 2, "SPEC.md"}}, found)
}

func TestRoomOf(t *testing.T) {
	t.Parallel()
	for pkg, want := range map[string]string{
		"internal/authz/hold": "internal/authz", "internal/authz": "internal/authz", "workflows": "workflows", "workflows/x": "workflows",
	} {
		require.Equal(t, want, roomOf(pkg), pkg)
	}
}

func TestParametersFindsLongParameterLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		want int
	}{
		"six":           {"func f(a, b, c, d, e, g int) {}", 0},
		"seven":         {"func f(a, b, c, d, e, g, h int) {}", 1},
		"literal":       {"var f = func(a, b, c, d, e, g, h int) {}", 1},
		"method":        {"func (t T) f(a, b int, c, d string, e, g, h bool) {}", 1},
		"statement":     {"func f(ctx C, q *pg.Q, a, b, c, d, e int) {}", 0},
		"function type": {"type F func(a, b, c, d, e, g, h int)", 0},
		"fuzz target":   {"var f = func(t *testing.T, a, b, c, d, e, g, h int) {}", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found, err := parameters([]string{write(t, "a.go", "package a", c.line)})
			require.NoError(t, err)
			require.Len(t, found, c.want)
		})
	}
}

func TestGoodSubject(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]bool{
		"store: retry transactions on stale prepared statements": true,
		"bench, demo: call the service through sdk/go":           true,
		"Store: retry":                      false,
		"retry transactions":                false,
		"store:retry":                       false,
		"store: " + strings.Repeat("x", 66): false,
	} {
		require.Equal(t, want, goodSubject(subject), subject)
	}
}
