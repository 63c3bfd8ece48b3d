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

	"github.com/countersign-dev/countersign/internal/chaos"
	"github.com/countersign-dev/countersign/internal/rig"
	"github.com/countersign-dev/countersign/workflows"
)

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
	dir, err := os.MkdirTemp("", "countersign-chaos-") // the user that Postgres runs as cannot enter what t.TempDir makes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	binary := filepath.Join(dir, "countersign")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../countersign")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	var said bytes.Buffer
	r, err := chaos.Run(t.Context(), chaos.Options{
		Rig:  rig.Options{Dir: filepath.Join(dir, "rig"), Binary: binary, Devstack: devstack, SearchAttributes: workflows.SearchAttributes()},
		Seed: 7, Lasts: 20 * time.Second, Clients: 6, Runs: runs, Out: io.MultiWriter(&said, t.Output()),
	})
	require.NoError(t, err, "%s", &said)
	require.Empty(t, r.Broken, "%s", &said)
	require.NotEmpty(t, r.Faults)
	require.NotEmpty(t, r.Facts.Decisions)
}
