package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

const (
	completionRate = 20  // completions a second, and as many reviews, each in its turn
	besidesRate    = 100 // decisions a second that are made meanwhile
)

// completion measures what goes through Temporal while decisions go on:
// completing a challenge and reviewing a hold, and, for comparison, ending
// runs that do nothing else. All were opened before and their workflow runs
// have started, as they have by the time that a person responds.
func completion(ctx context.Context, b *bench) error {
	policies := map[string]countersign.PolicyRequirements{
		"payment.allow":     {CoverageMin: "none"},
		"payment.challenge": {CoverageMin: "partial", InsufficientEvidence: "challenge"},
		"payment.hold":      {CoverageMin: "partial", InsufficientEvidence: "hold"},
	}
	for key, requirements := range policies {
		if err := harness.NewAction(ctx, b.sdk, key, requirements); err != nil {
			return err
		}
	}
	all, err := b.people(ctx, subjects, false)
	if err != nil {
		return err
	}
	asking := func(key string) *requests {
		return newRequests(key, func(i int) string { return all[i%len(all)].subject })
	}
	n := int(b.Lasts.Seconds() * completionRate)
	challenges, err := b.opened(ctx, n, "open a challenge", asking("payment.challenge"))
	if err != nil {
		return err
	}
	holds, err := b.opened(ctx, n, "open a hold", asking("payment.hold"))
	if err != nil {
		return err
	}
	if err := analyze(ctx, b.rig.DatabaseURL()); err != nil { // as Postgres does by itself within minutes
		return err
	}
	bare, err := newBareRuns(ctx, b.rig.TemporalAddress())
	if err != nil {
		return err
	}
	defer bare.close()
	if err := bare.open(ctx, n); err != nil {
		return err
	}
	allow := asking("payment.allow")
	floor := b.besides(ctx, "end a bare run", allow, bare.end)
	for _, x := range []struct {
		what string
		do   loadgen.Work
	}{
		{"complete a challenge", func(_ context.Context, i int) error {
			return b.complete(challenges[i])
		}},
		{"review a hold", func(_ context.Context, i int) error {
			return b.approve(holds[i])
		}},
	} {
		r := b.besides(ctx, x.what, allow, x.do)
		b.report.under(fmt.Sprintf("%s: p99 at %d/s", x.what, completionRate), r.P99, 500, "ms")
		b.report.under(fmt.Sprintf("%s: p99 at %d/s over that of a bare run", x.what, completionRate), over(r.P99, floor.P99), 3, "x")
		b.memory("completion", r)
	}
	return nil
}

// besides measures completions at completionRate while decisions are made at besidesRate.
func (b *bench) besides(ctx context.Context, what string, allow *requests, do loadgen.Work) Row {
	var besides loadgen.Result
	done := make(chan struct{})
	go func() {
		defer close(done)
		besides = loadgen.Open(ctx, besidesRate, openClients, b.Lasts, func(context.Context, int) error { return b.allowed(allow.next()) })
	}()
	r := b.measure(ctx, "completion", what, fmt.Sprintf("%d/s open", completionRate), func() loadgen.Result {
		return loadgen.Open(ctx, completionRate, openClients, b.Lasts, do)
	})
	<-done
	b.report.Rows[len(b.report.Rows)-1].Meanwhile = besides.Done()
	b.add(row("completion", "authorize meanwhile", fmt.Sprintf("%d/s open", besidesRate), besides, cost{}))
	return r
}

// open refers to what an authorize request opened: a challenge, or a hold
// under the authorization's id.
type open struct {
	ID        string
	Challenge *struct{ ID string }
}

// complete completes a challenge.
func (b *bench) complete(o open) error {
	return b.server.DoOK("POST", "/api/v1/challenges/"+o.Challenge.ID+"/complete", object{"method": "sandbox_confirm"}, nil)
}

// approve reviews a hold.
func (b *bench) approve(o open) error {
	return b.server.DoOK("POST", "/api/v1/authorizations/"+o.ID+"/review", object{"resolution": "approve"}, nil)
}

// opened sends n authorize requests that open a challenge or a hold each, waits until their workflow runs have started, and
// adds a row of what that cost. Nothing is due at a time, so that the row has no latencies.
func (b *bench) opened(ctx context.Context, n int, what string, a *requests) ([]open, error) {
	out := make([]open, n)
	before, began := b.usage(ctx), time.Now()
	if err := parallel(ctx, n, func(i int) error {
		return b.server.DoOK("POST", "/api/v1/authorize", a.next(), &out[i])
	}); err != nil {
		return nil, err
	}
	if err := b.drained(ctx); err != nil {
		return nil, err
	}
	r := loadgen.Result{Latencies: make([]time.Duration, n), Elapsed: time.Since(began)}
	b.add(row("completion", what, "all at once", r, b.usage(ctx).since(before)))
	return out, nil
}

// drained waits until the relay has processed every row of the outbox.
func (b *bench) drained(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.rig.DatabaseURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for left := 1; left > 0; {
		if err := conn.QueryRow(ctx, "select count(*) from outbox").Scan(&left); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// memory compares the memory of API and worker at the end of a measurement
// with the target.
func (b *bench) memory(part string, r Row) {
	b.report.under("memory of API and worker: "+part, r.APIRSS+r.WorkerRSS, 300, "MB")
}
