// Command ha runs the built service on a Postgres cluster of three members (make ha): Patroni, etcd and HAProxy on ports of this
// machine. It prints how to reach each part and how to break it, and removes everything at the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/proving/cluster"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/workflows"
)

func main() { harness.Main("make ha", run) }

func run(ctx context.Context) (err error) {
	o := harness.Options{Temporal: true, SearchAttributes: workflows.SearchAttributes(), Say: say}
	o.Flags(flag.CommandLine, ".data/ha")
	flag.Parse()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil { // #nosec G301 -- the user that Postgres runs as passes through
		return err
	}
	say("starting three Postgres servers under Patroni, with etcd and HAProxy")
	c, err := cluster.Up(ctx, cluster.Options{Dir: o.Dir, Frontends: 2, Say: say})
	if err != nil {
		return err
	}
	defer func() { _ = c.Down() }()
	if err := c.Create(ctx, "countersign"); err != nil {
		return err
	}
	say("starting a Temporal cluster of seven processes, the API and a worker on it")
	o.DatabaseURL = c.URL("countersign")
	o.TemporalCluster = &harness.TemporalCluster{Frontends: c.Frontends, Balancer: c.TemporalAddress()}
	r, err := harness.Up(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = r.Down() }()
	t, err := r.NewTenant(ctx, "Demo")
	if err != nil {
		return err
	}
	for _, s := range []*harness.Service{r.API, r.Worker} {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	describe(o, c, r, t)
	<-ctx.Done()
	return nil
}

func say(format string, args ...any) { fmt.Printf("- "+format+"\n", args...) }

// describe prints where everything is.
func describe(o harness.Options, c *cluster.Cluster, r *harness.Rig, t harness.Tenant) {
	fmt.Printf(`
API            %s  (health: %s/readyz)
server key     %s
admin key      %s
primary        %s
standbys       %s
Temporal       %s
logs           %s

The members, their primary and a switchover, which is short after a checkpoint and without a candidate:
  patronictl -c %[9]s list
  psql "%[5]s" -c checkpoint
  patronictl -c %[9]s switchover --force
Lose the machine of a member: kill -9 the process ids of its Patroni and its Postgres:
`, r.API.URL, r.API.OpsURL, t.Server, t.Admin, c.URL("countersign"), c.StandbyURL("countersign"), c.TemporalAddress(), filepath.Join(o.Dir, "*.log"),
		c.Members[0].Config())
	for _, m := range c.Members {
		fmt.Printf("  %s: kill -9 %s\n", m.Name, m.PIDs())
	}
	fmt.Println("Lose a process of Temporal:")
	for _, p := range r.Members {
		fmt.Printf("  %s: kill -9 %d\n", p.Name, p.PIDs()[0])
	}
	fmt.Println("Ctrl-C ends everything and removes the data.")
}
