// Command chaos breaks the built service under load and checks that nothing answered is lost, nothing is applied twice and
// every open thing ends: make chaos. Its exit code says whether every promise was kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/internal/bench/chaos"
	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/workflows"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make chaos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := chaos.Options{Out: os.Stdout, Runs: runs, Rig: harness.Options{SearchAttributes: workflows.SearchAttributes()}}
	seed := flag.Uint64("seed", 0, "what is broken when follows from it; 0 is another each time")
	flag.DurationVar(&o.Lasts, "duration", 3*time.Minute, "how long things are broken")
	flag.IntVar(&o.Clients, "clients", 12, "relying parties at work")
	flag.StringVar(&o.Rig.Dir, "dir", ".data/chaos", "`folder` of the servers' data and logs; the data is removed at the end")
	flag.StringVar(&o.Rig.Binary, "countersign", "bin/countersign", "`path` of the binary")
	flag.StringVar(&o.Rig.Devstack, "devstack", "bin/devstack", "`path` of the devstack binary")
	flag.Parse()
	if o.Seed = *seed; o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano() % 1_000_000) //nolint:forbidigo // any number will do
	}
	r, err := chaos.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	return report(o.Seed, r)
}

func report(seed uint64, r chaos.Result) error {
	fmt.Println("faults:")
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Printf("  %3d  %s\n", r.Faults[name], name)
	}
	fmt.Println("answers:")
	for _, status := range slices.Sorted(maps.Keys(r.Answers)) {
		fmt.Printf("  %6d  %d\n", r.Answers[status], status)
	}
	f := r.Facts
	fmt.Printf("%d decisions, %d proofs, %d challenges, %d holds, %d frames, %d events, %d received\n",
		len(f.Decisions), len(f.Proofs), len(f.Challenges), len(f.Holds), len(f.Frames), len(f.Events), len(f.Received))
	for i, sentence := range r.Broken {
		if i == 50 {
			fmt.Printf("and %d more\n", len(r.Broken)-i)
			break
		}
		fmt.Println("BROKEN:", sentence)
	}
	if len(r.Broken) > 0 {
		return fmt.Errorf("%d promises were broken; SEED=%d breaks the same things again", len(r.Broken), seed)
	}
	fmt.Println("nothing answered was lost, nothing was applied twice, every open thing ended")
	return nil
}

// states are the ends of runs that matter: every challenge and hold has to end, and end well.
var states = map[string]string{
	"running":    "ExecutionStatus = 'Running' and WorkflowType in ('challenge', 'hold')",
	"failed":     "ExecutionStatus = 'Failed'",
	"timed out":  "ExecutionStatus = 'TimedOut'",
	"terminated": "ExecutionStatus = 'Terminated'",
	"completed":  "ExecutionStatus = 'Completed'",
}

// runs counts workflows by state.
func runs(ctx context.Context, address string) (map[string]int, error) {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: workflows.Namespace, Logger: quietLog{}})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out := map[string]int{}
	for state, query := range states {
		n, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err != nil {
			return nil, errors.Join(errors.New(state), err)
		}
		out[state] = int(n.GetCount())
	}
	return out, nil
}

// quietLog keeps the client from printing.
type quietLog struct{}

// Debug, Info, Warn and Error drop what they are told: an error is returned as well.
func (quietLog) Debug(string, ...any) {}

// Info drops.
func (quietLog) Info(string, ...any) {}

// Warn drops.
func (quietLog) Warn(string, ...any) {}

// Error drops.
func (quietLog) Error(string, ...any) {}
