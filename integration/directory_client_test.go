package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// The Python package scim2-tester reads what the service says of itself, and creates, reads, changes and deletes users and groups by it.
func TestDirectoryPassesTheForeignTester(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs(filepath.Join("..", "bin", "scim", "bin", "python"))
	require.NoError(t, err)
	if _, err := os.Stat(python); err != nil {
		t.Skip("scim2-tester is missing: make test installs it if there is Python 3.10 or later")
	}
	w := newSandbox(t)
	d := newDirectory(t, w, grantOf(w, "leads", models.RoleReviewer))
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "scim", "check.py"), shared.Directories.URL(), d.token).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}
