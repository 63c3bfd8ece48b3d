// Command bench measures the built service against its targets (make bench). It prints a table, writes a JSON file, and updates the
// costs that countersign capacity computes with. Its exit
// code reports whether it could measure, not whether the targets were met.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/local/capacity"
	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/testing/citus"
	"github.com/countersign-dev/countersign/proving/bench"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/workflows"
)

// gcPercent lets the heap grow to nine times its live size, which is some tens of megabytes.
const gcPercent = 800

func main() { harness.Main("make bench", run) }

func run(ctx context.Context) error {
	// A collection of this process takes a core from what it measures, and counts as its latency.
	debug.SetGCPercent(gcPercent)
	o := bench.Options{Rig: harness.Options{SearchAttributes: workflows.SearchAttributes()}}
	o.Rig.Flags(flag.CommandLine, ".data/bench")
	part := flag.String("part", "", "parts to measure, separated by commas: "+strings.Join(bench.Parts(), ", ")+"; empty is all but peers, gate, mcpgate, receivers, limits, citus, wal, tail and soak")
	out := flag.String("out", "bench.json", "`file` to write the figures to")
	flag.DurationVar(&o.Slice, "slice", 4*time.Second, "length of one turn of one side of a comparison")
	flag.IntVar(&o.Rounds, "rounds", 5, "turns of each side of a comparison")
	flag.DurationVar(&o.Lasts, "lasts", 0, "length of a measurement without a comparison; 0 is 20s, and 10m of the part tail")
	flag.Float64Var(&o.Rate, "rate", 0, "decisions a second of the parts tail and export, so that builds can be compared; 0 is three quarters of what saturates the machine, and 300")
	flag.StringVar(&o.Picture, "picture", "tail.svg", "`file` that the part tail writes its picture to")
	flag.DurationVar(&o.Soak, "soak", 0, "length of the part soak")
	flag.IntVar(&o.Seeded, "seeded", 1_000_000, "authorizations that the part size stores before it measures, for a tenth as many subjects")
	costs := flag.String("costs", "internal/local/capacity/costs.json", "`file` of the capacity model's costs, in which those that this run measures are replaced; empty writes none")
	flag.StringVar(&o.Version, "version", "unknown", "version of the binary, for the report")
	flag.StringVar(&o.OpenFGA, "openfga", "bin/openfga", "`path` of the openfga binary, for the part peers")
	flag.StringVar(&o.Gate, "gate", "bin/countersign-gate", "`path` of the countersign-gate binary, for the parts gate and mcpgate")
	flag.StringVar(&o.Citus, "citus", "", "`folder` of a Postgres whose bin/ has the extension citus, for the part citus")
	settings := flag.String("postgres", "", "further `settings` of Postgres, name=value, separated by spaces")
	flag.StringVar(&o.Base, "base", "", "`commit` whose build is measured in turn with this one, in the parts authorize and evidence")
	quiet := flag.Bool("quiet", false, "show no progress")
	flag.Parse()
	o.Bar = progress.New(os.Stderr, *quiet)
	o.Rig.Postgres = strings.Fields(*settings)
	if o.Citus != "" { // both sides run on the same build of Postgres
		if err := citus.Use(o.Citus); err != nil {
			return err
		}
	}
	if *part != "" {
		o.Parts = strings.Split(*part, ",")
	}
	report, err := bench.Run(ctx, o)
	o.Bar.Close()
	if len(report.Rows) > 0 {
		if err := report.WriteMarkdown(os.Stdout); err != nil {
			return err
		}
		if err := report.WriteJSON(*out); err != nil {
			return err
		}
		if *costs != "" && o.Base == "" { // the base's rows are no costs of this build
			return errors.Join(err, writeCosts(*costs, &report, o))
		}
	}
	return err
}

// histories are recorded workflow histories, whose events are counted.
var histories = map[string]string{capacity.Challenge: "challenge-completed", capacity.Hold: "hold-approved"}

// writeCosts begins with the file's costs, if it is there: a run of one part measures some of them.
func writeCosts(path string, report *bench.Report, o bench.Options) error {
	var before capacity.Costs
	if text, err := os.ReadFile(path); err == nil { // #nosec G304 -- the developer names the file
		if err := json.Unmarshal(text, &before); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	command := fmt.Sprintf("make bench PART=%s ROUNDS=%d SLICE=%s LASTS=%s", strings.Join(o.Parts, ","), o.Rounds, o.Slice, cmp.Or(o.Lasts, bench.Usually))
	c := report.Costs(before, command)
	for name, history := range histories {
		text, err := os.ReadFile(filepath.Join("workflows/testdata/histories/v1", history+".json")) // #nosec G304 -- a constant name
		if err != nil {
			return err
		}
		n, err := capacity.Actions(text)
		if err != nil {
			return fmt.Errorf("%s: %w", history, err)
		}
		if x, ok := c.Operations[name]; ok {
			x.Actions = float64(n)
			c.Operations[name] = x
		}
	}
	return c.Write(path)
}
