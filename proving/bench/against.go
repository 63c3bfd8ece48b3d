package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// baseName and bareName are the names of the databases, the Temporal namespaces and the log folders of the build that this one is
// compared with, and of the service that processes what this build's statements write.
const (
	baseName = "base"
	bareName = "bare"
)

// authorizeAgainst compares decisions of two builds, beside the statements of this one. Those of the base cannot be recorded: they
// are recorded by its own code, which is not a part of this program.
func authorizeAgainst(ctx context.Context, b, base *bench) error {
	var work []loadgen.Work
	for _, x := range []*bench{b, base} {
		ask, err := x.decisions(ctx)
		if err != nil {
			return err
		}
		work = append(work, func(context.Context, int) error { return x.allowed(ask.next()) })
	}
	alone, err := b.companion(ctx, bareName, b.Rig.Binary)
	if err != nil {
		return err
	}
	ask, err := alone.decisions(ctx)
	if err != nil {
		return err
	}
	plain, err := alone.bare(ctx, subjects, func(ctx context.Context, in *inside, i int) error { return in.authorize(ctx, ask.body(i)) })
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	return b.against(ctx, contest{"authorize", "authorizations", loads(ctx), []*bench{b, base, alone}, append(work, plain.run)})
}

// evidenceAgainst compares frames of two builds, beside the statements of this one.
func evidenceAgainst(ctx context.Context, b, base *bench) error {
	var work []loadgen.Work
	for _, x := range []*bench{b, base} {
		open, err := x.observations(ctx)
		if err != nil {
			return err
		}
		var at atomic.Int64
		work = append(work, func(context.Context, int) error { return x.observe(open[int(at.Add(1))%len(open)]) })
	}
	alone, err := b.companion(ctx, bareName, b.Rig.Binary)
	if err != nil {
		return err
	}
	open, err := alone.observations(ctx)
	if err != nil {
		return err
	}
	plain, err := alone.bareFrames(ctx, open)
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	return b.against(ctx, contest{"evidence", "frames", loads(ctx), []*bench{b, base, alone}, append(work, plain.run)})
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
		if err := b.against(ctx, contest{kind.effect, kind.table, loads, []*bench{b, base}, work}); err != nil {
			return err
		}
	}
	return nil
}

// contest names the sides and the loads of a comparison of two builds. Each side has a database and a service of its own: the rows and
// the background work of one side would slow another that shared them.
type contest struct {
	part, table string // each request adds one row to the table
	loads       []load
	// This build, the base and, if there is a third, this build's statements alone, with the work of each.
	sides []*bench
	work  []loadgen.Work
}

// against measures the sides of a contest in turn with each of its loads, and adds the ratios to the report. A service is paused while
// it is not its turn: its idle work, such as sealing the audit chain, is charged to its own turns.
func (b *bench) against(ctx context.Context, c contest) error {
	names := []string{c.part + ", this build", c.part + ", " + b.Base, c.part + ", this build's SQL, bare"}[:len(c.sides)]
	for i, work := range c.work {
		if err := c.turnOf(i)(ctx); err != nil {
			return err
		}
		if r := loadgen.Closed(ctx, clients, 2*time.Second, work); r.Failed > 0 { // caches filled, connections made
			return fmt.Errorf("%s: %d of %d requests failed: %v", names[i], r.Failed, r.Failed+r.Done(), r.Why)
		}
	}
	// A side that responds quickly and stores nothing would look good: the
	// rows of all databases are counted before and after.
	before := make([]int, len(c.sides))
	for i, x := range c.sides {
		var err error
		if before[i], err = x.settle(ctx, c.table); err != nil {
			return err
		}
	}
	first := len(b.report.Rows)
	for _, load := range c.loads {
		var sides []side
		for i, work := range c.work {
			s := load.side(names[i], work)
			s.begin, s.cost = c.turnOf(i), c.sides[i].usage
			sides = append(sides, s)
		}
		turns := b.turns(ctx, c.part, load.how, sides)
		b.report.Divide(turns, Sides{0, 1, "this build over " + b.Base}, slices.Concat(LatencyFigures, CostFigures))
		if len(sides) > 2 {
			b.report.Divide(turns, Sides{0, 2, "this build over its SQL, bare"}, LatencyFigures)
			b.report.Divide(turns, Sides{1, 2, b.Base + " over the same SQL, bare"}, LatencyFigures)
		}
	}
	for _, x := range c.sides { // they stop in an orderly way later, and a suspended process cannot
		x.rig.Resume()
	}
	return c.check(ctx, names, before, b.report.Rows[first:])
}

// check returns an error unless each request of the rows, which are in the order of the sides, once for each load, has added a row to
// the table of its side.
func (c contest) check(ctx context.Context, names []string, before []int, rows []Row) error {
	for i, x := range c.sides {
		wrote, failed := 0, 0
		for k := i; k < len(rows); k += len(c.sides) {
			wrote += rows[k].Done
			failed += rows[k].Failed
		}
		after, err := x.count(ctx, c.table)
		if err != nil {
			return err
		}
		// A request that failed may have written its row before.
		if grew := after - before[i]; grew < wrote || grew > wrote+failed {
			return fmt.Errorf("%s of %s grew by %d rows and should have grown by %d: it did not do what it was measured for",
				c.table, names[i], grew, wrote)
		}
	}
	return nil
}

// turnOf returns what begins a turn of a side: it lets its service run and pauses the others.
func (c contest) turnOf(i int) func(context.Context) error {
	return func(context.Context) error {
		for k, x := range c.sides {
			if k != i {
				x.rig.Pause()
			}
		}
		c.sides[i].rig.Resume()
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
