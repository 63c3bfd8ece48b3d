package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/chaos"
	"github.com/countersign-dev/countersign/proving/harness"
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

// binary is the countersign binary of all tests of this package, in a folder that TestMain removes.
var binary struct {
	once      sync.Once
	dir, path string
	err       error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		_ = os.RemoveAll(binary.dir)
	}
	os.Exit(code)
}

// built returns the path of the countersign binary, which the first test that needs it builds.
func built(t *testing.T) string {
	t.Helper()
	binary.once.Do(func() { binary.path, binary.err = build() })
	require.NoError(t, binary.err)
	return binary.path
}

func build() (path string, err error) {
	if binary.dir, err = os.MkdirTemp("", "countersign-chaos-"); err != nil {
		return "", err
	}
	path = filepath.Join(binary.dir, "countersign")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", path, "./cmd/countersign").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}

// The test starts servers of its own, because other tests share theirs. make chaos runs for longer.
func TestChaosFindsNoViolation(t *testing.T) {
	var out bytes.Buffer
	o := rigged(t, &out)
	o.Lasts = 20 * time.Second
	r, err := chaos.Run(t.Context(), o)
	require.NoError(t, err, "%s", &out)
	require.Empty(t, r.Violations, "%s", &out)
	require.NotEmpty(t, r.Faults)
	require.NotEmpty(t, r.Facts.Decisions)
}

// rigged returns the options of a run on servers of its own, which prints to out. It skips the test without a Temporal server, and with -short.
func rigged(t *testing.T, out *bytes.Buffer) chaos.Options {
	t.Helper()
	if testing.Short() {
		t.Skip("starts and breaks servers")
	}
	devstack, err := filepath.Abs("../../../bin/devstack")
	require.NoError(t, err)
	if _, err := os.Stat(devstack); err != nil {
		t.Skip("the Temporal server is not built: make devstack")
	}
	t.Parallel()
	return chaos.Options{
		Rig:  harness.Options{Dir: filepath.Join(folder(t), "rig"), Binary: built(t), Devstack: devstack, SearchAttributes: workflows.SearchAttributes()},
		Seed: 7, Clients: 6, CountWorkflows: countWorkflows, Out: io.MultiWriter(out, t.Output()),
	}
}
