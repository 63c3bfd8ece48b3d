package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/chaos"
)

// One restore to a point, and one of a single tenant. make restore-drill rehearses every disaster.
func TestRestoreLosesNothingBeforeThePoint(t *testing.T) {
	var out bytes.Buffer
	results, err := chaos.Drill(t.Context(), chaos.DrillOptions{
		Options: rigged(t, &out), Load: 2 * time.Second, Disasters: []chaos.Disaster{chaos.Disasters[0], chaos.Disasters[len(chaos.Disasters)-1]}, Upkeep: runUpkeep,
	})
	require.NoError(t, err, "%s", &out)
	require.Len(t, results, 2)
	printRestored(&out, results[0])
	require.Empty(t, results[0].Violations, "%s", &out)
	require.Empty(t, results[1].Violations, "%s", &out)
	require.NotZero(t, results[0].Kept, "%s", &out)
	require.NotZero(t, results[0].Lost["decisions"], "decisions after the point: %s", &out)
	require.Contains(t, out.String(), "countersign audit verify")
}
