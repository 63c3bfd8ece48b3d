package gobuild_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/gobuild"
)

// module writes a module without dependencies and returns its folder.
func module(t *testing.T, code string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/hello\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "word"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "word", "word.go"), []byte("package word\n\nconst Word = \"hello\"\n"), 0o600))
	return dir
}

const hello = "package main\n\nimport \"example.org/hello/word\"\n\nfunc main() { print(word.Word) }\n"

func TestBuildReportsItsProgress(t *testing.T) {
	t.Parallel()
	dir := module(t, hello)
	spec := gobuild.Spec{Dir: dir, Package: ".", Out: filepath.Join(dir, "bin", "hello"), Background: true}
	require.False(t, gobuild.Current(dir, spec.Out))
	var seen []gobuild.Progress
	require.NoError(t, gobuild.Build(t.Context(), spec, func(p gobuild.Progress) { seen = append(seen, p) }))
	out, err := exec.Command(spec.Out).CombinedOutput() // #nosec G204 -- just built
	require.NoError(t, err)
	require.Equal(t, "hello", string(out))
	require.Equal(t, gobuild.Listing, seen[0].Step)
	last := seen[len(seen)-1]
	require.Equal(t, last.Total, last.Done)
	require.Equal(t, "building, 100 %", last.String())
	for i, p := range seen[1:] {
		require.GreaterOrEqual(t, p.Done, seen[i].Done)
		require.LessOrEqual(t, p.Done, p.Total)
	}
	require.True(t, gobuild.Current(dir, spec.Out))
	built, later := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	for _, changed := range []string{"main.go", "word/word.go"} {
		require.NoError(t, os.Chtimes(filepath.Join(dir, changed), later, later))
		require.False(t, gobuild.Current(dir, spec.Out), changed)
		require.NoError(t, os.Chtimes(filepath.Join(dir, changed), built, built))
	}
	require.NoFileExists(t, filepath.Join(dir, "bin", "hello.new"))
}

func TestFailedBuildReturnsTheCompilersWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ code, words string }{
		"a type error":        {"package main\n\nfunc main() { var n int = \"text\" }\n", "main.go:3"},
		"a missing package":   {"package main\n\nimport _ \"example.org/hello/none\"\n\nfunc main() {}\n", "example.org/hello/none"},
		"a file that is none": {"pakage main\n", "main.go:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, c.code)
			out := filepath.Join(dir, "hello")
			require.NoError(t, os.WriteFile(out, []byte("the previous build"), 0o600))
			err := gobuild.Build(t.Context(), gobuild.Spec{Dir: dir, Package: ".", Out: out}, func(gobuild.Progress) {})
			require.ErrorContains(t, err, c.words)
			kept, err := os.ReadFile(out) // #nosec G304 -- of the test
			require.NoError(t, err)
			require.Equal(t, "the previous build", string(kept))
		})
	}
}

func TestBuildsOfOneProgramTakeTurns(t *testing.T) {
	t.Parallel()
	dir := module(t, hello)
	spec := gobuild.Spec{Dir: dir, Package: ".", Out: filepath.Join(dir, "hello")}
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	waiting := make(chan struct{})
	begun := false
	require.NoError(t, gobuild.Build(t.Context(), spec, func(gobuild.Progress) {
		if begun {
			return
		}
		begun = true
		go func() {
			second <- gobuild.Build(ctx, spec, func(p gobuild.Progress) {
				if p.Step == gobuild.Waiting {
					close(waiting)
				}
			})
		}()
		<-waiting
		cancel()
		require.ErrorIs(t, <-second, context.Canceled, "a wait can be interrupted")
	}))
}

func TestInterruptedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := module(t, hello)
	ctx, cancel := context.WithCancel(t.Context())
	err := gobuild.Build(ctx, gobuild.Spec{Dir: dir, Package: ".", Out: filepath.Join(dir, "bin", "hello")}, func(gobuild.Progress) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	files, err := filepath.Glob(filepath.Join(dir, "bin", "[^.]*"))
	require.NoError(t, err)
	require.Empty(t, files)
}
