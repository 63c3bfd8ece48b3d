package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/masterkey"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/workflows"
)

// Limits beyond which the doctor reports the state of the server.
const (
	clockOff        = 2 * time.Second // as the alert has it
	oldTransaction  = 10 * time.Minute
	standbyBehind   = 30 * time.Second
	connectionShare = 0.9
	frozenLimit     = 1_000_000_000 // transactions; Postgres stops writes at 2 billion
	slotLimit       = 8 << 30       // bytes
	signingKeyAge   = 100 * 24 * time.Hour
)

// examineWithin bounds each request of the doctor.
const examineWithin = 5 * time.Second

// doctor collects what is wrong with an installation.
type doctor struct {
	*core
	settings *settings
	facts    []string // what is there, a line each
	findings []finding
}

// finding is one thing that is wrong, and what to do about it.
type finding struct{ where, what, remedy string }

func (d *doctor) fact(format string, args ...any) {
	d.facts = append(d.facts, fmt.Sprintf(format, args...))
}

func (d *doctor) find(where, what, remedy string) {
	d.findings = append(d.findings, finding{where, what, remedy})
}

func doctorCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "doctor", Args: cobra.NoArgs, Short: "Examine an installation: versions, clocks, database, workers, keys, addresses, endpoints, what waits; and say what to do",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := doctor{settings: &s}
			if err := d.examine(cmd.Context()); err != nil {
				return err
			}
			d.print(cmd.OutOrStdout())
			if len(d.findings) > 0 {
				return fmt.Errorf("faults found: %d", len(d.findings))
			}
			return nil
		},
	}
	bindCore(cmd, &s, slices.Concat(s.temporal(), s.standby(), s.collectors()[:2], []setting{s.mail.server()})...)
	cmd.Long += "\n\nIt changes nothing. Exit codes: 0 nothing is wrong, 1 something is."
	return cmd
}

// examine looks at every part. A part that cannot be examined is a finding.
func (d *doctor) examine(ctx context.Context) error {
	c, err := connectCLI(ctx, d.settings)
	if errors.Is(err, errUsage) {
		return err
	}
	d.fact("countersign %s", version)
	if err != nil {
		d.find("database", fmt.Sprintf("cannot be reached: %v", err), "start it, or correct COUNTERSIGN_DATABASE_URL; every request is refused meanwhile")
		return nil
	}
	defer c.Close()
	d.core = c
	for _, part := range []struct {
		name string
		look func(ctx context.Context) error
	}{
		{"database", d.server}, {"clock", d.clocks}, {"schema", d.schema}, {"keys", d.keys}, {"temporal", d.temporal},
		{"neighbours", d.neighbours}, {"signing keys", d.signing}, {"environments", d.environments},
	} {
		within, cancel := context.WithTimeout(ctx, examineWithin)
		err := part.look(within)
		cancel()
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			d.find(part.name, fmt.Sprintf("cannot be examined: %v", err), "repair what is listed above and repeat")
		}
	}
	return nil
}

// errEnough ends an examination: what follows would report consequences of what was found.
var errEnough = errors.New("the rest cannot be examined")

// schema compares the version of the schema with this binary's.
func (d *doctor) schema(ctx context.Context) error {
	have, want, err := d.Store.SchemaVersions(ctx)
	if err != nil || have < want {
		if err == nil {
			err = d.Store.CheckSchema(ctx)
		}
		d.find("schema", err.Error(), "run countersign migrate with the newest build")
		return errEnough
	}
	if have > want {
		d.fact("schema version %d, of a build that is newer than this one", have)
	}
	return nil
}

// server looks at Postgres and the schema.
func (d *doctor) server(ctx context.Context) error {
	s, err := d.Store.Inspect(ctx)
	if err != nil {
		return err
	}
	d.fact("Postgres %s, database of %d MB, %d of %d connections in use", s.Version, s.Bytes>>20, s.Connections, s.MaxConnections)
	if err := d.Store.ProbeWrite(ctx); err != nil {
		d.find("database", fmt.Sprintf("takes no writes: %v", err), "look for a full disk, a server that is a standby, or missing rights; decisions are refused meanwhile")
	}
	if len(s.Unsafe) > 0 {
		d.find("database", "settings with which a crash of the server loses what was acknowledged: "+strings.Join(s.Unsafe, ", "), "set each to on: a decision that was returned must be stored")
	}
	if s.Waits {
		d.find("database", "commits wait for a synchronous standby and none is connected", "start a standby, or take its name out of synchronous_standby_names")
	}
	if float64(s.Connections) > connectionShare*float64(s.MaxConnections) {
		d.find("database", fmt.Sprintf("%d of %d connections are in use", s.Connections, s.MaxConnections), "put a connection pooler in front, or raise max_connections")
	}
	if s.OldestTransaction > oldTransaction {
		d.find("database", fmt.Sprintf("a transaction has been open for %s", s.OldestTransaction.Round(time.Second)), "find it in pg_stat_activity and end it: vacuum removes nothing that is newer")
	}
	if s.FrozenAge > frozenLimit {
		d.find("database", fmt.Sprintf("%d transactions are not frozen", s.FrozenAge), "run VACUUM (FREEZE): Postgres stops writes at 2 billion")
	}
	if s.IdleSlotBytes > slotLimit {
		d.find("database", fmt.Sprintf("a replication slot without a consumer keeps %d GB of write-ahead log", s.IdleSlotBytes>>30), "start its standby, or drop the slot")
	}
	if len(s.IdleSlots) > 0 {
		d.find("database", "replication slots without a consumer: "+strings.Join(s.IdleSlots, ", "), "start its standby, or drop the slot with pg_drop_replication_slot: it keeps write-ahead log until the disk is full")
	}
	if len(s.InvalidIndexes) > 0 {
		d.find("database", "indexes that are not valid: "+strings.Join(s.InvalidIndexes, ", "), "run REINDEX INDEX CONCURRENTLY for each: requests are slow meanwhile, and a key may be there twice")
	}
	for _, b := range s.Standbys {
		d.fact("standby %s, %s, %s behind", b.Name, b.Sync, b.Lag.Round(time.Millisecond))
		if b.Lag > standbyBehind {
			d.find("standby "+b.Name, fmt.Sprintf("is %s behind", b.Lag.Round(time.Second)), "look at its disk and network: it takes over with that much missing, and commits wait for it if it is synchronous")
		}
	}
	return nil
}

// clocks compares this machine's clock with the database's.
func (d *doctor) clocks(ctx context.Context) error {
	at, err := d.Store.Time(ctx)
	if err != nil {
		return err
	}
	ahead := d.Machine.Now().Sub(at)
	d.fact("this machine's clock is %s ahead of the database's", ahead.Round(10*time.Millisecond))
	if ahead.Abs() > clockOff {
		d.find("clock", fmt.Sprintf("this machine is %s ahead of the database", ahead.Round(time.Second)),
			"repair the time service of the machine that is wrong; if every process differs alike it is the database's, which decisions go by")
	}
	return nil
}

// keys looks at the master keys and the backends of signing keys.
func (d *doctor) keys(ctx context.Context) error {
	var mismatch *masterkey.Mismatch
	err := masterkey.Compare(ctx, d.Store.Q, d.Keys)
	if errors.As(err, &mismatch) {
		d.find("master keys", err.Error(), "restart every process that lacks it afterwards")
		if mismatch.Foreign { // no row would verify, and no key would open
			return errEnough
		}
		err = nil
	}
	for _, s := range d.Signers {
		if err := s.Check(ctx); err != nil {
			d.find("signing keys", err.Error(), "see docs/keys.md: enforced allows are refused meanwhile, everything else goes on")
		}
	}
	return err
}

// temporal looks at the workflow engine and the workers.
func (d *doctor) temporal(ctx context.Context) error {
	options, err := d.settings.temporalOptions()
	if err != nil {
		return err
	}
	if options.Address == "" {
		state, err := dev.ReadState(d.settings.dir)
		if err != nil {
			return err
		}
		options.Address = state.TemporalAddress
	}
	if options.Address == "" {
		d.fact("Temporal was not asked: COUNTERSIGN_TEMPORAL_ADDRESS is not set")
		return nil
	}
	options.Keyring, options.Log = d.Keys, slog.New(slog.DiscardHandler)
	tc, err := workflows.Dial(options)
	if err != nil {
		return err
	}
	defer tc.Close()
	flows := workflows.NewClient(tc, options.Namespace)
	if err := flows.Ping(ctx); err != nil {
		d.find("temporal", "does not answer at "+options.Address, "start it; decisions go on, challenges, holds, enrollments and webhooks wait")
		return nil
	}
	workers, err := flows.Pollers(ctx)
	if err != nil {
		return err
	}
	d.fact("Temporal at %s, %d pollers", options.Address, len(workers))
	return d.namespace(ctx, flows)
}

// signing looks at the keys that sign proofs.
func (d *doctor) signing(ctx context.Context) error {
	h, err := d.Signing.Health(ctx)
	if err != nil {
		return err
	}
	d.fact("signing keys: %d environments sign with their active key", h.Able)
	if h.Unable > 0 {
		d.find("signing keys", fmt.Sprintf("environments without one that can be opened: %d", h.Unable), "countersign key list names them; countersign key rotate makes new ones; enforced allows are refused meanwhile")
	}
	if h.StandIn > 0 {
		d.find("signing keys", fmt.Sprintf("environments that sign with another than the active one: %d", h.StandIn), "run countersign key rotate for them and find out what changed the row")
	}
	queues, err := consolequery.QueryQueues(ctx, d.Store.Q, d.Clock.Now())
	for _, q := range queues {
		if q.Kind == consolequery.QueueSigningKey && q.Oldest > signingKeyAge {
			d.find("signing keys", fmt.Sprintf("one has signed for %d days", int(q.Oldest.Hours()/24)), "the schedule signing-keys does not run: check the workers; countersign key rotate rotates immediately")
		}
	}
	return err
}

// lateWork names each kind of work that waits too long, and the remedy.
var lateWork = map[string]struct{ what, remedy string }{
	consolequery.KindEndpoints: {"webhook endpoints that fail",
		"countersign webhook list shows the response; its owner corrects the receiver, countersign webhook replay repeats what failed"},
	consolequery.KindDeliveries: {"deliveries that are due", "if no endpoint fails, the workers are behind: add some"},
	consolequery.KindOutbox:     {"outbox rows that wait", "look at Temporal and the log of the workers, which relay the outbox"},
	consolequery.KindTimers: {"challenges, holds, changes and evaluations past their end",
		"look at Temporal and the workers; readers see the records as expired already"},
	consolequery.KindAudit:   {"audit entries that are not sealed", "a worker seals the log: look at its log"},
	consolequery.KindExports: {"audit entries that a destination has not confirmed", "countersign tenant destinations list says the last error of each"},
	consolequery.KindAfter:   {"break-glasses that wait for their review", "have others say under After-reviews whether each was justified"},
	consolequery.KindHolds:   {"holds that wait for a reviewer", "find a reviewer: holds expire and are never approved by time"},
}

// environments looks at what waits in each environment, at its quotas, and at keys whose source has ended.
func (d *doctor) environments(ctx context.Context) error {
	names, err := tenantNames(ctx, d.Store.Q)
	if err != nil {
		return err
	}
	all, err := tenancy.ListEnvironments(ctx, d.Store.Q, "")
	if err != nil {
		return err
	}
	d.fact("%d tenants, %d environments", len(names), len(all))
	for _, e := range all {
		where := cmp.Or(names[e.TenantID], e.TenantID) + "/" + string(e.Kind)
		if err := d.environment(ctx, where, pg.Scope{Tenant: e.TenantID, Environment: e.ID}); err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) environment(ctx context.Context, where string, scope pg.Scope) error {
	q, err := consolequery.ReadQueues(ctx, d.Store, scope, d.Clock.Now())
	if err != nil {
		return err
	}
	for _, f := range q.Judge() {
		if f.Severity == consolequery.Fine {
			continue
		}
		since := ""
		if f.Since != nil {
			since = fmt.Sprintf(", the oldest for %s", q.Now.Sub(*f.Since).Round(time.Second))
		}
		late := lateWork[f.Kind]
		d.find(where, fmt.Sprintf("%s: %d%s", late.what, f.Count, since), late.remedy)
	}
	for _, n := range q.Quotas {
		used := min(int(100*n.FullAt.Sub(q.Now)/ratelimit.Window), 100)
		d.find(where, fmt.Sprintf("the quota %s is used to %d %%", n.Bucket, used), "spread the requests, or raise it with countersign tenant settings")
	}
	orphans, err := d.Identity.Orphans(ctx, scope)
	if err != nil {
		return err
	}
	if len(orphans) > 0 {
		ids := make([]string, len(orphans))
		for i, o := range orphans {
			ids[i] = o.ID
		}
		d.find(where, "valid keys whose source has ended: "+strings.Join(ids, ", "), "countersign credential revoke ends each")
	}
	rows, err := consolequery.AlteredRecords(ctx, d.Store.Q, scope, d.Clock.Now())
	if err != nil || len(rows) == 0 {
		return err
	}
	d.find(where, "records changed outside of the service, or refused for that in the last 24 hours: "+strings.Join(rows, ", "), "find out who changed them and put their values back: see docs/audit.md")
	return nil
}

// print writes what is there, then what is wrong.
func (d *doctor) print(out io.Writer) {
	for _, f := range d.facts {
		_, _ = fmt.Fprintln(out, f)
	}
	if len(d.findings) == 0 {
		_, _ = fmt.Fprintln(out, "\nnothing is wrong")
		return
	}
	for _, f := range d.findings {
		_, _ = fmt.Fprintf(out, "\n%s: %s\n  %s\n", f.where, f.what, f.remedy)
	}
}
