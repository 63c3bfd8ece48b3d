package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// python is the virtual environment that make test-python makes.
const python = "../bin/python/bin/python"

// TestPythonSDKLive runs the live tests of the Python package by its own pytest fixtures, the program of its README among them.
func TestPythonSDKLive(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(python); err != nil {
		t.Skip("make test-python has not installed the packages of the Python tests")
	}
	program, err := filepath.Abs(python)
	require.NoError(t, err)
	w := newSandbox(t)
	environment := append(os.Environ(), "COUNTERSIGN_URL="+shared.baseURL, "COUNTERSIGN_KEY="+w.issue(t, models.ScopeAdmin, nil), "PYTHONPATH=src",
		"PYTHONDONTWRITEBYTECODE=1")

	run := exec.CommandContext(t.Context(), program, "-m", "pytest", "-v", "tests/test_live.py")
	run.Dir, run.Env = "../sdk/python", environment
	output, err := run.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "SKIP")
}
