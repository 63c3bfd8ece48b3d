package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/chaos"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/workflows"
)

// Every fault of a machine of the cluster, and of a process of Temporal's, is injected once. make chaos HA=1 does it for longer.
func TestMachinesAreLostWithoutAViolation(t *testing.T) {
	if os.Getenv("COUNTERSIGN_TEST_HA") == "" {
		t.Skip("needs Patroni, etcd and HAProxy: make test-ha")
	}
	devstack, err := filepath.Abs("../../../bin/devstack")
	require.NoError(t, err)
	dir := folder(t)
	var out bytes.Buffer
	r, err := chaos.Run(t.Context(), chaos.Options{
		Rig:  harness.Options{Dir: filepath.Join(dir, "rig"), Binary: built(t), Devstack: devstack, SearchAttributes: workflows.SearchAttributes()},
		Seed: 7, Lasts: time.Second, Clients: 6, HA: true, CountWorkflows: countWorkflows, Out: io.MultiWriter(&out, t.Output()),
	})
	require.NoError(t, err, "%s", &out)
	require.Empty(t, r.Violations, "%s", &out)
	require.Len(t, r.Outages, 11)
	require.NotEmpty(t, r.Facts.Decisions)
}
