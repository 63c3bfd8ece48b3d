// Command bench measures the built service against its targets (make bench). It prints a table and writes a JSON file. Its exit
// code reports whether it could measure, not whether the targets were met.
package main

import (
	"context"
	"flag"
	"os"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/bench"
	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/workflows"
)

func main() { harness.Main("make bench", run) }

func run(ctx context.Context) error {
	o := bench.Options{Out: os.Stderr, Rig: harness.Options{SearchAttributes: workflows.SearchAttributes()}}
	o.Rig.Flags(flag.CommandLine, ".data/bench")
	part := flag.String("part", "", "parts to measure, separated by commas: "+strings.Join(bench.Parts(), ", ")+"; empty is all but soak")
	out := flag.String("out", "bench.json", "`file` to write the figures to")
	flag.DurationVar(&o.Slice, "slice", 4*time.Second, "length of one turn of one side of a comparison")
	flag.IntVar(&o.Rounds, "rounds", 5, "turns of each side of a comparison")
	flag.DurationVar(&o.Lasts, "lasts", 20*time.Second, "length of a measurement without a comparison")
	flag.DurationVar(&o.Soak, "soak", 0, "length of the part soak")
	flag.IntVar(&o.Seeded, "seeded", 1_000_000, "authorizations that the part size stores before it measures, for a tenth as many subjects")
	flag.StringVar(&o.Version, "version", "unknown", "version of the binary, for the report")
	flag.Parse()
	if *part != "" {
		o.Parts = strings.Split(*part, ",")
	}
	report, err := bench.Run(ctx, o)
	if len(report.Rows) > 0 {
		if err := report.WriteMarkdown(os.Stdout); err != nil {
			return err
		}
		if err := report.WriteJSON(*out); err != nil {
			return err
		}
	}
	return err
}
