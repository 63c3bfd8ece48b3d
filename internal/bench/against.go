package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/internal/bench/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// baseName is the name of the database, the Temporal namespace and the log folder of the build that this one is compared with.
const baseName = "base"

// authorizeAgainst compares decisions of two builds, beside the statements of this one. Those of the base cannot be recorded: they
// are recorded by its own code, which is not a part of this program.
func authorizeAgainst(ctx context.Context, b, base *bench) error {
	asking := func(b *bench) (loadgen.Work, *requests, error) {
		ask, err := b.decisions(ctx)
		if err != nil {
			return nil, nil, err
		}
		return func(context.Context, int) error { return b.allowed(ask.next()) }, ask, nil
	}
	old, _, err := asking(base)
	if err != nil {
		return fmt.Errorf("the build of %s: %w", b.Base, err)
	}
	api, ask, err := asking(b)
	if err != nil {
		return err
	}
	plain, err := b.bare(ctx, subjects, func(ctx context.Context, in *inside, i int) error { return in.authorize(ctx, ask.body(i)) })
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	return b.against(ctx, base, contest{"authorize", "authorizations", loads(ctx), []loadgen.Work{api, old, plain.run}})
}

// evidenceAgainst compares frames of two builds, beside the statements of this one.
func evidenceAgainst(ctx context.Context, b, base *bench) error {
	work := func(b *bench) (loadgen.Work, []*observed, error) {
		open, err := b.observations(ctx)
		var at atomic.Int64
		return func(context.Context, int) error { return b.observe(open[int(at.Add(1))%len(open)]) }, open, err
	}
	old, _, err := work(base)
	if err != nil {
		return fmt.Errorf("the build of %s: %w", b.Base, err)
	}
	api, open, err := work(b)
	if err != nil {
		return err
	}
	plain, err := b.bareFrames(ctx, open)
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	return b.against(ctx, base, contest{"evidence", "frames", loads(ctx), []loadgen.Work{api, old, plain.run}})
}

// completionAgainst compares a challenge and a hold of two builds from the request to the receipt, with all that Temporal does for them.
func completionAgainst(ctx context.Context, b, base *bench) error {
	for _, x := range []*bench{b, base} {
		all, err := x.people(ctx, subjects, false)
		if err != nil {
			return err
		}
		x.typing = all
	}
	// Decisions are not made meanwhile, unlike in the part without a base: they would be most of the cost that is compared.
	loads := []load{closedLoad(ctx), openLoad(ctx, completionRate)}
	for _, kind := range []struct {
		effect, table string
		settle        func(b *bench, o open) error
	}{
		{"challenge", "challenges", (*bench).complete},
		{"hold", "holds", (*bench).approve},
	} {
		var work []loadgen.Work
		for _, x := range []*bench{b, base} {
			key := "payment." + kind.effect
			if err := harness.NewAction(ctx, x.sdk, key, countersign.PolicyRequirements{CoverageMin: "partial", InsufficientEvidence: kind.effect}); err != nil {
				return err
			}
			ask := newRequests(key, func(i int) string { return x.typing[i%len(x.typing)].subject })
			work = append(work, func(context.Context, int) error {
				var o open
				if err := x.server.DoOK("POST", "/api/v1/authorize", ask.next(), &o); err != nil {
					return err
				}
				return kind.settle(x, o)
			})
		}
		if err := b.against(ctx, base, contest{kind.effect, kind.table, loads, work}); err != nil {
			return err
		}
	}
	return nil
}

// contest names the sides and the loads of a comparison of two builds.
type contest struct {
	part, table string // each request adds one row to the table
	loads       []load
	// The work of this build, of the base and, if there is a third, this build's statements alone.
	work []loadgen.Work
}

// against measures the sides of a contest in turn with each of its loads, and adds the ratios to the report. A build is paused while it is
// not its turn: its idle work, such as sealing the audit chain, is charged to its own turns. This build is not paused while its
// statements are sent, because its worker processes what they write.
func (b *bench) against(ctx context.Context, base *bench, c contest) error {
	names := []string{c.part + ", this build", c.part + ", " + b.Base, c.part + ", this build's SQL, bare"}
	begin := []func(context.Context) error{turnOf(b, base), turnOf(base, b), turnOf(b, base)}
	for i := range c.work {
		if err := begin[i](ctx); err != nil {
			return err
		}
		if r := loadgen.Closed(ctx, clients, 2*time.Second, c.work[i]); r.Failed > 0 { // caches filled, connections made
			return fmt.Errorf("%s: %d of %d requests failed: %v", names[i], r.Failed, r.Failed+r.Done(), r.Why)
		}
	}
	of := []*bench{b, base, b}
	// A side that responds quickly and stores nothing would look good: the
	// rows of both databases are counted before and after.
	var before [2]int
	for i, x := range of[:2] {
		var err error
		if before[i], err = x.settle(ctx, c.table); err != nil {
			return err
		}
	}
	first := len(b.report.Rows)
	for _, load := range c.loads {
		var sides []side
		for i, do := range c.work {
			s := load.side(names[i], do)
			s.begin, s.cost = begin[i], of[i].usage
			sides = append(sides, s)
		}
		turns := b.turns(ctx, c.part, load.how, sides)
		b.report.Divide(turns, Sides{0, 1, "this build over " + b.Base}, slices.Concat(LatencyFigures, CostFigures))
		if len(sides) > 2 {
			b.report.Divide(turns, Sides{0, 2, "this build over its SQL, bare"}, LatencyFigures)
			b.report.Divide(turns, Sides{1, 2, b.Base + " over the same SQL, bare"}, LatencyFigures)
		}
	}
	// Both stop in an orderly way later, and a suspended process cannot.
	b.rig.Resume()
	base.rig.Resume()
	// Rows of the report are in the order of the sides, once for each load.
	var wrote, failed [2]int // by this build and its statements, and by the base
	for i, x := range b.report.Rows[first:] {
		build := map[bool]int{true: 1}[i%len(c.work) == 1]
		wrote[build] += x.Done
		failed[build] += x.Failed
	}
	for i, x := range of[:2] {
		after, err := x.count(ctx, c.table)
		if err != nil {
			return err
		}
		// A request that failed may have written its row before.
		if grew := after - before[i]; grew < wrote[i] || grew > wrote[i]+failed[i] {
			return fmt.Errorf("%s of %s grew by %d rows and should have grown by %d: one side did not do what it was measured for",
				c.table, names[i], after-before[i], wrote[i])
		}
	}
	return nil
}

// turnOf returns what begins a turn of a build: it lets one build run and pauses the other.
func turnOf(running, paused *bench) func(context.Context) error {
	return func(context.Context) error {
		paused.rig.Pause()
		running.rig.Resume()
		return nil
	}
}

// settle brings the statistics of a young database up to date, as Postgres does by itself within minutes, and counts the rows of a table.
func (b *bench) settle(ctx context.Context, table string) (int, error) {
	if err := onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "vacuum analyze")
		return err
	}); err != nil {
		return 0, err
	}
	return b.count(ctx, table)
}

// count is the number of rows of a table.
func (b *bench) count(ctx context.Context, table string) (n int, err error) {
	err = onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select count(*) from "+pgx.Identifier{table}.Sanitize()).Scan(&n)
	})
	return n, err
}

// decisions creates an action that allows enrolled subjects, with the subjects, and returns bodies of requests for it.
func (b *bench) decisions(ctx context.Context) (*requests, error) {
	if err := harness.NewAction(ctx, b.sdk, "payment.release", trusting); err != nil {
		return nil, err
	}
	all, err := b.people(ctx, subjects, true)
	if err != nil {
		return nil, err
	}
	b.typing = all
	ask := newRequests("payment.release", func(i int) string { return all[i%len(all)].subject })
	return ask, parallel(ctx, len(all), func(i int) error { return b.awaitAllowed(ctx, ask, i) })
}

// awaitAllowed returns once a subject is allowed: on a busy machine the workflow that ends an enrollment may take seconds.
func (b *bench) awaitAllowed(ctx context.Context, ask *requests, i int) error {
	give := time.Now().Add(30 * time.Second)
	for {
		err := b.allowed(ask.body(i))
		if err == nil || time.Now().After(give) {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// load is a way to send requests. A closed loop shows throughput; an open
// one shows latencies at a rate that does not depend on the server.
type load struct {
	how string
	run func(do loadgen.Work, lasts time.Duration) loadgen.Result
}

// side is work that is sent in this way.
func (l load) side(what string, do loadgen.Work) side {
	return side{what: what, run: func(lasts time.Duration) loadgen.Result { return l.run(do, lasts) }}
}

// loads are a closed and an open loop.
func loads(ctx context.Context) []load { return []load{closedLoad(ctx), openLoad(ctx, openRate)} }

// closedLoad is a loop of clients that send their next request after a response.
func closedLoad(ctx context.Context) load {
	return load{fmt.Sprintf("%d clients", clients), func(do loadgen.Work, lasts time.Duration) loadgen.Result {
		return loadgen.Closed(ctx, clients, lasts, do)
	}}
}

// openLoad is an open loop of a rate, in requests a second.
func openLoad(ctx context.Context, rate float64) load {
	return load{fmt.Sprintf("%g/s open", rate), func(do loadgen.Work, lasts time.Duration) loadgen.Result {
		return loadgen.Open(ctx, rate, openClients, lasts, do)
	}}
}
