package integration_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSDKsPage runs every command of docs/sdks.md in an empty folder.
func TestSDKsPage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	clone := freshClone(t)
	output := runShell(t, t.TempDir(), codeBlocks(t, "../docs/sdks.md", "sh"), "COUNTERSIGN="+clone)
	for _, want := range []string{"CommonJS function", "ES module function", "Go true <nil>"} {
		require.Contains(t, output, want)
	}
}

// freshClone returns a copy of the SDKs without built files. npm pack builds there, so that tests that use sdk/js/dist at the same
// time are not disturbed. Downloaded packages are shared.
func freshClone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	runShell(t, "..", `tar --exclude=node_modules --exclude=dist --exclude=.build -cf - sdk | tar -xf - -C "$CLONE"
		if [ -d sdk/js/node_modules ]; then ln -s "$PWD/sdk/js/node_modules" "$CLONE/sdk/js/node_modules"; fi`, "CLONE="+dir)
	return dir
}
