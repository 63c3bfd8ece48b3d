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

// One restore to a point. make restore-drill rehearses every disaster.
func TestRestoreLosesNothingBeforeThePoint(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and restores servers")
	}
	devstack, err := filepath.Abs("../../../bin/devstack")
	require.NoError(t, err)
	if _, err := os.Stat(devstack); err != nil {
		t.Skip("the Temporal server is not built: make devstack")
	}
	t.Parallel()
	dir := folder(t)
	var out bytes.Buffer
	results, err := chaos.Drill(t.Context(), chaos.DrillOptions{
		Options: chaos.Options{
			Rig:  harness.Options{Dir: filepath.Join(dir, "rig"), Binary: built(t), Devstack: devstack, SearchAttributes: workflows.SearchAttributes()},
			Seed: 7, Clients: 6, CountWorkflows: countWorkflows, Out: io.MultiWriter(&out, t.Output()),
		},
		Load: 2 * time.Second, Disasters: chaos.Disasters[:1], Upkeep: runUpkeep,
	})
	require.NoError(t, err, "%s", &out)
	require.Len(t, results, 1)
	printRestored(&out, results[0])
	require.Empty(t, results[0].Violations, "%s", &out)
	require.NotZero(t, results[0].Kept, "%s", &out)
	require.NotZero(t, results[0].Lost["decisions"], "decisions after the point: %s", &out)
	require.Contains(t, out.String(), "countersign audit verify")
}
