package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The events are those that go test -json prints: a panic of a goroutine belongs to a test that has passed.
func TestUnfinishedShowsWhatAProcessPrintedLast(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"panic": {"the process of p ended before its tests. It printed:\npanic: boom\n", "p.TestB.func1()", "FAIL\tp"},
		"exit":  {"the process of p ended before its tests. It printed:\n=== RUN   TestA\n", "FAIL\tp"},
		"pass":  nil,
		"fail":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(filepath.Join("testdata", name+".json"))
			require.NoError(t, err)
			defer func() { _ = f.Close() }()
			got, err := unfinished(f)
			require.NoError(t, err)
			if want == nil {
				require.Empty(t, got)
			}
			for _, part := range want {
				require.Contains(t, got, part)
			}
		})
	}
}

func TestUnfinishedKeepsFewLines(t *testing.T) {
	t.Parallel()
	e := ending{running: map[string]bool{}}
	print := func(lines int) {
		for range lines {
			e.see(testEvent{Action: "output", Output: "line\n"})
		}
	}
	print(lastLines + 5)
	require.Len(t, e.lines, lastLines)
	e.see(testEvent{Action: "output", Output: "fatal error: all goroutines are asleep - deadlock!\n"})
	print(stackLines + 5)
	require.Len(t, e.lines, stackLines)
	require.True(t, strings.HasPrefix(e.lines[0], "fatal error: "), "the start of the stack is kept")
	e.see(testEvent{Action: "run", Test: "TestB"})
	print(1)
	require.Equal(t, "line\n", e.lines[len(e.lines)-1], "a test printed the message, and the process went on")
}

func TestUnfinishedKeepsTheStacksOfTests(t *testing.T) {
	t.Parallel()
	e := ending{running: map[string]bool{}}
	print := func(text string) {
		for line := range strings.Lines(text) {
			e.see(testEvent{Action: "output", Output: line})
		}
	}
	print("panic: test timed out after 30m0s\n\n")
	print(strings.Repeat("goroutine 7 [select]:\npool.go:1\n\n", stackLines))
	print("goroutine 9 [IO wait]:\nhttp.go:1\npeople_test.go:12 +0x1\n\n")
	print(strings.Repeat("goroutine 8 [select]:\npool.go:1\n\n", stackLines))
	require.Contains(t, e.text(), "goroutine 9 [IO wait]:\nhttp.go:1\npeople_test.go:12")
	require.NotContains(t, e.text(), "goroutine 8")
}
