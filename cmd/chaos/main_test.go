package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/bench/chaos"
	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/workflows"
)

// folder creates a folder that every user may enter. Postgres runs as a user of its own, who cannot enter t.TempDir.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "countersign-chaos-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// built builds the countersign binary into a folder.
func built(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "countersign")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../countersign").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// The test starts servers of its own, because other tests share theirs. make chaos runs for longer.
func TestChaosFindsNoViolation(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills servers")
	}
	devstack, err := filepath.Abs("../../bin/devstack")
	require.NoError(t, err)
	if _, err := os.Stat(devstack); err != nil {
		t.Skip("the Temporal server is not built: make devstack")
	}
	dir := folder(t)
	binary := built(t, dir)

	var out bytes.Buffer
	r, err := chaos.Run(t.Context(), chaos.Options{
		Rig:  harness.Options{Dir: filepath.Join(dir, "rig"), Binary: binary, Devstack: devstack, SearchAttributes: workflows.SearchAttributes()},
		Seed: 7, Lasts: 20 * time.Second, Clients: 6, CountWorkflows: countWorkflows, Out: io.MultiWriter(&out, t.Output()),
	})
	require.NoError(t, err, "%s", &out)
	require.Empty(t, r.Violations, "%s", &out)
	require.NotEmpty(t, r.Faults)
	require.NotEmpty(t, r.Facts.Decisions)
}
