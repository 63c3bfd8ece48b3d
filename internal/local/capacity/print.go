package capacity

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/columns"
)

// WriteText prints the plan as a table: each figure with the arithmetic that leads to it, then where each cost was measured.
func (p Plan) WriteText(out io.Writer) error {
	w := columns.New(out)
	line := func(cells ...string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) }
	line("WHAT", "COST PER UNIT", "RATE", "RESULT", "HEADROOM", "PLANNED")
	for _, f := range p.Figures {
		headroom := "-"
		if f.Times > 0 {
			headroom = "x " + figure(f.Times)
		}
		line(f.What, "", "", figure(f.Average)+" "+f.Unit, headroom, figure(f.Planned)+" "+f.Unit)
		for _, t := range f.Terms {
			line("  "+t.What, figure(t.Cost)+" "+t.CostUnit, figure(t.Rate)+t.RateUnit, figure(t.Result), "", "")
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("\nHow:\n")
	for _, f := range p.Figures {
		fmt.Fprintf(&b, "  %s: %s\n", f.What, f.How)
	}
	pods := p.Pods
	fmt.Fprintf(&b, "\nPods: API %dm CPU, %d to %d; worker %dm CPU, %d to %d; each %dMi of memory, at most %dMi (measured: API %s MiB, worker %s MiB).\n",
		pods.API.MilliCPU, pods.API.Min, pods.API.Max, pods.Worker.MilliCPU, pods.Worker.Min, pods.Worker.Max, pods.MemoryRequest, pods.MemoryLimit,
		figure(p.Costs.Memory.API.MiB), figure(p.Costs.Memory.Worker.MiB))
	b.WriteString("\nMeasured costs:\n")
	for _, name := range operations {
		fmt.Fprintf(&b, "  %s: %s\n", name, p.Costs.Operations[name].Measured)
	}
	fmt.Fprintf(&b, "  memory of the API: %s\n  memory of the worker: %s\n", p.Costs.Memory.API.Measured, p.Costs.Memory.Worker.Measured)
	_, err := io.WriteString(out, b.String())
	return err
}

// String is one line.
func (m Measured) String() string {
	return fmt.Sprintf("%s; %s, load average %.1f to %.1f; countersign %s, %s; %s", m.What, m.Machine, m.Load[0], m.Load[1], m.Version,
		m.At.Format("2006-01-02"), m.Command)
}

// WriteJSON prints the plan as JSON, times in seconds.
func (p Plan) WriteJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(p)
}

// WriteValues prints the part of the Helm chart's values that follows the plan.
func (p Plan) WriteValues(out io.Writer) error {
	kind := func(r Replicas) string {
		return fmt.Sprintf("{cpu: %dm, minReplicas: %d, maxReplicas: %d}", r.MilliCPU, r.Min, r.Max)
	}
	_, err := fmt.Fprintf(out, "api: %s\nworker: %s\nmemory: {request: %dMi, limit: %dMi}\nsettings: {GOMEMLIMIT: %dMiB}\n", kind(p.Pods.API),
		kind(p.Pods.Worker), p.Pods.MemoryRequest, p.Pods.MemoryLimit, p.Pods.GoMemory)
	return err
}

// MarshalJSON adds the times, in seconds.
func (l Load) MarshalJSON() ([]byte, error) {
	type plain Load
	return json.Marshal(struct {
		plain
		Kept           float64 `json:"retention_seconds"`
		KeptFrames     float64 `json:"frames_retention_seconds"`
		KeptSessions   float64 `json:"sessions_retention_seconds"`
		KeptDigests    float64 `json:"digests_retention_seconds"`
		KeptDeliveries float64 `json:"deliveries_retention_seconds"`
		Age            float64 `json:"age_seconds"`
	}{plain(l), l.Kept.Seconds(), l.KeptFrames.Seconds(), l.KeptSessions.Seconds(), l.KeptDigests.Seconds(), l.KeptDeliveries.Seconds(), l.Age.Seconds()})
}

// figure formats a number with three significant digits, and a larger one without decimals.
func figure(n float64) string {
	if n >= 100 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}
