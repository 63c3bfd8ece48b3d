package bench_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/capacity"
	"github.com/countersign-dev/countersign/proving/bench"
)

// A run of one part replaces the costs that it measured, and subtracts the decisions that were made meanwhile.
func TestMeasuredRowsBecomeCosts(t *testing.T) {
	t.Parallel()
	before := capacity.Costs{Operations: map[string]capacity.Cost{
		capacity.Verify:    {APICPU: 9, Measured: capacity.Measured{Command: "earlier"}},
		capacity.Challenge: {Actions: 5},
	}, Memory: capacity.Memory{API: capacity.Resident{MiB: 50}, Worker: capacity.Resident{MiB: 200}}}
	r := bench.Report{Version: "abc", Rows: []bench.Row{
		{What: "authorize, allow and proof", How: "8 clients", Done: 10, APICPU: 100},
		{What: "authorize, allow and proof", How: "300/s open", Done: 10, APICPU: 1, WALKB: 10, APIRSS: 100, WorkerRSS: 80, Disk: map[string]float64{"proofs": 500}},
		{What: "evidence frame", How: "300/s open", Done: 10, Disk: map[string]float64{"frames": 600, "sessions": 9000}},
		{What: "a session, stored", Done: 256, Disk: map[string]float64{"sessions": 2000}},
		{What: "open a challenge", How: "all at once", Done: 100, APICPU: 2, WALKB: 12, Disk: map[string]float64{"challenges": 300}},
		{What: "complete a challenge", How: "20/s open", Done: 100, Meanwhile: 500, APICPU: 8, WALKB: 70, Disk: map[string]float64{"proofs": 3000}},
		{What: "decision to first attempt", How: "100/s", Done: 200, Meanwhile: 100, APICPU: .4, WorkerCPU: 3, WALKB: 8},
	}}
	c := r.Costs(before, "make bench PART=authorize")
	require.Equal(t, "earlier", c.Operations[capacity.Verify].Measured.Command)
	require.NotContains(t, c.Operations, capacity.Hold)
	decision, challenge, delivery := c.Operations[capacity.Decision], c.Operations[capacity.Challenge], c.Operations[capacity.Delivery]
	require.InDelta(t, 1, decision.APICPU, 1e-9)
	require.Equal(t, "abc", decision.Measured.Version)
	require.Equal(t, "make bench PART=authorize", decision.Measured.Command)
	require.InDelta(t, 2+(8-5)-1, challenge.APICPU, 1e-9)
	require.InDelta(t, 12+(70-50)-10, challenge.WALKB, 1e-9)
	require.InDelta(t, 5, challenge.Actions, 0)
	require.InDelta(t, 300, challenge.Disk["challenges"], 1e-9)
	require.InDelta(t, (3000-5*500)-500, challenge.Disk["proofs"], 1e-9)
	require.Zero(t, delivery.APICPU, "noise does not make a cost negative")
	require.InDelta(t, 3, delivery.WorkerCPU, 1e-9)
	require.InDelta(t, 3, delivery.WALKB, 1e-9)
	require.Equal(t, map[string]float64{"frames": 600}, c.Operations[capacity.Frame].Disk)
	require.Equal(t, map[string]float64{"sessions": 2000}, c.Operations[capacity.Session].Disk)
	require.InDelta(t, 100, c.Memory.API.MiB, 0)
	require.InDelta(t, 200, c.Memory.Worker.MiB, 0)

	streams := bench.Report{Version: "def", Rows: []bench.Row{{What: "decision to message", How: "20/s to 1000 streams", Done: 10, APIRSS: 90, WorkerRSS: 60}}}
	c = streams.Costs(c, "make bench PART=streams")
	require.InDelta(t, 90, c.Memory.API.MiB, 0, "the part that needs the most replaces what was measured before")
	require.Equal(t, "def", c.Memory.API.Measured.Version)
	c = r.Costs(c, "make bench PART=authorize")
	require.InDelta(t, 100, c.Memory.API.MiB, 0)
	require.Equal(t, "abc", c.Memory.API.Measured.Version)
}
