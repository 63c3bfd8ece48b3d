package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// python is the virtual environment that make test-python makes.
const python = "../bin/python/bin/python"

// TestPythonSDKLive runs the live tests of the Python package by its own pytest fixtures, and the program of its README.
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

	t.Run("fixtures", func(t *testing.T) {
		t.Parallel()
		run := exec.CommandContext(t.Context(), program, "-m", "pytest", "-v", "tests/test_live.py")
		run.Dir, run.Env = "../sdk/python", environment
		output, err := run.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.NotContains(t, string(output), "SKIP")
	})
	t.Run("readme", func(t *testing.T) {
		t.Parallel()
		readme, err := os.ReadFile("../sdk/python/README.md")
		require.NoError(t, err)
		example := regexp.MustCompile("(?s)<!-- example: proof -->\n```python\n(.*?)```").FindSubmatch(readme)
		require.NotNil(t, example)
		_, action := w.action(t, "enforce", object{"coverage_min": "none", "explicit_approval_required": true})
		run := exec.CommandContext(t.Context(), program, "-c", string(example[1]))
		run.Dir, run.Env = "../sdk/python", append(environment, "SUBJECT="+w.subject(t), "ACTION="+action)
		output, err := run.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Contains(t, string(output), "used True")
	})
}
