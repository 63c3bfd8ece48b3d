// Package chaos injects faults into the built service under load. A seed decides which part is killed, paused or disconnected
// and when. Afterwards it compares the responses that clients received with the database, the event log and its hash chain,
// the webhooks that a receiver got, and the workflow runs. It uses the service unchanged, on servers of its own.
package chaos

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/testing/citus"
	"github.com/countersign-dev/countersign/proving/cluster"
	"github.com/countersign-dev/countersign/proving/harness"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Options configure the faults and the load.
type Options struct {
	Rig     harness.Options
	Seed    uint64
	Lasts   time.Duration
	Clients int
	// HA runs the service on a Postgres cluster and injects faults into the cluster's machines only.
	HA bool
	// Citus runs the service on a Citus cluster, moves its shards and kills its workers instead of injecting faults into the parts of the service.
	Citus bool
	// Clocks moves the clocks of the API, the worker and Postgres instead of injecting faults. It needs Rig.FakeTime.
	Clocks bool
	// Only limits the faults of machines to those whose name contains it; empty is all.
	Only string
	// Runs counts workflows by their state, of those that have to end: running, failed and so on. It asks Temporal.
	CountWorkflows func(ctx context.Context, address string) (map[string]int, error)
	Out            io.Writer
	Bar            *progress.Bar // shows how far the run is; nil shows nothing
}

// Result has the injected faults, the responses and the violations.
type Result struct {
	Faults     map[string]int
	Responses  map[int]int // by status; 0 is none for as long as a client insists
	Facts      Facts
	Outages    []Outage // with HA, in the order of the faults
	Clocks     []Clock  // with Clocks, in their order
	Violations []string // promises
}

// setupTimeout bounds a request that prepares a benchmark run, before or between faults.
const setupTimeout = time.Minute

const (
	// lives is how long challenges and holds of a run last, so that those left alone end within it.
	lives = 10 // seconds
	// settleWithin bounds the wait until everything open has ended once all
	// parts work again. A delivery whose first two attempts met a fault
	// waits five minutes for the third.
	settleWithin = 7 * time.Minute
)

// Run injects faults, misuses the service and checks the result. It returns
// an error if it could not do so; violations are in the result.
func Run(ctx context.Context, o Options) (Result, error) {
	w := &world{Options: o, journal: &Journal{}}
	defer w.down()
	if err := w.up(ctx); err != nil {
		return Result{}, err
	}
	if o.Clocks {
		o.Lasts = clocksLast
	}
	w.say("seed %d: breaking things for %s", o.Seed, o.Lasts)
	d := &disturber{rig: w.rig, rng: rand.New(rand.NewPCG(o.Seed, 0)), say: w.say, done: map[string]int{}}
	stop := w.during("breaking things", o.Lasts)
	err := w.disturb(ctx, d)
	stop()
	if err != nil {
		return Result{}, err
	}
	if err := w.misuse(ctx, d); err != nil {
		return Result{}, err
	}
	w.say("waiting until all that is open has ended")
	stop = w.during("seconds of waiting", 0)
	facts, err := w.settle(ctx)
	stop()
	if err != nil {
		return Result{}, err
	}
	return Result{Faults: d.done, Responses: w.journal.Responses, Facts: facts, Outages: w.journal.Outages, Clocks: w.journal.Clocks, Violations: Check(w.journal, facts)}, nil
}

// world has the servers and clients of one run.
type world struct {
	Options
	cluster  *cluster.Cluster // nil without HA
	shards   *citus.Cluster   // nil without Citus
	rig      *harness.Rig
	tenant   harness.Tenant
	sdk      *countersign.Client // with the tenant's server key
	admin    *countersign.Client // with its admin key
	journal  *Journal
	receiver *receiver
	clients  []*client
}

// say prints a line of progress.
func (w *world) say(format string, args ...any) {
	_, _ = fmt.Fprintf(w.Out, "- "+format+"\n", args...)
}

// during shows the time that passes until stop is called.
func (w *world) during(what string, lasts time.Duration) func() {
	if w.Bar == nil {
		return func() {}
	}
	ended := w.Bar.During(what, lasts)
	return func() {
		ended()
		w.Bar.Close()
	}
}

// down stops the servers and removes their data.
func (w *world) down() {
	if w.receiver != nil {
		_ = w.receiver.server.Close()
	}
	if w.rig != nil {
		if err := w.rig.Down(); err != nil {
			w.say("%v", err)
		}
	}
	if w.cluster != nil {
		if err := w.cluster.Down(); err != nil {
			w.say("%v", err)
		}
	}
	if w.shards != nil {
		w.shards.Stop()
	}
}

// up starts the servers, creates the tenant and the webhook endpoint, and
// populates the environment.
func (w *world) up(ctx context.Context) error {
	w.Options.Rig.Temporal, w.Options.Rig.Proxied = true, true
	if w.HA {
		if err := w.startCluster(ctx); err != nil {
			return err
		}
	}
	if w.Citus {
		if err := w.startCitus(ctx); err != nil {
			return err
		}
	}
	var err error
	if w.rig, err = harness.Up(ctx, w.Options.Rig); err != nil {
		return err
	}
	if w.Citus {
		if _, err := w.rig.Run(ctx, "migrate", "--distribute"); err != nil {
			return err
		}
	}
	if w.tenant, err = w.rig.NewTenant(ctx, "Chaos"); err != nil {
		return err
	}
	if err := w.shorten(ctx); err != nil {
		return err
	}
	for _, p := range []*harness.Process{w.rig.API.Process, w.rig.Worker.Process} {
		if err := p.Start(ctx); err != nil {
			return err
		}
	}
	if w.receiver, err = newReceiver(w.Seed); err != nil {
		return err
	}
	if w.sdk, err = harness.NewSDK(w.rig.API.URL, w.tenant.Server, setupTimeout); err != nil {
		return err
	}
	if w.admin, err = harness.NewSDK(w.rig.API.URL, w.tenant.Admin, setupTimeout); err != nil {
		return err
	}
	if _, err := w.admin.CreateWebhookEndpoint(ctx, countersign.WebhookEndpointCreate{URL: w.receiver.url}); err != nil {
		return err
	}
	return w.populate(ctx)
}

// shorten lets challenges and holds expire within a run. It drops the
// constraints that forbid so short a lifetime, which is safe because the
// database is deleted afterwards.
func (w *world) shorten(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, w.rig.DatabaseURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, `alter table environments drop constraint environments_challenge_ttl_seconds_check, drop constraint environments_hold_ttl_seconds_check`)
	if err != nil {
		return err
	}
	return w.rig.ChangeEnvironments(ctx, "challenge_ttl_seconds <> @lives", "challenge_ttl_seconds = @lives, hold_ttl_seconds = @lives", map[string]any{"lives": lives})
}

// populate creates actions, subjects, sessions and clients.
func (w *world) populate(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if err := harness.NewAction(ctx, w.sdk, "payment."+name, policies[name]); err != nil {
			return err
		}
	}
	var sessions []string
	for i := range people {
		subject := fmt.Sprintf("person-%d", i)
		session, err := newSubject(ctx, w.sdk, subject)
		if err != nil {
			return err
		}
		sessions = append(sessions, session)
	}
	limit, most, deciders := patience, time.Duration(0), 0
	if w.HA {
		limit, most, deciders = deadline+patience, deadline, 3
	}
	for i := range w.Clients + deciders {
		typist := synthetic.NewTypist(w.Seed + uint64(i))
		frames, err := texts(50, func() features.Frame { return typist.Frame(50) })
		if err != nil {
			return err
		}
		w.clients = append(w.clients, &client{
			journal: w.journal, http: harness.NewRawClient(w.rig.API.URL, w.tenant.Server, limit), deadline: most, decides: i >= w.Clients,
			rng: rand.New(rand.NewPCG(w.Seed, uint64(i)+1)), sessions: slices.Clone(sessions), frames: frames, renews: w.Clocks,
		})
	}
	return nil
}

// newSubject creates a subject with a session and returns the session's id.
func newSubject(ctx context.Context, api *countersign.Client, id string) (session string, err error) {
	if _, err := api.CreateSubject(ctx, &countersign.SubjectCreate{ID: id}); err != nil {
		return "", err
	}
	return harness.NewSession(ctx, api, id)
}

// disturb runs the clients and injects faults until the time is over and
// every fault is undone. The clients run until then.
func (w *world) disturb(ctx context.Context, d *disturber) error {
	defer w.receiver.calm()
	return w.load(ctx, func(ctx context.Context) error { return w.inject(ctx, d) })
}

// load runs the clients while f runs.
func (w *world) load(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var working sync.WaitGroup
	for _, c := range w.clients {
		working.Go(func() { c.run(ctx) })
	}
	err := f(ctx)
	stop()
	working.Wait()
	return err
}

// inject injects faults into the parts of the service, or into the machines of its cluster, or moves clocks.
func (w *world) inject(ctx context.Context, d *disturber) error {
	if w.Clocks {
		return w.moveClocks(ctx, d)
	}
	ctx, cancel := context.WithTimeout(ctx, w.Lasts)
	defer cancel()
	revive := func(ctx context.Context) error { return d.mend(ctx, nil) }
	switch {
	case w.cluster != nil:
		m := &machines{c: w.cluster, rig: w.rig, rng: d.rng, say: w.say, only: w.Only, journal: w.journal, done: d.done, revive: revive}
		return m.run(ctx)
	case w.shards != nil:
		s := &shards{cluster: w.shards, environment: w.tenant.Environment, rng: d.rng, say: w.say, done: d.done, revive: revive}
		return s.run(ctx)
	default:
		return d.run(ctx)
	}
}

// settle waits until nothing is open, at most settleWithin, and returns the
// facts.
func (w *world) settle(ctx context.Context) (Facts, error) {
	for give := time.Now().Add(settleWithin); ; {
		f, err := w.facts(ctx)
		if err != nil || quiet(f) || time.Now().After(give) {
			return f, err
		}
		if !pause(ctx, 500*time.Millisecond) {
			return f, ctx.Err()
		}
	}
}

// facts reads the state of the database, the receiver, the workflow runs
// and the audit chain.
func (w *world) facts(ctx context.Context) (Facts, error) {
	f, err := gather(ctx, w.rig.DatabaseURL(), w.tenant.Environment)
	if err != nil {
		return f, err
	}
	f.Received = w.receiver.received()
	if f.Runs, err = w.CountWorkflows(ctx, w.rig.ToTemporal.Address()); err != nil {
		return f, err
	}
	f.Audit = verified(ctx, w.rig, w.tenant.Environment)
	return f, nil
}

// quiet reports whether nothing is open any more.
func quiet(f Facts) bool {
	for _, n := range f.Waiting {
		if n > 0 {
			return false
		}
	}
	return f.Runs["running"] == 0
}

// verified verifies an environment's audit log and returns what it found; empty for nothing.
func verified(ctx context.Context, r *harness.Rig, environment string, more ...string) string {
	found, err := r.Run(ctx, append([]string{"audit", "verify", "--environment", environment}, more...)...)
	if err != nil {
		return err.Error() + "\n" + found
	}
	return ""
}
