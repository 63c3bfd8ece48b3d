package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Disaster is one way to lose databases, and how they come back.
type Disaster struct {
	Name string
	// The databases that are restored to the point, which was marked under load; more was written afterwards. One that is neither
	// restored nor lost has everything.
	Service, Temporal bool
	TemporalLost      bool // Temporal begins with an empty database
	Tenant            bool // one tenant was deleted; it is copied back, and nothing else is restored
}

// Disasters are all cases of docs/operations.md.
var Disasters = []Disaster{
	// A database that was restored or lost once is the base of the next case.
	{Name: "both restored to the point", Service: true, Temporal: true},
	{Name: "the service's restored, Temporal's newer", Service: true},
	{Name: "Temporal's restored older", Temporal: true},
	{Name: "Temporal's lost", TemporalLost: true},
	{Name: "one tenant restored to the point", Tenant: true},
}

// DrillOptions configure a rehearsal of restores. Of Options it needs Rig, Seed, Clients, CountWorkflows and Out.
type DrillOptions struct {
	Options
	Load      time.Duration // before the point, after it, and after the restore
	Disasters []Disaster
	// Upkeep starts the scheduled tasks that settle overdue records, which production waits minutes for. It asks Temporal.
	// Without it a case in which workflows are lost fails after endWithin.
	Upkeep func(ctx context.Context, address string) error
}

// Restored is the result of one disaster.
type Restored struct {
	Disaster   string
	Steps      []Step
	Backup     int64          // bytes of the service's base backup
	Kept       int            // decisions that were returned before the point
	Lost       map[string]int // what was returned after the point and is gone, by kind
	LostFor    time.Duration  // from the point to the end of the load; 0 if the service's database lost nothing
	Violations []string
}

// Step is one step of a disaster.
type Step struct {
	Name string
	Took time.Duration
}

// Drill rehearses each disaster under load and checks that everything that was returned before the point is there, that nothing
// after it is, and that the service goes on. It returns an error if it could not do so.
func Drill(ctx context.Context, o DrillOptions) ([]Restored, error) {
	o.Rig.Archived = true
	d := &drill{world: &world{Options: o.Options, journal: &Journal{}}, o: o}
	defer d.down()
	d.say("starting the service, with a Postgres of its own for Temporal")
	if err := d.up(ctx); err != nil {
		return nil, err
	}
	// Requests after a restore are made by the same clients, with the same sessions and keys.
	if err := d.meetNeighbour(ctx); err != nil {
		return nil, err
	}
	d.receiver.calm() // a refused webhook is delivered again five minutes later
	var out []Restored
	for i, disaster := range o.Disasters {
		d.say("%s", disaster.Name)
		d.point = fmt.Sprintf("drill-%d", i+1)
		r, err := d.rehearse(ctx, disaster)
		if err != nil {
			return out, fmt.Errorf("%s: %w", disaster.Name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// drill is the state of one rehearsal.
type drill struct {
	*world
	o      DrillOptions
	point  string // name of the restore point
	now    Restored
	marked mark
	// restored is when the service was stopped for the restore.
	restored  time.Time
	neighbour harness.Tenant // a second tenant, without load
	orphans   int            // challenges and holds that Temporal may know and the service does not
	base      struct{ service, temporal harness.Backup }
}

// rehearse loses and restores databases once.
func (d *drill) rehearse(ctx context.Context, c Disaster) (Restored, error) {
	d.now = Restored{Disaster: c.Name}
	if err := d.backUp(ctx); err != nil {
		return d.now, err
	}
	if err := d.loadAroundThePoint(ctx); err != nil {
		return d.now, err
	}
	d.restored = time.Now()
	if err := d.restore(ctx, c); err != nil {
		return d.now, err
	}
	if err := d.step(ctx, "first decision", d.decide); err != nil {
		return d.now, err
	}
	if c.Service {
		d.now.LostFor = d.restored.Sub(d.marked.begun)
		if err := d.prune(ctx); err != nil {
			return d.now, err
		}
	}
	if err := d.load(ctx, d.wait); err != nil {
		return d.now, err
	}
	facts, err := d.end(ctx)
	if err != nil {
		return d.now, err
	}
	d.allowOrphans(&facts)
	d.now.Violations = append(d.now.Violations, Check(d.journal, facts)...)
	return d.now, nil
}

// step does one step and records how long it took.
func (d *drill) step(ctx context.Context, name string, do func(ctx context.Context) error) error {
	begun := time.Now()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(begun)
	d.now.Steps = append(d.now.Steps, Step{name, took})
	d.say("%-34s %6.1f s", name, took.Seconds())
	return nil
}

// wait is how long clients load the service.
func (d *drill) wait(ctx context.Context) error {
	if !pause(ctx, d.o.Load) {
		return ctx.Err()
	}
	return nil
}

// backUp makes a base backup of both servers.
func (d *drill) backUp(ctx context.Context) error {
	return d.step(ctx, "base backups", func(ctx context.Context) (err error) {
		if d.base.service, err = d.rig.Data.Backup(ctx); err != nil {
			return err
		}
		d.now.Backup = d.base.service.Bytes
		d.base.temporal, err = d.rig.TemporalData.Backup(ctx)
		return err
	})
}

// loadAroundThePoint runs the clients, marks the point meanwhile, and has both logs archived.
func (d *drill) loadAroundThePoint(ctx context.Context) error {
	err := d.load(ctx, func(ctx context.Context) error {
		if err := d.wait(ctx); err != nil {
			return err
		}
		if err := d.exportHead(ctx); err != nil {
			return err
		}
		d.marked = d.journal.mark()
		// One after the other: no transaction spans the two servers, and what lies between the marks is on either side.
		for _, database := range []*harness.Database{d.rig.Data, d.rig.TemporalData} {
			if err := database.Mark(ctx, d.point); err != nil {
				return err
			}
			if database == d.rig.Data {
				d.marked.done = time.Now()
			}
		}
		d.now.Kept = d.marked.decisions
		return d.wait(ctx)
	})
	if err != nil {
		return err
	}
	return d.step(ctx, "rest of the log archived", func(ctx context.Context) error {
		return errors.Join(d.rig.Data.AwaitArchive(ctx), d.rig.TemporalData.AwaitArchive(ctx))
	})
}

// headFile is the head of the audit chain that was exported before the point.
func (d *drill) headFile() string { return filepath.Join(d.Options.Rig.Dir, "head.json") }

// exportHead stores the head of the audit chain outside of the database.
func (d *drill) exportHead(ctx context.Context) error {
	head, err := d.rig.Run(ctx, "audit", "head", "--environment", d.tenant.Environment)
	if err != nil {
		return err
	}
	return os.WriteFile(d.headFile(), []byte(head), 0o600)
}

// restore stops the service, loses the databases, restores them and starts the service.
func (d *drill) restore(ctx context.Context, c Disaster) error {
	if c.Tenant {
		return d.restoreTenant(ctx)
	}
	if err := d.step(ctx, "stop API, worker and Temporal", func(context.Context) error {
		return errors.Join(d.rig.API.Stop(), d.rig.Worker.Stop(), d.rig.Temporal.Stop())
	}); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		wish bool
		do   func(ctx context.Context) error
	}{
		{"restore the service's Postgres", c.Service, func(ctx context.Context) error { return d.rig.Data.Restore(ctx, d.base.service, d.point) }},
		{"restore Temporal's Postgres", c.Temporal, func(ctx context.Context) error { return d.rig.TemporalData.Restore(ctx, d.base.temporal, d.point) }},
		{"an empty Postgres for Temporal", c.TemporalLost, func(ctx context.Context) error { return d.rig.TemporalData.Lose(ctx) }},
		{"start Temporal", true, d.rig.Temporal.Start},
		{"start worker and API", true, func(ctx context.Context) error { return errors.Join(d.rig.Worker.Start(ctx), d.rig.API.Start(ctx)) }},
	} {
		if !s.wish {
			continue
		}
		if err := d.step(ctx, s.name, s.do); err != nil {
			return err
		}
	}
	return nil
}

// neighbourName is the name of the second tenant.
const neighbourName = "Neighbour"

// meetNeighbour makes the second tenant, with a record, and stores the head of its log.
func (d *drill) meetNeighbour(ctx context.Context) error {
	var err error
	if d.neighbour, err = d.rig.NewTenant(ctx, neighbourName); err != nil {
		return err
	}
	if err := d.reach(func(sdk *countersign.Client) error {
		return harness.NewAction(ctx, sdk, "payment.release", policies["allow"])
	}); err != nil {
		return err
	}
	head, err := d.rig.Run(ctx, "audit", "head", "--environment", d.neighbour.Environment)
	if err != nil {
		return err
	}
	return os.WriteFile(d.neighbourHead(), []byte(head), 0o600)
}

func (d *drill) neighbourHead() string { return filepath.Join(d.Options.Rig.Dir, "neighbour.json") }

// reach does something with the key of the second tenant.
func (d *drill) reach(do func(sdk *countersign.Client) error) error {
	sdk, err := harness.NewSDK(d.rig.API.URL, d.neighbour.Server, setupTimeout)
	if err != nil {
		return err
	}
	return do(sdk)
}

// restoreTenant deletes the second tenant and copies it back from a server that is restored beside the service's, while the service runs.
func (d *drill) restoreTenant(ctx context.Context) error {
	if err := d.step(ctx, "countersign tenant delete", func(ctx context.Context) error { return d.rig.DeleteTenant(ctx, d.neighbour, neighbourName) }); err != nil {
		return err
	}
	if err := d.step(ctx, "Postgres beside, countersign tenant restore", func(ctx context.Context) error {
		return d.rig.Data.Beside(ctx, d.base.service, d.point, func(url string) error {
			_, err := d.rig.Run(ctx, "tenant", "restore", d.neighbour.ID, "--from", url)
			return err
		})
	}); err != nil {
		return err
	}
	return d.step(ctx, "its log verifies and its key is taken", func(ctx context.Context) error {
		if _, err := d.rig.Run(ctx, "audit", "verify", "--environment", d.neighbour.Environment, "--head", d.neighbourHead()); err != nil {
			return err
		}
		for give := time.Now().Add(endWithin); ; {
			err := d.reach(func(sdk *countersign.Client) error {
				return harness.NewAction(ctx, sdk, "payment.again", policies["allow"])
			})
			if err == nil || time.Now().After(give) || !pause(ctx, time.Second) {
				return err
			}
		}
	})
}

// decide requests decisions until one is made.
func (d *drill) decide(ctx context.Context) error {
	c := *d.clients[0]
	c.rng = rand.New(rand.NewPCG(d.Seed, 0xbeef)) // #nosec G404 -- no secret
	for !c.decidedAtOnce() {
		if !pause(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

const (
	// triggerEvery is how often upkeep is started while something is open.
	triggerEvery = 5 * time.Second
	// endWithin bounds the time until everything has ended. Upkeep settles a record that is overdue by a minute.
	endWithin = 4 * time.Minute
)

// end waits until everything open has ended, starting upkeep meanwhile, and verifies the audit chain against the exported head.
// Its step in the report is shorter than in production, which waits for the schedules.
func (d *drill) end(ctx context.Context) (f Facts, err error) {
	err = d.step(ctx, "everything open has ended", func(ctx context.Context) error {
		next := time.Now()
		for give := time.Now().Add(endWithin); ; {
			if f, err = d.facts(ctx); err != nil || quiet(f) || time.Now().After(give) {
				return err
			}
			if time.Now().After(next) {
				if err := d.o.Upkeep(ctx, d.rig.ToTemporal.Address()); err != nil {
					return err
				}
				next = time.Now().Add(triggerEvery)
			}
			if !pause(ctx, 500*time.Millisecond) {
				return ctx.Err()
			}
		}
	})
	if err != nil {
		return f, err
	}
	return f, d.step(ctx, "countersign audit verify", func(ctx context.Context) error {
		f.Audit = verified(ctx, d.rig, d.tenant.Environment, "--head", d.headFile())
		return nil
	})
}
