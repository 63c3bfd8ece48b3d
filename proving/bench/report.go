package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/proving/loadgen"
)

// Report is everything that a benchmark run found.
type Report struct {
	Machine Machine   `json:"machine"`
	Started time.Time `json:"started"`
	Version string    `json:"version"`
	Rows    []Row     `json:"rows"`
	Targets []Target  `json:"targets"`
	Ratios  []Ratio   `json:"ratios,omitempty"`
	Written []Written `json:"written,omitempty"`
	Notes   []string  `json:"notes,omitempty"`
}

// Machine describes the machine of a benchmark run.
type Machine struct {
	Cores    int        `json:"cores"`
	CPU      string     `json:"cpu"`
	MemoryMB int64      `json:"memory_mb"`
	System   string     `json:"system"`
	Postgres string     `json:"postgres"`
	Go       string     `json:"go"`
	Load     [2]float64 `json:"load_average"` // over a minute, before and after the run
}

// Row is one measurement. Costs are per request: of the API, of the worker,
// and of Postgres with all its processes.
type Row struct {
	Part       string  `json:"part"`
	What       string  `json:"what"`
	How        string  `json:"how"`
	Done       int     `json:"done"`
	Failed     int     `json:"failed"`
	PerSecond  float64 `json:"per_second"`
	P50        float64 `json:"p50_ms"`
	P95        float64 `json:"p95_ms"`
	P99        float64 `json:"p99_ms"`
	Max        float64 `json:"max_ms"`
	APICPU     float64 `json:"api_cpu_ms"`
	WorkerCPU  float64 `json:"worker_cpu_ms"`
	SQLCPU     float64 `json:"postgres_cpu_ms"`
	EngineCPU  float64 `json:"temporal_cpu_ms"`
	WALKB      float64 `json:"wal_kb"`
	AllocKB    float64 `json:"api_alloc_kb"`
	Objects    float64 `json:"api_alloc_objects"`
	APIRSS     float64 `json:"api_rss_mb"`
	WorkerRSS  float64 `json:"worker_rss_mb"`
	Goroutines float64 `json:"api_goroutines"`

	// Disk is by how many bytes each table grew, indexes included, and Meanwhile how many decisions were made besides. Both are
	// what the capacity model needs of a row.
	Disk      map[string]float64 `json:"disk_bytes,omitempty"`
	Meanwhile int                `json:"decisions_meanwhile,omitempty"`

	Why map[string]int `json:"why_failed,omitempty"`
}

// Target is one documented target with the measured value.
type Target struct {
	What   string  `json:"what"`
	Wanted string  `json:"wanted"`
	Found  float64 `json:"found"`
	Unit   string  `json:"unit"`
	Met    bool    `json:"met"`
}

// ms converts to milliseconds.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// row makes a row of a result and its cost.
func row(part, what, how string, r loadgen.Result, c cost) Row {
	n := float64(max(r.Done()+r.Failed, 1))
	return Row{
		Part: part, What: what, How: how, Done: r.Done(), Failed: r.Failed, PerSecond: r.PerSecond(), Why: r.Why,
		P50: ms(r.Quantile(.5)), P95: ms(r.Quantile(.95)), P99: ms(r.Quantile(.99)), Max: ms(r.Quantile(1)),
		APICPU: ms(c.api.CPU) / n, WorkerCPU: ms(c.worker.CPU) / n, SQLCPU: ms(c.postgres.CPU) / n, EngineCPU: ms(c.temporal.CPU) / n,
		Disk:  c.tables.each(n),
		WALKB: float64(c.wal) / n / 1024, AllocKB: c.api.Allocated / n / 1024, Objects: c.api.Mallocs / n,
		APIRSS: mb(c.api.RSS), WorkerRSS: mb(c.worker.RSS), Goroutines: c.api.Goroutines,
	}
}

// mb converts to mebibytes.
func mb(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// under records a target that the value must stay below. A value of 0
// misses it: nothing was measured.
func (r *Report) under(what string, found, limit float64, unit string) {
	r.Targets = append(r.Targets, Target{what, fmt.Sprintf("< %g %s", limit, unit), found, unit, found > 0 && found < limit})
}

// atLeast records a target that the value must reach.
func (r *Report) atLeast(what string, found, limit float64, unit string) {
	r.Targets = append(r.Targets, Target{what, fmt.Sprintf(">= %g %s", limit, unit), found, unit, found >= limit})
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// WriteMarkdown writes the report as Markdown tables: targets, rows, notes
// and failures.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores, %d MB, %s; %s; %s; load average %.1f before, %.1f after; countersign %s.\n\n", m.CPU, m.Cores, m.MemoryMB,
		m.System, m.Postgres, m.Go, m.Load[0], m.Load[1], r.Version)
	if len(r.Targets) > 0 {
		b.WriteString("| target | wanted | found | met |\n|---|---|---:|---|\n")
	}
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "| %s | %s | %.2f %s | %s |\n", t.What, t.Wanted, t.Found, t.Unit, yes(t.Met))
	}
	r.writeRatios(&b)
	b.WriteString("\n| part | what | how | done | failed | 1/s | p50 ms | p95 ms | p99 ms | max ms | CPU ms API | CPU ms worker | CPU ms Postgres | WAL kB | KB | objects | RSS MB API | RSS MB worker |\n")
	b.WriteString("|---|---|---|" + strings.Repeat("---:|", 15) + "\n")
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %.0f | %.2f | %.2f | %.2f | %.1f | %.2f | %.2f | %.2f | %.1f | %.0f | %.0f | %.0f | %.0f |\n",
			x.Part, x.What, x.How, x.Done, x.Failed, x.PerSecond, x.P50, x.P95, x.P99, x.Max, x.APICPU, x.WorkerCPU, x.SQLCPU, x.WALKB, x.AllocKB, x.Objects, x.APIRSS, x.WorkerRSS)
	}
	r.writeWritten(&b)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	for _, x := range r.Rows {
		for why, n := range x.Why {
			fmt.Fprintf(&b, "\n%s, %s: failed %d times: %s\n", x.Part, x.What, n, why)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// yes formats whether a target was met; a miss is bold.
func yes(met bool) string {
	if met {
		return "yes"
	}
	return "**no**"
}

// machine describes this machine. Values that the system does not provide
// are left empty.
func machine() Machine {
	m := Machine{Cores: runtime.NumCPU(), CPU: "unknown CPU", System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if v := field("/proc/cpuinfo", "model name"); v != "" {
		m.CPU = v
	}
	_, _ = fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d", &m.MemoryMB)
	m.MemoryMB >>= 10
	m.Load[0] = loadAverage()
	return m
}

// loadAverage is the load of the last minute; a benchmark on a busy machine
// says so.
func loadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	var one float64
	_, _ = fmt.Sscan(string(text), &one)
	return one
}

// field reads a value of a file under /proc; empty if it is missing.
func field(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
