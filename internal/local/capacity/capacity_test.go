package capacity_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/local/capacity"
)

const day = 24 * time.Hour

func embedded(t require.TestingT) capacity.Costs {
	c, err := capacity.Embedded()
	require.NoError(t, err)
	return c
}

func load(decisions float64) capacity.Load {
	return capacity.Load{
		Decisions: decisions, Challenges: .01, Holds: .001, Frames: 4, PerSession: 40, Verifies: 1, Deliveries: 1, Kept: 90 * day, KeptFrames: 90 * day, KeptSessions: 180 * day, KeptDigests: 365 * day,
		KeptDeliveries: 30 * day, Age: 365 * day, Peak: 2, Machines: 3, APICPU: 1, WorkerCPU: .5, PostgresCores: 16, Connections: 16,
	}
}

func TestRatesSharesAndTimesAreParsed(t *testing.T) {
	t.Parallel()
	day := func(text string) (float64, error) {
		d, err := capacity.Days(text)
		return d.Hours(), err
	}
	for _, x := range []struct {
		what, text string
		parse      func(string) (float64, error)
		want       float64 // below 0: an error
	}{
		{"rate", "16700/s", capacity.Rate, 16700},
		{"rate", "1M/min", capacity.Rate, 1e6 / 60.},
		{"rate", "1.5k/h", capacity.Rate, 1500 / 3600.},
		{"rate", "86.4M/d", capacity.Rate, 1000},
		{"rate", "1G/s", capacity.Rate, 1e9},
		{"rate", "1.1G/s", capacity.Rate, -1},
		{"rate", "100", capacity.Rate, -1},
		{"rate", "0/s", capacity.Rate, -1},
		{"rate", "-1/s", capacity.Rate, -1},
		{"rate", "NaN/s", capacity.Rate, -1},
		{"rate", "1e3/s", capacity.Rate, -1},
		{"rate", "1/week", capacity.Rate, -1},
		{"rate", "1/s/s", capacity.Rate, -1},
		{"rate", "/s", capacity.Rate, -1},
		{"share", "1%", capacity.Share, .01},
		{"share", "0.01", capacity.Share, .01},
		{"share", "0%", capacity.Share, 0},
		{"share", "100%", capacity.Share, 1},
		{"share", "101%", capacity.Share, -1},
		{"share", "-1%", capacity.Share, -1},
		{"share", "1 %", capacity.Share, -1},
		{"share", "%", capacity.Share, -1},
		{"share", "", capacity.Share, -1},
		{"time", "90d", day, 2160},
		{"time", "36h", day, 36},
		{"time", "0.5d", day, 12},
		{"time", "0d", day, -1},
		{"time", "30m", day, -1},
		{"time", "90", day, -1},
		{"time", "36501d", day, -1},
		{"time", "never", day, -1},
	} {
		t.Run(fmt.Sprintf("%s %q", x.what, x.text), func(t *testing.T) {
			t.Parallel()
			got, err := x.parse(x.text)
			if x.want < 0 {
				require.ErrorContains(t, err, fmt.Sprintf("is %q: want a ", x.text))
				return
			}
			require.NoError(t, err)
			require.InEpsilon(t, x.want+1, got+1, 1e-9)
		})
	}
}

// The costs of this build have all that a plan needs, and say where they were measured.
func TestEmbeddedCostsAreMeasured(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	for name, x := range c.Operations {
		for _, text := range []string{x.Measured.What, x.Measured.Machine, x.Measured.Version, x.Measured.Command} {
			require.NotEmpty(t, text, name)
		}
		require.NotZero(t, x.Measured.At, name)
		require.Positive(t, x.APICPU+x.WorkerCPU+x.Disk["sessions"], name)
	}
	require.NotEmpty(t, c.Memory.API.Measured.What)
	require.NotEmpty(t, c.Memory.Worker.Measured.What)
	for name, history := range map[string]string{capacity.Challenge: "challenge-completed", capacity.Hold: "hold-approved"} {
		text, err := os.ReadFile(filepath.Join("../../../workflows/testdata/histories/v1", history+".json"))
		require.NoError(t, err)
		n, err := capacity.Actions(text)
		require.NoError(t, err)
		require.InDelta(t, n, c.Operations[name].Actions, 0, "run make bench PART=completion")
	}
}

// The arithmetic of the table leads to the figure that is printed.
func TestEveryFigureIsTheSumOfItsTerms(t *testing.T) {
	t.Parallel()
	p := capacity.New(load(16_700), embedded(t))
	for _, f := range p.Figures {
		require.Positive(t, f.Planned, f.ID)
		require.GreaterOrEqual(t, f.Planned, f.Average, f.ID)
		require.NotEmpty(t, f.How, f.ID)
		if len(f.Terms) == 0 {
			continue
		}
		sum := 0.
		for _, x := range f.Terms {
			sum += x.Result
		}
		require.InEpsilon(t, f.Average, sum, 1e-9, f.ID)
		require.InEpsilon(t, f.Planned, f.Average*f.Times, 1e-9, f.ID)
	}
}

func TestCostsTimesRatesAreKnownByHand(t *testing.T) {
	t.Parallel()
	c := capacity.Costs{Memory: capacity.Memory{API: capacity.Resident{MiB: 100}, Worker: capacity.Resident{MiB: 130}}, Operations: map[string]capacity.Cost{
		capacity.Decision:  {APICPU: 1, PostgresCPU: 2, WALKB: 10, Disk: map[string]float64{"authorizations": 1000, "audit_chain": 100}},
		capacity.Challenge: {WorkerCPU: 50, Actions: 5},
	}}
	p := capacity.New(load(1000), c)
	got := map[string]capacity.Figure{}
	for _, f := range p.Figures {
		got[f.ID] = f
	}
	for id, want := range map[string][2]float64{
		"api_cores":        {1, 2},
		"postgres_cores":   {2, 4},
		"worker_cores":     {.5, 1},
		"wal":              {10.24, 20.48},
		"temporal_actions": {50, 100},
		"disk":             {10_929.6, 13_662}, // (1000 B x 90 d + 100 B x 365 d) x 86,400,000 decisions a day
		"api_pods":         {3, 5},             // 2 and 3 pods, plus what one machine of three carries
		"worker_pods":      {3, 5},
		"connections":      {148, 212}, // (3 + 3 + 2) x 16 + 20, (5 + 5 + 2) x 16 + 20
		"postgres_servers": {1, 1},
	} {
		require.InDelta(t, want[0], got[id].Average, 1e-6, id)
		require.InDelta(t, want[1], got[id].Planned, 1e-6, id)
	}
	require.Equal(t, capacity.Pods{
		API: capacity.Replicas{MilliCPU: 1000, Min: 3, Max: 5}, Worker: capacity.Replicas{MilliCPU: 500, Min: 3, Max: 5}, MemoryRequest: 192, MemoryLimit: 384,
		GoMemory: 336,
	}, p.Pods)
}

// raises are the changes of a load that may never lower a figure.
var raises = map[string]func(*capacity.Load, float64){
	"decisions":            func(l *capacity.Load, by float64) { l.Decisions *= by },
	"challenges":           func(l *capacity.Load, by float64) { l.Challenges *= by },
	"holds":                func(l *capacity.Load, by float64) { l.Holds *= by },
	"frames":               func(l *capacity.Load, by float64) { l.Frames *= by },
	"verifies":             func(l *capacity.Load, by float64) { l.Verifies *= by },
	"deliveries":           func(l *capacity.Load, by float64) { l.Deliveries *= by },
	"retention":            func(l *capacity.Load, by float64) { l.Kept = time.Duration(float64(l.Kept) * by) },
	"frames' retention":    func(l *capacity.Load, by float64) { l.KeptFrames = time.Duration(float64(l.KeptFrames) * by) },
	"deliveries retention": func(l *capacity.Load, by float64) { l.KeptDeliveries = time.Duration(float64(l.KeptDeliveries) * by) },
	"age":                  func(l *capacity.Load, by float64) { l.Age = time.Duration(float64(l.Age) * by) },
	"sessions' retention":  func(l *capacity.Load, by float64) { l.KeptSessions = time.Duration(float64(l.KeptSessions) * by) },
	"digests' retention":   func(l *capacity.Load, by float64) { l.KeptDigests = time.Duration(float64(l.KeptDigests) * by) },
	"peak":                 func(l *capacity.Load, by float64) { l.Peak *= by },
}

func TestMoreLoadNeverNeedsLess(t *testing.T) {
	t.Parallel()
	for name, raise := range raises {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				l := drawn(t)
				more := l
				raise(&more, rapid.SampledFrom([]float64{2, 1.001, 1 + rapid.Float64Range(0, 9).Draw(t, "by")}).Draw(t, "which"))
				costs := embedded(t)
				less, plan := capacity.New(l, costs), capacity.New(more, costs)
				for i, f := range less.Figures {
					// A billionth for the order of additions in floating point.
					require.GreaterOrEqual(t, plan.Figures[i].Average*(1+1e-9), f.Average, f.ID)
					require.GreaterOrEqual(t, plan.Figures[i].Planned*(1+1e-9), f.Planned, f.ID)
				}
			})
		})
	}
}

// A load that the flags accept.
func drawn(t *rapid.T) capacity.Load {
	some := func(from, to float64, what string) float64 { return rapid.Float64Range(from, to).Draw(t, what) }
	kept := func(what string) time.Duration {
		return time.Duration(rapid.IntRange(1, 24*3650).Draw(t, what)) * time.Hour
	}
	l := capacity.Load{
		Decisions: some(.001, 1e6, "decisions"), Challenges: some(0, .5, "challenges"), Holds: some(0, .5, "holds"), Frames: some(0, 100, "frames"),
		PerSession: some(1, 100, "frames of a session"), KeptSessions: kept("sessions"), KeptDigests: kept("digests"),
		Verifies: some(0, 10, "verifies"), Deliveries: some(0, 10, "deliveries"), Kept: kept("retention"), KeptFrames: kept("frames"),
		KeptDeliveries: kept("deliveries"), Age: kept("age"), Peak: some(1, 10, "peak"), Machines: rapid.IntRange(2, 100).Draw(t, "machines"),
		APICPU: some(.1, 8, "api"), WorkerCPU: some(.1, 8, "worker"), PostgresCores: some(1, 64, "postgres"), Connections: rapid.IntRange(1, 100).Draw(t, "connections"),
	}
	require.NoError(t, l.Check())
	return l
}

// After the loss of the machine with the most pods, the others still carry the peak at the utilization that the autoscaler aims for.
func TestTheLossOfAMachineLeavesEnoughPods(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawn(t)
		p := capacity.New(l, embedded(t))
		left := p.Pods.API.Max - (p.Pods.API.Max+l.Machines-1)/l.Machines
		require.GreaterOrEqual(t, float64(left)*l.APICPU*.7*(1+1e-9), p.Figures[0].Planned)
		require.GreaterOrEqual(t, p.Pods.API.Min, 2)
		require.GreaterOrEqual(t, p.Pods.Worker.Min, 2)
	})
}

func TestOutputNamesEveryCost(t *testing.T) {
	t.Parallel()
	p := capacity.New(load(16_700), embedded(t))
	var text, asJSON, values bytes.Buffer
	require.NoError(t, p.WriteText(&text))
	require.NoError(t, p.WriteJSON(&asJSON))
	require.NoError(t, p.WriteValues(&values))
	for _, f := range p.Figures {
		require.Contains(t, text.String(), f.What)
	}
	for _, x := range p.Costs.Operations {
		require.Contains(t, text.String(), x.Measured.String())
	}
	var back struct {
		Load    map[string]float64
		Figures []capacity.Figure
		Pods    capacity.Pods
	}
	require.NoError(t, json.Unmarshal(asJSON.Bytes(), &back))
	require.Equal(t, p.Figures, back.Figures)
	require.Equal(t, p.Pods, back.Pods)
	require.InDelta(t, (90 * day).Seconds(), back.Load["retention_seconds"], 0)
	require.Contains(t, values.String(), fmt.Sprintf("api: {cpu: 1000m, minReplicas: %d, maxReplicas: %d}\n", p.Pods.API.Min, p.Pods.API.Max))
}

func TestFilesOfCostsAreChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "costs.json")
	c := embedded(t)
	require.NoError(t, c.Write(path))
	back, err := capacity.Read(path)
	require.NoError(t, err)
	require.Equal(t, c, back)
	for name, spoil := range map[string]func(*capacity.Costs){
		"operations.hold is missing":          func(c *capacity.Costs) { delete(c.Operations, capacity.Hold) },
		"operations.frame has a cost below 0": func(c *capacity.Costs) { c.Operations[capacity.Frame] = capacity.Cost{WALKB: -1} },
		"operations.verify has a cost below 0": func(c *capacity.Costs) {
			c.Operations[capacity.Verify] = capacity.Cost{Disk: map[string]float64{"a": -1}}
		},
		"memory.api.mib and memory.worker.mib must be": func(c *capacity.Costs) { c.Memory.API.MiB = 0 },
	} {
		spoiled, err := capacity.Read(path)
		require.NoError(t, err)
		spoil(&spoiled)
		other := filepath.Join(t.TempDir(), "costs.json")
		require.NoError(t, spoiled.Write(other))
		_, err = capacity.Read(other)
		require.ErrorContains(t, err, name)
	}
}

func TestActionsAreCountedInAHistory(t *testing.T) {
	t.Parallel()
	n, err := capacity.Actions([]byte(`{"events": [{"eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED"}, {"eventType": "EVENT_TYPE_WORKFLOW_TASK_SCHEDULED"},
		{"eventType": "EVENT_TYPE_TIMER_STARTED"}, {"eventType": "EVENT_TYPE_MARKER_RECORDED"}, {"eventType": "EVENT_TYPE_TIMER_FIRED"}]}`))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = capacity.Actions([]byte("{"))
	require.Error(t, err)
}
