// Command chaos injects faults into the built service under load (make chaos). It checks that no acknowledged change is lost, no
// change is applied twice, and every challenge, hold and delivery ends. Its exit code is 1 if a check failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/testing/citus"
	"github.com/countersign-dev/countersign/proving/chaos"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/workflows"
)

func main() { harness.Main("make chaos", run) }

func run(ctx context.Context) error {
	o := chaos.Options{CountWorkflows: countWorkflows, Rig: harness.Options{SearchAttributes: workflows.SearchAttributes()}}
	o.Rig.Flags(flag.CommandLine, ".data/chaos")
	seed := flag.Uint64("seed", 0, "seed of the order and the times of the faults; 0 draws one")
	flag.DurationVar(&o.Lasts, "duration", 3*time.Minute, "how long faults are injected")
	flag.IntVar(&o.Clients, "clients", 12, "clients that load the service")
	flag.BoolVar(&o.HA, "ha", false, "run on three Postgres servers under Patroni and break their machines; each fault at least once")
	flag.StringVar(&o.Only, "only", "", "with -ha: inject only faults whose name contains this, such as \"switch over\", again until the time is over")
	flag.StringVar(&o.Rig.FakeTime, "clocks", "", "move the clocks of API, worker and Postgres instead of injecting faults, with this `path` of libfaketime; the binary has the tag movableclock")
	tree := flag.String("citus", "", "run on a Citus cluster, move its shards and kill its workers, with the Postgres of the `folder` whose bin/ has the extension")
	drill := flag.Bool("restore", false, "rehearse restores from backups instead of injecting faults")
	quiet := flag.Bool("quiet", false, "show no progress")
	flag.Parse()
	o.Bar = progress.New(os.Stdout, *quiet)
	o.Out = o.Bar // lines above the bar
	if o.Seed = *seed; o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano() % 1_000_000)
	}
	if o.Only != "" && !o.HA {
		return errors.New("-only chooses among the faults of machines, which -ha injects: add -ha, or leave out -only")
	}
	o.Clocks = o.Rig.FakeTime != ""
	if o.Citus = *tree != ""; o.Citus {
		if err := citus.Use(*tree); err != nil {
			return err
		}
	}
	if *drill {
		return rehearse(ctx, o)
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
	for i, o := range r.Outages {
		if i == 0 {
			fmt.Println("without a decision / at most / when the machine returned / without a completion or review / responses 503 / slowest response:")
		}
		fmt.Printf("  %5.1f s  %4.0f s  %5.1f s  %5.1f s  %6d  %5.1f s  %s\n", o.Lasted.Seconds(), o.Limit.Seconds(), o.Returning.Seconds(), o.Moveless.Seconds(), o.Unavailable, o.Slowest.Seconds(), o.Fault)
	}
	for _, f := range chaos.Repetitions(r.Outages) {
		fmt.Printf("  %d times: median %.1f s, %.1f to %.1f s  %s\n", f.Times, f.Median.Seconds(), f.Shortest.Seconds(), f.Longest.Seconds(), f.Fault)
	}
	for i, c := range r.Clocks {
		if i == 0 {
			fmt.Println("refused meanwhile / said by the metric / decisions after the correction:")
		}
		fmt.Printf("  %6d  %8s  %d of %d  %s\n", c.Refused, c.Said.Round(time.Second), c.Decided, c.Asked, c.Name)
	}
	fmt.Println("responses by status:")
	for _, status := range slices.Sorted(maps.Keys(r.Responses)) {
		fmt.Printf("  %6d  %d\n", r.Responses[status], status)
	}
	f := r.Facts
	fmt.Printf("%d decisions, %d proofs, %d challenges, %d holds, %d frames, %d events, %d received\n",
		len(f.Decisions), len(f.Proofs), len(f.Challenges), len(f.Holds), len(f.Frames), len(f.Events), len(f.Received))
	for i, violation := range r.Violations {
		if i == 50 {
			fmt.Printf("and %d more\n", len(r.Violations)-i)
			break
		}
		fmt.Println("VIOLATED:", violation)
	}
	if len(r.Violations) > 0 {
		return fmt.Errorf("%d checks failed; SEED=%d injects the same faults", len(r.Violations), seed)
	}
	fmt.Println("no acknowledged change was lost, none was applied twice, and everything ended")
	return nil
}

// workflowStates are the queries that countWorkflows counts by. Every workflow run of a challenge or hold must complete; runs of
// other types may be in progress.
var workflowStates = map[string]string{
	"running":    "ExecutionStatus = 'Running' and WorkflowType in ('challenge', 'hold')",
	"failed":     "ExecutionStatus = 'Failed'",
	"timed out":  "ExecutionStatus = 'TimedOut'",
	"terminated": "ExecutionStatus = 'Terminated'",
	"completed":  "ExecutionStatus = 'Completed'",
}

// countWorkflows returns the number of workflow runs by state.
func countWorkflows(ctx context.Context, address string) (map[string]int, error) {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: workflows.Namespace, Logger: quietLog{}})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out := map[string]int{}
	for state, query := range workflowStates {
		n, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err != nil {
			return nil, errors.Join(errors.New(state), err)
		}
		out[state] = int(n.GetCount())
	}
	return out, nil
}

// quietLog drops the client's log lines. Errors are returned as well.
type quietLog struct{}

// Debug implements log.Logger.
func (quietLog) Debug(string, ...any) {}

// Info implements log.Logger.
func (quietLog) Info(string, ...any) {}

// Warn implements log.Logger.
func (quietLog) Warn(string, ...any) {}

// Error implements log.Logger.
func (quietLog) Error(string, ...any) {}
