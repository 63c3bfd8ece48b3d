package bench

import (
	"fmt"
	"maps"
	"strings"

	"github.com/countersign-dev/countersign/internal/local/capacity"
)

// rewritten are the tables whose rows a frame replaces: they grow until vacuum reuses what was replaced, and then with the number of
// sessions and of subjects.
var rewritten = []string{"sessions", "typed_passages"}

// Costs updates the costs of the capacity model with those that this run measured. It leaves the others, each of
// which names its own measurement. The rows of open loops are used: requests arrive one by one there, as those of users do.
func (r *Report) Costs(c capacity.Costs, command string) capacity.Costs {
	if c.Operations == nil {
		c.Operations = map[string]capacity.Cost{}
	}
	measured := func(rows ...Row) capacity.Measured {
		var what []string
		for _, x := range rows {
			what = append(what, fmt.Sprintf("%s (%s)", x.What, x.How))
		}
		m := r.Machine
		return capacity.Measured{
			What: strings.Join(what, ", "), Machine: fmt.Sprintf("%s, %d cores, %s, %s", m.CPU, m.Cores, m.System, m.Postgres),
			Load: m.Load, Version: r.Version, Command: command, At: r.Started,
		}
	}
	set := func(name string, cost capacity.Cost, rows ...Row) {
		cost.Actions, cost.Measured = c.Operations[name].Actions, measured(rows...)
		c.Operations[name] = cost
	}
	open := fmt.Sprintf("%d/s open", openRate)
	for name, x := range map[string][2]string{
		capacity.Decision: {"authorize, allow and proof", open}, capacity.Frame: {"evidence frame", open}, capacity.Verify: {"verify", ""},
	} {
		if row, ok := r.find(x[0], x[1]); ok {
			cost := costOf(row)
			for _, table := range rewritten {
				delete(cost.Disk, table)
			}
			set(name, cost, row)
		}
	}
	if row, ok := r.find(storedSession, ""); ok {
		set(capacity.Session, costOf(row), row)
	}
	decision, known := c.Operations[capacity.Decision]
	if !known {
		return c
	}
	for name, x := range map[string][2]string{
		capacity.Challenge: {"open a challenge", "complete a challenge"}, capacity.Hold: {"open a hold", "review a hold"},
	} {
		opened, first := r.find(x[0], "")
		ended, second := r.find(x[1], "")
		if first && second {
			end := costOf(ended).Less(perRequest(ended, float64(ended.Meanwhile)), decision)
			set(name, costOf(opened).Plus(end).Less(1, decision), opened, ended)
		}
	}
	if row, ok := r.find("decision to first attempt", ""); ok {
		set(capacity.Delivery, costOf(row).Less(perRequest(row, float64(row.Meanwhile)), decision), row)
	}
	if _, ok := r.find(streamed, ""); ok { // the part that needs the most: older figures are replaced, not exceeded
		c.Memory = capacity.Memory{}
	}
	for _, x := range r.Rows {
		if strings.HasSuffix(x.How, fmt.Sprintf("to %d streams", manyStreams)) { // ten times what a process has by its default limits
			continue
		}
		if x.APIRSS > c.Memory.API.MiB {
			c.Memory.API = capacity.Resident{MiB: x.APIRSS, Measured: measured(x)}
		}
		if x.WorkerRSS > c.Memory.Worker.MiB {
			c.Memory.Worker = capacity.Resident{MiB: x.WorkerRSS, Measured: measured(x)}
		}
	}
	return c
}

// find returns the first row of a measurement; how is empty if there is one only.
func (r *Report) find(what, how string) (Row, bool) {
	for _, x := range r.Rows {
		if x.What == what && (how == "" || x.How == how) && x.Done > 0 {
			return x, true
		}
	}
	return Row{}, false
}

func perRequest(x Row, n float64) float64 { return n / float64(max(x.Done+x.Failed, 1)) }

func costOf(x Row) capacity.Cost {
	return capacity.Cost{
		Disk: maps.Clone(x.Disk), APICPU: x.APICPU, WorkerCPU: x.WorkerCPU, PostgresCPU: x.SQLCPU, TemporalCPU: x.EngineCPU, WALKB: x.WALKB,
	}
}
