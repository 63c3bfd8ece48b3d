package mcp

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files of testdata have the methods of the published schemas (schema.ts of each revision, and of the extension of tasks).
func TestMethodsAreComplete(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, file := range []string{"2025-11-25", "2026-07-28", "tasks"} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		require.NoError(t, err)
		for _, name := range strings.Fields(string(text)) {
			named[name] = true
			require.Contains(t, methods, name, "the table has no entry for a method of %s", file)
		}
	}
	for name := range methods {
		require.True(t, named[name], "no schema has the method %s", name)
	}
	for _, name := range []string{"tools/call", "tools/list"} {
		require.NotEqual(t, relay, methods[name].fromClient, "%s must not pass unseen", name)
	}
}
