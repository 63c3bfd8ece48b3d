package bench

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/internal/testing/citus"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
)

// citusName is the Temporal namespace of the service on Citus.
const citusName = "citus"

// citusRate is the rate of the open loop, in decisions a second. Three servers on a machine with two cores sustain it.
const citusRate = 100

// mostOnCitus is the factor by which a decision may take more CPU of all servers of a cluster than of one Postgres.
const mostOnCitus = 4.0

// distributed measures decisions on one Postgres and on a coordinator and two workers of Citus, in turn.
func distributed(ctx context.Context, b *bench) error {
	if b.Citus == "" {
		return errors.New("name a Postgres whose bin/ has the extension citus: CITUS=folder")
	}
	cluster, err := citus.Temporary(ctx, b.say)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	on, err := b.onCitus(ctx, cluster)
	if err != nil {
		return err
	}
	sides := []*bench{b, on}
	c := contest{sides: sides}
	all := make([]side, len(sides))
	var work []loadgen.Work
	for i, x := range sides {
		ask, err := x.decisions(ctx)
		if err != nil {
			return err
		}
		work = append(work, func(context.Context, int) error { return x.allowed(ask.next()) })
		all[i] = side{what: []string{"authorize, one Postgres", "authorize, Citus"}[i], begin: c.turnOf(i), cost: x.usage}
	}
	all[1].cost = func(ctx context.Context) cost {
		used := on.usage(ctx)
		pids := cluster.PIDs()
		for _, postmaster := range cluster.PIDs() {
			pids = append(pids, harness.Descendants(postmaster)...)
		}
		used.postgres = harness.UsageOf(pids)
		return used
	}
	if err := b.warm(ctx, all, work); err != nil {
		return err
	}
	if _, err := on.settle(ctx, "authorizations"); err != nil {
		return err
	}
	for _, load := range []load{closedLoad(ctx), openLoad(ctx, citusRate)} {
		for i := range all {
			all[i].run = load.side("", work[i]).run
		}
		first := len(b.report.Ratios)
		b.report.Divide(b.turns(ctx, "citus", load.how, all), Sides{1, 0, "Citus over one Postgres"}, slices.Concat(LatencyFigures, CostFigures[:2]))
		for _, x := range b.report.Ratios[first:] {
			if x.Figure == "CPU of Postgres" {
				b.report.under("CPU of Postgres a decision, Citus over one Postgres, "+load.how, x.Median, mostOnCitus, "x")
			}
		}
	}
	for _, x := range sides { // they stop in an orderly way later, and a suspended process cannot
		x.rig.Resume()
	}
	return nil
}

// onCitus starts the service on a cluster, with its tables distributed.
func (b *bench) onCitus(ctx context.Context, cluster *citus.Cluster) (*bench, error) {
	const database = "postgres"
	if err := cluster.Join(ctx, database); err != nil {
		return nil, err
	}
	on := &bench{Options: b.Options}
	var err error
	if on.rig, err = b.rig.BesideAt(ctx, citusName, b.Rig.Binary, cluster.URL(database)); err != nil {
		return nil, err
	}
	if _, err := on.rig.Run(ctx, "migrate", "--distribute"); err != nil {
		return nil, err
	}
	return on, on.start(ctx, true)
}
