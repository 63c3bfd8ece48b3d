package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

const (
	// utilization is the share of its requested CPU that the autoscaler keeps a pod at (deploy/kubernetes).
	utilization = 0.7
	// otherConnections are those of migrations, backups, monitoring and an operator's psql.
	otherConnections = 20
	// diskFree is the size of a volume over its content: a fifth of it stays free for vacuum, indexes that are rebuilt and WAL.
	diskFree = 1.25
	// memoryStep is the MiB that requests of memory are rounded up to.
	memoryStep = 64
)

// Plan has the resources that a load needs.
type Plan struct {
	Load    Load     `json:"load"`
	Rates   []Rated  `json:"rates"`
	Figures []Figure `json:"figures"`
	Pods    Pods     `json:"pods"`
	Costs   Costs    `json:"costs"`
}

// Rated is an operation and how often it happens.
type Rated struct {
	Operation string  `json:"operation"`
	PerSecond float64 `json:"per_second"`
}

// Figure is one resource. Average is for the average rate, Planned for the peak or with room to grow. Terms add up to Average.
type Figure struct {
	ID      string  `json:"id"`
	What    string  `json:"what"`
	Unit    string  `json:"unit"`
	Average float64 `json:"average"`
	Times   float64 `json:"times"` // Planned over Average, if it is a factor; else 0
	Planned float64 `json:"planned"`
	How     string  `json:"how"`
	Terms   []Term  `json:"terms,omitempty"`
}

// Term is the part of a figure that one operation or one group of tables causes: Cost times Rate is Result, in the unit of the figure.
type Term struct {
	What     string  `json:"what"`
	Cost     float64 `json:"cost"`
	CostUnit string  `json:"cost_unit"`
	Rate     float64 `json:"rate"`
	RateUnit string  `json:"rate_unit"`
	Result   float64 `json:"result"`
}

// Pods are the figures of the Kubernetes manifests.
type Pods struct {
	API    Replicas `json:"api"`
	Worker Replicas `json:"worker"`
	// MemoryRequest, MemoryLimit and GoMemory are in MiB, for both kinds. GoMemory is for GOMEMLIMIT, an eighth below the limit: the Go
	// runtime collects harder before the limit ends the process.
	MemoryRequest int `json:"memory_request_mb"`
	MemoryLimit   int `json:"memory_limit_mb"`
	GoMemory      int `json:"go_memory_limit_mb"`
}

// Replicas is how one kind of pod is scaled. With any one of the machines lost, the rest of Min carries the average rate and the rest of
// Max the peak.
type Replicas struct {
	MilliCPU int `json:"cpu_request_millis"`
	Min      int `json:"min"`
	Max      int `json:"max"`
}

// New computes the plan of a load. The load must have passed Check.
func New(l Load, c Costs) Plan {
	p := Plan{Load: l, Costs: c}
	rates := map[string]float64{
		Decision: l.Decisions, Frame: l.Decisions * l.Frames, Session: l.Decisions * l.Frames / l.PerSession, Verify: l.Decisions * l.Verifies,
		Challenge: l.Decisions * l.Challenges, Hold: l.Decisions * l.Holds, Delivery: l.Decisions * l.Deliveries,
	}
	for _, name := range operations {
		p.Rates = append(p.Rates, Rated{name, rates[name]})
	}
	cpu := func(id, what string, of func(Cost) float64) Figure {
		return p.sum(Figure{ID: id, What: what, Unit: "cores", Times: l.Peak, How: "the peak is --peak times the average"}, "ms", 1e-3, of)
	}
	api := cpu("api_cores", "CPU of the API", func(c Cost) float64 { return c.APICPU })
	worker := cpu("worker_cores", "CPU of the worker", func(c Cost) float64 { return c.WorkerCPU })
	postgres := cpu("postgres_cores", "CPU of Postgres", func(c Cost) float64 { return c.PostgresCPU })
	temporal := cpu("temporal_cores", "CPU of Temporal", func(c Cost) float64 { return c.TemporalCPU })
	wal := p.sum(Figure{ID: "wal", What: "write-ahead log", Unit: "MB/s", Times: l.Peak, How: "the peak is --peak times the average"}, "kB", 1.024e-3,
		func(c Cost) float64 { return c.WALKB })
	actions := p.sum(Figure{ID: "temporal_actions", What: "Temporal actions", Unit: "actions/s", Times: l.Peak,
		How: "without webhook endpoints, which have one workflow each that sends in batches"}, "actions", 1, func(c Cost) float64 { return c.Actions })
	p.Figures = append(p.Figures, api, worker, postgres, temporal, wal, actions, p.disk())
	p.Pods = pods(l, c, api.Average, worker.Average)
	p.Figures = append(p.Figures, p.replicas("api_pods", "API pods", api, p.Pods.API), p.replicas("worker_pods", "worker pods", worker, p.Pods.Worker),
		p.connections(), p.servers(postgres))
	return p
}

// sum fills a figure whose terms are the operations. by converts cost times rate to the unit of the figure.
func (p Plan) sum(f Figure, unit string, by float64, of func(Cost) float64) Figure {
	for _, r := range p.Rates {
		cost := of(p.Costs.Operations[r.Operation])
		t := Term{What: r.Operation, Cost: cost, CostUnit: unit, Rate: r.PerSecond, RateUnit: "/s", Result: cost * r.PerSecond * by}
		if t.Cost > 0 {
			f.Terms = append(f.Terms, t)
		}
		f.Average += t.Result
	}
	f.Planned = f.Average * f.Times
	return f
}

// disk sums the bytes of each group of tables over its retention.
func (p Plan) disk() Figure {
	f := Figure{ID: "disk", What: "disk of Postgres", Unit: "GB", Times: diskFree,
		How: "a fifth of the volume stays free; without templates and typed passages, at most some 110 kB for each subject and class of device"}
	for _, g := range groups(p.Load) {
		for _, r := range p.Rates {
			disk := p.Costs.Operations[r.Operation].Disk
			bytes := 0.0
			for _, table := range slices.Sorted(maps.Keys(disk)) {
				if groupOf(table) == g.name {
					bytes += disk[table]
				}
			}
			t := Term{What: g.name + ": " + r.Operation, Cost: bytes, CostUnit: "B", Rate: r.PerSecond, RateUnit: "/s for " + days(g.kept),
				Result: bytes * r.PerSecond * g.kept.Seconds() / 1e9}
			if t.Cost > 0 {
				f.Terms = append(f.Terms, t)
			}
			f.Average += t.Result
		}
	}
	f.Planned = f.Average * f.Times
	return f
}

func pods(l Load, c Costs, api, worker float64) Pods {
	memory := memoryStep * int(math.Ceil(math.Max(c.Memory.API.MiB, c.Memory.Worker.MiB)/memoryStep))
	scaled := func(cores, each float64) Replicas {
		return Replicas{MilliCPU: int(math.Round(each * 1000)), Min: survive(needed(cores, each), l.Machines), Max: survive(needed(cores*l.Peak, each), l.Machines)}
	}
	return Pods{API: scaled(api, l.APICPU), Worker: scaled(worker, l.WorkerCPU), MemoryRequest: memory, MemoryLimit: 2 * memory,
		GoMemory: 2 * memory * 7 / 8}
}

// needed is how many pods carry the cores at the utilization that the autoscaler aims for.
func needed(cores, each float64) int { return max(1, int(math.Ceil(cores/(each*utilization)))) }

// survive is the fewest pods of which as many remain as are needed when a machine fails, if they are spread evenly: the machine with the
// most pods has n/machines of them, rounded up.
func survive(needed, machines int) int {
	n := needed + (needed+machines-2)/(machines-1)
	return n
}

func (p Plan) replicas(id, what string, cores Figure, r Replicas) Figure {
	each := float64(r.MilliCPU) / 1000
	return Figure{ID: id, What: what, Unit: "pods", Average: float64(r.Min), Planned: float64(r.Max), How: fmt.Sprintf(
		"%.2f and %.2f cores / (%g cores x %.0f %%) = %d and %d, plus what the fullest of %d machines carries",
		cores.Average, cores.Planned, each, 100*utilization, needed(cores.Average, each), needed(cores.Average*p.Load.Peak, each), p.Load.Machines)}
}

// connections include one more pod of each kind, which a rollout adds.
func (p Plan) connections() Figure {
	all := func(pods int) float64 { return float64((pods+2)*p.Load.Connections + otherConnections) }
	return Figure{ID: "connections", What: "connections to Postgres", Unit: "connections", Average: all(p.Pods.API.Min + p.Pods.Worker.Min),
		Planned: all(p.Pods.API.Max + p.Pods.Worker.Max),
		How:     fmt.Sprintf("(pods + 2 during a rollout) x %d, and %d for tools", p.Load.Connections, otherConnections)}
}

// servers is over how many servers the environments must be spread.
func (p Plan) servers(postgres Figure) Figure {
	count := func(cores float64) float64 { return math.Max(1, math.Ceil(cores/p.Load.PostgresCores)) }
	return Figure{ID: "postgres_servers", What: "Postgres servers, standbys not counted", Unit: "servers", Average: count(postgres.Average),
		Planned: count(postgres.Planned), How: fmt.Sprintf("%.2f and %.2f cores / %g cores each", postgres.Average, postgres.Planned, p.Load.PostgresCores)}
}

// group is some tables that are stored for the same time.
type group struct {
	name string
	kept time.Duration
}

const (
	groupDecisions  = "decisions, challenges, holds, events"
	groupFrames     = "frames"
	groupSessions   = "sessions"
	groupDigests    = "digests of frames"
	groupDeliveries = "webhook deliveries"
	groupAlways     = "never deleted"
	groupPassing    = "deleted within a day"
)

// groups follow the classes of docs/retention.md.
func groups(l Load) []group {
	return []group{
		{groupDecisions, l.Kept}, {groupFrames, l.KeptFrames}, {groupSessions, l.KeptSessions}, {groupDigests, l.KeptDigests}, {groupDeliveries, l.KeptDeliveries}, {groupAlways, l.Age}, {groupPassing, 24 * time.Hour},
	}
}

// tableGroups has the tables that are not stored as long as a decision.
var tableGroups = map[string]string{
	"frames": groupFrames, "sessions": groupSessions, "frame_digests": groupDigests, "audit_chain": groupAlways, "audit_heads": groupAlways,
	"webhook_deliveries": groupDeliveries, "webhook_attempts": groupDeliveries, "notices": groupDeliveries, "outbox": groupPassing, "idempotency_keys": groupPassing,
	"quotas": groupPassing, "challenge_links": groupPassing, "standing_links": groupPassing, "client_tokens": groupPassing,
}

// groupOf counts unknown tables with the decisions: that is the longest of the settings.
func groupOf(table string) string {
	if g, ok := tableGroups[table]; ok {
		return g
	}
	return groupDecisions
}

// days formats a time as Days reads it.
func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return fmt.Sprintf("%gh", d.Hours())
}
