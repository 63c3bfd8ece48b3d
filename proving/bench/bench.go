package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Options configure a benchmark run.
type Options struct {
	Rig     harness.Options
	Parts   []string      // names of parts; empty is all
	Slice   time.Duration // how long one side of a comparison runs before it is the other's turn
	Rounds  int           // turns of each side
	Lasts   time.Duration // of a measurement that is compared with nothing; 0 is the part's own
	Rate    float64       // decisions a second of the parts tail and export; 0 is a share of the machine's own saturation, and openRate
	Soak    time.Duration // how long the part soak runs
	Seeded  int           // authorizations that the part size stores first
	Version string
	Base    string        // commit whose build is measured beside this one, in the parts that have against; empty is none
	OpenFGA string        // path of the openfga binary, for the part peers
	Gate    string        // path of the countersign-gate binary, for the parts gate and mcpgate
	Citus   string        // folder of a Postgres whose bin/ has the extension citus, for the part citus
	Picture string        // path that the part tail writes its picture to
	Bar     *progress.Bar // shows how far the run is
}

// bench is a benchmark run in progress. rig, tenant and clients are those
// of the current part.
type bench struct {
	Options
	rig     *harness.Rig
	tenant  harness.Tenant
	server  *harness.RawClient  // for measured requests and the frames that precede them
	sdk     *countersign.Client // for everything else
	report  Report
	second  *harness.Service // a further API that a part runs; what it takes counts with the first
	base    harness.Built    // of Options.Base
	typing  []person         // the subjects of decisions
	typists *harness.Typists // of the build that is measured; nil is this one
}

// part is one group of measurements. Parts marked temporal need a Temporal
// server and a worker.
type part struct {
	name     string
	temporal bool
	run      func(ctx context.Context, b *bench) error
	against  func(ctx context.Context, b, base *bench) error // compares with another build; nil if the part has no such comparison
	alone    bool                                            // runs only when it is named
	lasts    time.Duration                                   // of a measurement by default; 0 is Usually
	env      []string                                        // settings of the service, which other builds may not know
	signs    time.Duration                                   // how long a stand-in for the Transit engine takes to sign; 0 is software keys
}

// Usually is the length of a measurement that is compared with nothing: long
// enough for several rounds of sealing and relays.
const Usually = 20 * time.Second

// parts in the order in which they run.
var parts = []part{
	{name: "authorize", temporal: true, run: authorize, against: authorizeAgainst},
	{name: "evidence", temporal: true, run: evidence, against: evidenceAgainst},
	{name: "reads", temporal: true, run: reads},
	{name: "completion", temporal: true, run: completion, against: completionAgainst},
	{name: "webhooks", temporal: true, run: webhooks},
	{name: "streams", temporal: true, run: streams, env: []string{fmt.Sprintf("COUNTERSIGN_STREAMS_PER_ENVIRONMENT=%d", manyStreams)}},
	{name: "export", temporal: true, run: export},
	{name: "size", run: size},
	{name: "peers", temporal: true, run: peers, alone: true},
	{name: "gate", run: gated, alone: true},
	{name: "mcpgate", run: mcpGated, alone: true},
	{name: "receivers", temporal: true, run: receivers, alone: true},
	{name: "limits", temporal: true, run: limits, alone: true, signs: 200 * time.Millisecond},
	{name: "citus", temporal: true, run: distributed, alone: true},
	{name: "wal", temporal: true, run: written, alone: true},
	{name: "tail", temporal: true, run: tail, alone: true, lasts: tailLasts},
	{name: "soak", temporal: true, run: soak, alone: true},
}

// Parts returns the names of the parts.
func Parts() []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	return names
}

// Run measures the chosen parts, by default all that do not run alone. If a part
// fails, it returns the report so far and the error.
func Run(ctx context.Context, o Options) (_ Report, err error) {
	b := &bench{Options: o}
	b.report = Report{Machine: machine(), Started: time.Now().UTC(), Version: o.Version}
	chosen, err := o.chosen()
	if err != nil {
		return b.report, err
	}
	if o.Base != "" {
		built, remove, err := harness.BuildCommit(ctx, o.Base, o.Bar)
		if err != nil {
			return b.report, err
		}
		defer remove()
		b.base, b.Base = built, built.Commit
	}
	for _, p := range chosen {
		b.Lasts = cmp.Or(o.Lasts, p.lasts, Usually)
		if err := b.one(ctx, p); err != nil {
			return b.report, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	b.report.Machine.Load[1] = loadAverage()
	return b.report, nil
}

// chosen returns the parts to run, in their order. With a base they are those
// that can be compared with another build.
func (o Options) chosen() ([]part, error) {
	for _, name := range o.Parts {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("PART is %q, and there is no such part: name some of %s", name, strings.Join(Parts(), ", "))
		}
		if o.Base != "" && parts[i].against == nil {
			return nil, fmt.Errorf("PART is %q, which is not compared with another build: leave out BASE, or name authorize, evidence or completion", name)
		}
	}
	var chosen []part
	for _, p := range parts {
		if len(o.Parts) == 0 && !p.alone && (o.Base == "" || p.against != nil) || slices.Contains(o.Parts, p.name) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// one measures a part on servers of its own, so that no part is affected by
// the data of another.
func (b *bench) one(ctx context.Context, p part) (err error) {
	b.say("%s: starting", p.name)
	o := b.Rig
	o.Temporal, o.Env = p.temporal, p.env
	if p.signs > 0 {
		keys, stop, err := slowBackend(p.signs)
		if err != nil {
			return err
		}
		defer stop()
		o.SigningKeys = keys
	}
	switch {
	case b.Base != "":
		o.Namespaces = []string{baseName, bareName}
	case p.name == "citus":
		o.Namespaces = []string{citusName}
	}
	if b.rig, err = harness.Up(ctx, o); err != nil {
		return err
	}
	defer func() {
		if down := b.rig.Down(); err == nil {
			err = down
		}
	}()
	if err := b.start(ctx, p.temporal); err != nil {
		return err
	}
	if err := b.describePostgres(ctx); err != nil {
		return err
	}
	if err := b.makeSegments(ctx); err != nil {
		return err
	}
	if b.Base == "" {
		return p.run(ctx, b)
	}
	return b.compareBuilds(ctx, p)
}

// compareBuilds starts the other build beside this one and compares them.
func (b *bench) compareBuilds(ctx context.Context, p part) error {
	base, err := b.companion(ctx, baseName, b.base.Binary)
	if err != nil {
		return fmt.Errorf("the build of %s: %w", b.Base, err)
	}
	if base.typists, err = b.base.Typists(ctx); err != nil {
		return err
	}
	defer func() { _ = base.typists.Close() }() // it only generates frames
	return p.against(ctx, b, base)
}

// companion starts a build with a worker beside this one, on the same servers.
func (b *bench) companion(ctx context.Context, name, binary string) (other *bench, err error) {
	other = &bench{Options: b.Options}
	if other.rig, err = b.rig.Beside(ctx, name, binary); err != nil {
		return nil, err
	}
	return other, other.start(ctx, true)
}

// start creates a tenant, starts the processes of the service and makes the
// clients. Two builds are started by the same steps, each with its own
// command line.
func (b *bench) start(ctx context.Context, worker bool) (err error) {
	if err := b.enter(ctx, "Bench"); err != nil {
		return err
	}
	if err := b.rig.API.Start(ctx); err != nil {
		return err
	}
	if worker {
		return b.rig.Worker.Start(ctx)
	}
	return nil
}

// enter creates a tenant and makes its clients.
func (b *bench) enter(ctx context.Context, name string) (err error) {
	if b.tenant, err = b.rig.NewTenant(ctx, name); err != nil {
		return err
	}
	b.server = harness.NewRawClient(b.rig.API.URL, b.tenant.Server, patience)
	b.sdk, err = harness.NewSDK(b.rig.API.URL, b.tenant.Server, patience)
	return err
}

// patience is how long a request may take before it counts as failed. It
// is far above every target, so that a slow response shows as a latency and
// only a stuck one as a failure.
const patience = 10 * time.Second

// say prints a line of progress.
func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Bar, "- "+format+"\n", args...)
}

// show shows that done of total steps of a part are done.
func (b *bench) show(what string, done, total int) { b.Bar.Show(what, int64(done), int64(total)) }

// onDatabase calls do with a connection of its own.
func onDatabase(ctx context.Context, url string, do func(conn *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return do(conn)
}

// describePostgres records the server's version, its settings of durability, all of which must be on, and those of its memory and log.
func (b *bench) describePostgres(ctx context.Context) error {
	var version, settings string
	err := onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `select split_part(version(), ' on ', 1), string_agg(name || ' ' || current_setting(name), ', ')
			from unnest(array['fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'wal_compression']) name`).
			Scan(&version, &settings)
	})
	b.report.Machine.Postgres = version + ", " + settings
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

// compare runs two sides in turn and adds a row for each. It returns the
// medians over the rounds of first over second.
func (b *bench) compare(ctx context.Context, part, how string, first, second side) ratios {
	turns := b.turns(ctx, part, how, []side{first, second})
	each := make([]ratios, len(turns))
	for i, turn := range turns {
		each[i] = ratios{
			p50: over(turn[0].P50, turn[1].P50), p99: over(turn[0].P99, turn[1].P99), perSecond: over(turn[0].PerSecond, turn[1].PerSecond),
		}
	}
	return medians(each)
}

// ratios are figures of the first side divided by those of the second.
type ratios struct{ p50, p99, perSecond float64 }

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
