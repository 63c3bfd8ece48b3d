package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/proving/cluster"
	"github.com/countersign-dev/countersign/proving/harness"
)

// Limits of the time without a decision.
const (
	backAfterLoss       = 15 * time.Second
	backAfterSwitchover = 3 * time.Second
)

const (
	// deadline is how long the service may take to respond: its own limit of 10 s, and what a loaded machine adds.
	deadline = 12 * time.Second
	// observed is the least time from a fault to its end: the lock of a primary that fell silent lasts 8 s.
	observed = 12 * time.Second
	// steady is how long decisions flow without a gap before a fault counts as survived.
	steady = 2 * time.Second
	// recoverWithin bounds the time until decisions flow again, and until the cluster is whole again.
	recoverWithin = 2 * time.Minute
	// memberDisk is the size in MiB of a member's disk.
	memberDisk = 1024
)

// startCluster starts the cluster in place of a single Postgres.
func (w *world) startCluster(ctx context.Context) (err error) {
	w.say("starting three Postgres servers under Patroni, with etcd and HAProxy")
	if err := os.MkdirAll(w.Options.Rig.Dir, 0o755); err != nil { // #nosec G301 -- the user that Postgres runs as passes through
		return err
	}
	w.cluster, err = cluster.Up(ctx, cluster.Options{Dir: filepath.Join(w.Options.Rig.Dir, "cluster"), Disk: memberDisk, Frontends: 2, Say: w.say})
	if err != nil {
		return err
	}
	w.Options.Rig.TemporalCluster = &harness.TemporalCluster{Frontends: w.cluster.Frontends, Balancer: w.cluster.TemporalAddress()}
	const database = "countersign"
	w.Options.Rig.DatabaseURL = w.cluster.URL(database)
	return w.cluster.Create(ctx, database)
}

// machineFault is one way to lose a machine of the cluster.
type machineFault struct {
	name  string
	limit time.Duration // without a decision
	moves time.Duration // without a completion or review; 0: not limited
	cause func(ctx context.Context) (mend func() error, err error)
}

// machines injects faults into the members of the cluster.
type machines struct {
	c       *cluster.Cluster
	rig     *harness.Rig
	rng     *rand.Rand
	say     func(format string, args ...any)
	only    string // Options.Only
	journal *Journal
	done    map[string]int
	revive  func(ctx context.Context) error // parts of the service that ended because the cluster was unavailable
}

// run injects every fault once, in the order that the seed decides, and again until ctx ends. The cluster is whole before each
// fault, because it promises to survive one.
func (m *machines) run(ctx context.Context) error {
	faults, err := choose(m.faults(), m.only)
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		for _, i := range m.rng.Perm(len(faults)) {
			if round > 0 && done(ctx) {
				return nil
			}
			if err := m.inject(context.WithoutCancel(ctx), faults[i]); err != nil {
				return fmt.Errorf("%s: %w", faults[i].name, err)
			}
		}
	}
}

// choose returns the faults whose name contains a text.
func choose(all []machineFault, only string) ([]machineFault, error) {
	chosen, names := []machineFault(nil), []string(nil)
	for _, f := range all {
		if names = append(names, f.name); strings.Contains(f.name, only) {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no fault is named %q: use a part of one of these: %s", only, strings.Join(names, "; "))
	}
	return chosen, nil
}

// done reports whether the time is over.
func done(ctx context.Context) bool { return ctx.Err() != nil }

// inject causes one fault, waits until decisions flow, undoes the fault and waits until the cluster is whole.
func (m *machines) inject(ctx context.Context, f machineFault) error {
	ctx, cancel := context.WithTimeout(ctx, 2*recoverWithin)
	defer cancel()
	if err := m.c.AwaitWhole(ctx); err != nil {
		return err
	}
	pause(ctx, time.Duration(500+m.rng.IntN(1500))*time.Millisecond)
	m.done[f.name]++
	end, begun := m.journal.interval(), time.Now()
	mend, err := f.cause(ctx)
	if err != nil {
		return err
	}
	m.flow(ctx, begun)
	mended := time.Now()
	if err := mend(); err != nil {
		return err
	}
	if err := m.revive(ctx); err != nil {
		return err
	}
	err = m.c.AwaitWhole(ctx)
	o := end(mended)
	o.Fault, o.Limit, o.MoveLimit = f.name, f.limit, f.moves
	m.journal.write(func() { m.journal.Outages = append(m.journal.Outages, o) })
	m.say("%s: no decision for %.1f s, and for %.1f s when the machine returned, no completion or review for %.1f s, %d responses 503, the slowest response took %.1f s",
		f.name, o.Lasted.Seconds(), o.Returning.Seconds(), o.Moveless.Seconds(), o.Unavailable, o.Slowest.Seconds())
	return err
}

// flow waits until decisions flow steadily, at least for observed and at most for recoverWithin.
func (m *machines) flow(ctx context.Context, begun time.Time) {
	for pause(ctx, 100*time.Millisecond) {
		since := time.Since(begun)
		if since > recoverWithin || (since > observed && m.journal.without(time.Now().Add(-steady), time.Now()) == 0) {
			return
		}
	}
}

// faults are all ways to lose a machine.
func (m *machines) faults() []machineFault {
	restart := func(member *cluster.Member) func() error { return member.Start }
	return append(m.temporalFaults(), []machineFault{
		{"kill -9 the primary's machine", backAfterLoss, 0, m.on(m.c.Primary, (*cluster.Member).Kill, restart)},
		{"kill -9 the primary's Postgres", backAfterLoss, 0, m.on(m.c.Primary, (*cluster.Member).KillPostgres, nothing)},
		{"kill -9 a synchronous standby's machine", backAfterLoss, 0, m.on(m.c.Synchronous, (*cluster.Member).Kill, restart)},
		{"cut the primary off from everything", backAfterLoss, 0, m.on(m.c.Primary, (*cluster.Member).Isolate, rejoin)},
		{"cut the primary off from etcd", backAfterLoss, 0, m.on(m.c.Primary, (*cluster.Member).IsolateFromEtcd, rejoin)},
		{"stop the primary's Patroni: the primary still believes", backAfterLoss, 0, m.on(m.c.Primary, (*cluster.Member).PausePatroni, reset)},
		{"fill the primary's disk", backAfterLoss, 0, m.fill},
		{"switch over", backAfterSwitchover, 0, func(ctx context.Context) (func() error, error) {
			return func() error { return nil }, m.c.Switchover(ctx)
		}},
	}...)
}

// nothing undoes a fault that the cluster undoes by itself.
func nothing(*cluster.Member) func() error { return func() error { return nil } }

func rejoin(member *cluster.Member) func() error {
	return func() error { member.Rejoin(); return nil }
}

func reset(member *cluster.Member) func() error { return member.Reset }

// on causes a fault of the member with a role.
func (m *machines) on(role func(context.Context) (*cluster.Member, error), cause func(*cluster.Member),
	mend func(*cluster.Member) func() error) func(ctx context.Context) (func() error, error) {
	return func(ctx context.Context) (func() error, error) {
		member, err := role(ctx)
		if err != nil {
			return nil, err
		}
		cause(member)
		return mend(member), nil
	}
}

// fill fills the disk of the primary. Without a disk of its own, which only root may mount, nothing is done.
func (m *machines) fill(ctx context.Context) (func() error, error) {
	member, err := m.c.Primary(ctx)
	if err != nil {
		return nil, err
	}
	if !member.CanFill() {
		m.say("no disk was filled: only root may mount one for it")
		return func() error { return nil }, nil
	}
	return member.EmptyDisk, member.FillDisk()
}
