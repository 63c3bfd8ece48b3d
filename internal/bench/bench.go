package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/internal/bench/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Options configure a benchmark run.
type Options struct {
	Rig     harness.Options
	Parts   []string      // names of parts; empty is all
	Slice   time.Duration // how long one side of a comparison runs before it is the other's turn
	Rounds  int           // turns of each side
	Lasts   time.Duration // of a measurement that is compared with nothing
	Soak    time.Duration // how long the part soak runs
	Seeded  int           // authorizations that the part size stores first
	Version string
	Out     io.Writer // progress
}

// bench is a benchmark run in progress. rig, tenant and clients are those
// of the current part.
type bench struct {
	Options
	rig    *harness.Rig
	tenant harness.Tenant
	server *harness.RawClient  // for measured requests and the frames that precede them
	sdk    *countersign.Client // for everything else
	report Report
	second *harness.Service // a further API that a part runs; what it takes counts with the first
}

// part is one group of measurements. Parts marked temporal need a Temporal
// server and a worker.
type part struct {
	name     string
	temporal bool
	run      func(ctx context.Context, b *bench) error
}

// parts in the order in which they run.
var parts = []part{
	{"authorize", true, authorize},
	{"evidence", true, evidence},
	{"reads", true, reads},
	{"completion", true, completion},
	{"webhooks", true, webhooks},
	{"streams", true, streams},
	{"size", false, size},
	{"soak", true, soak},
}

// Parts returns the names of the parts.
func Parts() []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	return names
}

// Run measures the chosen parts, all but soak by default. If a part fails,
// it returns the report so far and the error.
func Run(ctx context.Context, o Options) (Report, error) {
	b := &bench{Options: o}
	b.report = Report{Machine: machine(), Started: time.Now().UTC(), Version: o.Version}
	var chosen []part
	for _, p := range parts {
		if len(o.Parts) == 0 && p.name != "soak" || slices.Contains(o.Parts, p.name) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range o.Parts {
		if !slices.Contains(Parts(), name) {
			return b.report, fmt.Errorf("there is no part %q: want some of %s", name, strings.Join(Parts(), ", "))
		}
	}
	for _, p := range chosen {
		if err := b.one(ctx, p); err != nil {
			return b.report, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	b.report.Machine.Load[1] = loadAverage()
	return b.report, nil
}

// one measures a part on servers of its own, so that no part is affected by
// the data of another.
func (b *bench) one(ctx context.Context, p part) (err error) {
	b.say("%s: starting", p.name)
	o := b.Rig
	o.Temporal, o.Env = p.temporal, []string{fmt.Sprintf("COUNTERSIGN_STREAMS_PER_ENVIRONMENT=%d", openStreams)}
	if b.rig, err = harness.Up(ctx, o); err != nil {
		return err
	}
	defer func() {
		if down := b.rig.Down(); err == nil {
			err = down
		}
	}()
	if b.tenant, err = b.rig.NewTenant(ctx, "Bench"); err != nil {
		return err
	}
	if err := b.rig.API.Start(ctx); err != nil {
		return err
	}
	if p.temporal {
		if err := b.rig.Worker.Start(ctx); err != nil {
			return err
		}
	}
	b.server = harness.NewRawClient(b.rig.API.URL, b.tenant.Server, patience)
	if b.sdk, err = harness.NewSDK(b.rig.API.URL, b.tenant.Server, patience); err != nil {
		return err
	}
	if err := b.describePostgres(ctx); err != nil {
		return err
	}
	return p.run(ctx, b)
}

// patience is how long a request may take before it counts as failed. It
// is far above every target, so that a slow response shows as a latency and
// only a stuck one as a failure.
const patience = 10 * time.Second

// say prints a line of progress.
func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Out, "- "+format+"\n", args...)
}

// onDatabase calls do with a connection of its own.
func onDatabase(ctx context.Context, url string, do func(conn *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return do(conn)
}

// describePostgres records the server's version and its settings of
// durability, all of which must be on.
func (b *bench) describePostgres(ctx context.Context) error {
	var version, fsync, commit, pages string
	err := onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `select split_part(version(), ' on ', 1), current_setting('fsync'), current_setting('synchronous_commit'),
			current_setting('full_page_writes')`).Scan(&version, &fsync, &commit, &pages)
	})
	b.report.Machine.Postgres = fmt.Sprintf("%s, fsync %s, synchronous_commit %s, full_page_writes %s", version, fsync, commit, pages)
	return err
}

// measure runs a load and adds its row to the report.
func (b *bench) measure(ctx context.Context, part, what, how string, run func() loadgen.Result) Row {
	before := b.usage(ctx)
	r := run()
	x := row(part, what, how, r, b.usage(ctx).since(before))
	b.add(x)
	return x
}

// add appends a row to the report and prints it.
func (b *bench) add(x Row) {
	b.report.Rows = append(b.report.Rows, x)
	b.say("%s: %s, %s: %.0f/s, p50 %.2f ms, p99 %.2f ms, %d failed", x.Part, x.What, x.How, x.PerSecond, x.P50, x.P99, x.Failed)
}

// side is one of the two loads of a comparison.
type side struct {
	what string
	run  func(lasts time.Duration) loadgen.Result
}

// compare runs two sides in turn and adds a row for each. It returns the
// medians over the rounds of first over second: a disturbance from outside
// affects one turn, and so changes the median little. The sides alternate,
// so that both see the same temperature, caches and table sizes.
func (b *bench) compare(ctx context.Context, part, how string, first, second side) ratios {
	var results [2]loadgen.Result
	var costs [2]cost
	var each []ratios
	for range b.Rounds {
		var turn [2]loadgen.Result
		for i, s := range []side{first, second} {
			before := b.usage(ctx)
			turn[i] = s.run(b.Slice)
			costs[i] = b.usage(ctx).since(before).plus(costs[i])
			results[i].Join(turn[i])
		}
		each = append(each, ratioOf(turn[0], turn[1]))
	}
	for i, s := range []side{first, second} {
		b.add(row(part, s.what, how, results[i], costs[i]))
	}
	return medians(each)
}

// ratios are figures of the first side divided by those of the second.
type ratios struct{ p50, p99, perSecond float64 }

// ratioOf divides the figures of one turn. A ratio is 0 if its divisor is.
func ratioOf(first, second loadgen.Result) ratios {
	over := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	return ratios{
		p50:       over(ms(first.Quantile(.5)), ms(second.Quantile(.5))),
		p99:       over(ms(first.Quantile(.99)), ms(second.Quantile(.99))),
		perSecond: over(first.PerSecond(), second.PerSecond()),
	}
}

// medians returns the median of each ratio. all must not be empty: with no
// rounds there is nothing to compare.
func medians(all []ratios) ratios {
	middle := func(of func(ratios) float64) float64 {
		values := make([]float64, len(all))
		for i, r := range all {
			values[i] = of(r)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return ratios{
		p50: middle(func(r ratios) float64 { return r.p50 }), p99: middle(func(r ratios) float64 { return r.p99 }),
		perSecond: middle(func(r ratios) float64 { return r.perSecond }),
	}
}
