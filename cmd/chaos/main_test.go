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

// folder is the test's own, and one that the user that Postgres runs as can enter: it cannot enter what t.TempDir makes.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "countersign-chaos-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// built is the countersign binary in a folder.
func built(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "countersign")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../countersign").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// A short run on servers of its own: the ones that other tests share are not to be killed. make chaos runs longer ones.
func TestAShortSeedBreaksNoPromise(t *testing.T) {
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

	var said bytes.Buffer
	r, err := chaos.Run(t.Context(), chaos.Options{
		Rig:  harness.Options{Dir: filepath.Join(dir, "rig"), Binary: binary, Devstack: devstack, SearchAttributes: workflows.SearchAttributes()},
		Seed: 7, Lasts: 20 * time.Second, Clients: 6, Runs: runs, Out: io.MultiWriter(&said, t.Output()),
	})
	require.NoError(t, err, "%s", &said)
	require.Empty(t, r.Broken, "%s", &said)
	require.NotEmpty(t, r.Faults)
	require.NotEmpty(t, r.Facts.Decisions)
}
