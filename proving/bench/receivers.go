package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// A thousand receivers belong to twenty tenants, because an environment has at most fifty endpoints.
const (
	receiverTenants    = 20
	receiversOfATenant = 50
	// receiverRate is in decisions a second, over all tenants: each reaches the fifty endpoints of its own. An endpoint without events
	// for a second sleeps in its workflow, and the next event wakes it: some thirty milliseconds of CPU, most of them Temporal's.
	receiverRate = .25
	// slowTakes is how long the slow receiver takes to respond: almost as long as the service waits.
	slowTakes = 14 * time.Second
	// slowMoves is how many times the p99 of the other receivers may become beside a slow one. It is the noise of one measurement.
	slowMoves = 1.5
)

// receivers measures the time from a decision to its first attempt at each of a thousand endpoints: while all respond at once, and
// while one of them responds slowly. It runs only if it is named, because a thousand workflows would burden the parts after it.
func receivers(ctx context.Context, b *bench) error {
	var all []*arrivals
	var asks []func() error
	defer func() {
		for _, a := range all {
			a.close()
		}
	}()
	for i := range receiverTenants {
		t, err := b.further(ctx, fmt.Sprintf("tenant-%d", i))
		if err != nil {
			return err
		}
		if err := harness.NewAction(ctx, t.sdk, "payment.allow", countersign.PolicyRequirements{CoverageMin: "none"}); err != nil {
			return err
		}
		people, err := t.people(ctx, 1, false)
		if err != nil {
			return err
		}
		ask := newRequests("payment.allow", func(int) string { return people[0].subject })
		asks = append(asks, func() error { return t.allowed(ask.next()) })
		for range receiversOfATenant {
			a, err := t.endpoint(ctx, 0)
			if err != nil {
				return err
			}
			all = append(all, a)
		}
		b.show("receivers", len(all), receiverTenants*receiversOfATenant)
	}
	if _, err := b.toReceivers(ctx, asks, all, "warm up"); err != nil {
		return err
	}
	// Postgres does this by itself within minutes. Without statistics it reads all deliveries to find those that are due.
	if err := analyze(ctx, b.rig.DatabaseURL()); err != nil {
		return err
	}
	even, err := b.toReceivers(ctx, asks, all, "all respond")
	if err != nil {
		return err
	}
	// The same endpoint as before, so that both measurements have the same tenants, rows and workflows.
	all[0].takes.Store(int64(slowTakes))
	uneven, err := b.toReceivers(ctx, asks, all, "one is slow")
	if err != nil {
		return err
	}
	b.add(even)
	b.add(uneven)
	b.report.under("a thousand receivers: p99 beside a slow one over p99 without", uneven.P99/even.P99, slowMoves, "x")
	return nil
}

// toReceivers makes decisions of each tenant in turn and waits until every receiver that is not slow has each of its tenant's. The
// slow one is left out of the latencies: it is the others' that must not change.
func (b *bench) toReceivers(ctx context.Context, asks []func() error, all []*arrivals, how string) (Row, error) {
	for _, a := range all {
		a.forget()
	}
	before := b.usage(ctx)
	var turn atomic.Int64
	made := make([]atomic.Int64, len(asks))
	decided := loadgen.Open(ctx, receiverRate, openClients, b.Lasts, func(context.Context, int) error {
		i := int(turn.Add(1)-1) % len(asks)
		made[i].Add(1)
		return asks[i]()
	})
	// Decisions are counted when they are asked for: one that failed is awaited in vain, and ends the measurement with an error.
	told := loadgen.Result{Elapsed: decided.Elapsed}
	for i, a := range all {
		if a.takes.Load() > 0 {
			continue
		}
		if err := a.await(ctx, int(made[i/receiversOfATenant].Load())); err != nil {
			return Row{}, fmt.Errorf("receiver %d: %w", i, err)
		}
		told.Latencies = append(told.Latencies, a.latencies()...)
	}
	r := row("receivers", "decision to a thousand receivers", fmt.Sprintf("%g/s, %s", receiverRate, how), told, b.usage(ctx).since(before))
	r.Meanwhile = decided.Done()
	return r, nil
}

// further makes a tenant and returns the benchmark with it in place of its own. The copy must not report: its report is not
// that of the benchmark.
func (b *bench) further(ctx context.Context, name string) (*bench, error) {
	t := *b
	var err error
	if t.tenant, err = b.rig.NewTenant(ctx, name); err != nil {
		return nil, err
	}
	t.server = harness.NewRawClient(b.rig.API.URL, t.tenant.Server, patience)
	t.sdk, err = harness.NewSDK(b.rig.API.URL, t.tenant.Server, patience)
	return &t, err
}
