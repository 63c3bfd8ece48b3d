// Command bench measures the built service against its targets: make bench. It prints a table and leaves a JSON file; its
// exit code says whether it could measure, not whether the targets were met.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/bench"
	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/workflows"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := bench.Options{Out: os.Stderr, Rig: harness.Options{SearchAttributes: workflows.SearchAttributes()}}
	part := flag.String("part", "", "what to measure, separated by commas: "+strings.Join(bench.Parts(), ", ")+"; empty is all but soak")
	out := flag.String("out", "bench.json", "`file` that the figures are written to")
	flag.StringVar(&o.Rig.Dir, "dir", ".data/bench", "`folder` of the servers' data and logs; the data is removed at the end")
	flag.StringVar(&o.Rig.Binary, "countersign", "bin/countersign", "`path` of the binary to measure")
	flag.StringVar(&o.Rig.Devstack, "devstack", "bin/devstack", "`path` of the devstack binary")
	flag.DurationVar(&o.Slice, "slice", 4*time.Second, "how long one side of a comparison runs before it is the other's turn")
	flag.IntVar(&o.Rounds, "rounds", 5, "turns of each side of a comparison")
	flag.DurationVar(&o.Lasts, "lasts", 20*time.Second, "length of a measurement that is compared with nothing")
	flag.DurationVar(&o.Soak, "soak", 0, "length of the part soak")
	flag.IntVar(&o.Seeded, "seeded", 1_000_000, "authorizations that the part size stores first, of a tenth as many subjects")
	flag.StringVar(&o.Version, "version", "unknown", "what is measured, for the report")
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
