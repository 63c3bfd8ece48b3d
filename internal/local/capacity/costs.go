// Package capacity computes what a load needs (cores, write-ahead log, disk, connections, pods) from the measured cost of each
// operation. It reads no clock, no database and no server: the same load and costs give the same plan.
package capacity

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// Names of the operations that a load consists of. Costs has one entry for each.
const (
	Decision  = "decision"
	Frame     = "frame"
	Session   = "session"
	Verify    = "verify"
	Challenge = "challenge"
	Hold      = "hold"
	Delivery  = "delivery"
)

// operations are in the order in which they are printed.
var operations = []string{Decision, Frame, Session, Verify, Challenge, Hold, Delivery}

// Costs are the measured costs of all operations and the memory of a process.
type Costs struct {
	Operations map[string]Cost `json:"operations"`
	Memory     Memory          `json:"memory"`
}

// Cost has the resources that one operation takes. The cost of a challenge or a hold is from its opening to its end and comes on top of the decision
// that opened it; that of a delivery comes on top of the decision that it reports.
type Cost struct {
	APICPU      float64            `json:"api_cpu_ms"`
	WorkerCPU   float64            `json:"worker_cpu_ms"`
	PostgresCPU float64            `json:"postgres_cpu_ms"`
	TemporalCPU float64            `json:"temporal_cpu_ms"`
	WALKB       float64            `json:"wal_kb"`
	Disk        map[string]float64 `json:"disk_bytes"` // by table, indexes included
	Actions     float64            `json:"temporal_actions"`
	Measured    Measured           `json:"measured"`
}

// Memory is that of one process of each kind.
type Memory struct {
	API    Resident `json:"api"`
	Worker Resident `json:"worker"`
}

// Resident is the most resident memory that a kind of process was measured with.
type Resident struct {
	MiB      float64  `json:"mib"`
	Measured Measured `json:"measured"`
}

// Measured says where a cost comes from, so that a reader can measure it again.
type Measured struct {
	What    string     `json:"what"` // the rows of the benchmark that it is computed from
	Machine string     `json:"machine"`
	Load    [2]float64 `json:"load_average"` // of the machine over a minute, before and after
	Version string     `json:"version"`      // commit or tag of the measured binary
	Command string     `json:"command"`
	At      time.Time  `json:"at"`
}

//go:embed costs.json
var embedded []byte

// Embedded returns the costs that this binary was built with.
func Embedded() (Costs, error) { return parse(embedded) }

// Read returns the costs in a file written by make bench. It returns an error for a file without a cost of each operation.
func Read(path string) (Costs, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Costs{}, err
	}
	return parse(text)
}

// parse also checks, because a cost below 0 or without a value would lower a plan silently.
func parse(text []byte) (Costs, error) {
	var c Costs
	if err := json.Unmarshal(text, &c); err != nil {
		return Costs{}, err
	}
	for _, name := range operations {
		x, ok := c.Operations[name]
		if !ok {
			return Costs{}, fmt.Errorf("operations.%s is missing: measure it with make bench", name)
		}
		figures := []float64{x.APICPU, x.WorkerCPU, x.PostgresCPU, x.TemporalCPU, x.WALKB, x.Actions}
		for _, bytes := range x.Disk {
			figures = append(figures, bytes)
		}
		if slices.Min(figures) < 0 {
			return Costs{}, fmt.Errorf("operations.%s has a cost below 0: measure it with make bench", name)
		}
	}
	if c.Memory.API.MiB <= 0 || c.Memory.Worker.MiB <= 0 {
		return Costs{}, fmt.Errorf("memory.api.mib and memory.worker.mib must be above 0: measure them with make bench")
	}
	return c, nil
}

// Write writes the costs as Read reads them.
func (c Costs) Write(path string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) // #nosec G306 -- a file of the repository
}

// Plus adds another cost. The origin of c stays.
func (c Cost) Plus(o Cost) Cost { return c.combined(o, 1) }

// Less subtracts n times another cost. No figure falls below 0: a difference of two measurements may, by their noise.
func (c Cost) Less(n float64, o Cost) Cost { return c.combined(o, -n) }

func (c Cost) combined(o Cost, by float64) Cost {
	add := func(a, b float64) float64 { return math.Max(0, a+by*b) }
	sum := Cost{
		APICPU: add(c.APICPU, o.APICPU), WorkerCPU: add(c.WorkerCPU, o.WorkerCPU), PostgresCPU: add(c.PostgresCPU, o.PostgresCPU),
		TemporalCPU: add(c.TemporalCPU, o.TemporalCPU), WALKB: add(c.WALKB, o.WALKB), Actions: add(c.Actions, o.Actions),
		Disk: maps.Clone(c.Disk), Measured: c.Measured,
	}
	if sum.Disk == nil {
		sum.Disk = map[string]float64{}
	}
	for table, bytes := range o.Disk {
		sum.Disk[table] = add(sum.Disk[table], bytes)
	}
	return sum
}

// actionEvents are the events of a workflow's history that Temporal's documentation counts as actions:
// https://docs.temporal.io/cloud/actions. A marker records a local activity.
var actionEvents = []string{
	"WORKFLOW_EXECUTION_STARTED", "WORKFLOW_EXECUTION_UPDATE_ACCEPTED", "WORKFLOW_EXECUTION_SIGNALED", "TIMER_STARTED",
	"ACTIVITY_TASK_SCHEDULED", "MARKER_RECORDED", "UPSERT_WORKFLOW_SEARCH_ATTRIBUTES", "START_CHILD_WORKFLOW_EXECUTION_INITIATED",
}

// Actions counts the actions in a workflow's history, in the JSON that temporal workflow show prints.
func Actions(history []byte) (int, error) {
	var h struct {
		Events []struct {
			EventType string `json:"eventType"`
		} `json:"events"`
	}
	if err := json.Unmarshal(history, &h); err != nil {
		return 0, err
	}
	n := 0
	for _, e := range h.Events {
		if slices.Contains(actionEvents, strings.TrimPrefix(e.EventType, "EVENT_TYPE_")) {
			n++
		}
	}
	return n, nil
}
