package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/local/dev"
)

// TemporalCluster is how a cluster of Temporal servers is reached, in place of one server.
type TemporalCluster struct {
	Frontends []string // addresses that the frontends listen at
	Balancer  string   // address that forwards to one that works
}

// members are the processes of the cluster besides the frontends.
var members = []string{"history1", "history2", "matching1", "matching2", "worker1"}

// describeMembers prepares the processes of a cluster, one service each.
func (r *Rig) describeMembers() error {
	for i, at := range r.o.TemporalCluster.Frontends {
		_, port, err := net.SplitHostPort(at)
		if err != nil {
			return err
		}
		r.Members = append(r.Members, r.member(fmt.Sprintf("frontend%d", i+1), "--frontend-port", port))
	}
	for _, name := range members {
		r.Members = append(r.Members, r.member(name, "--frontend-port", "0"))
	}
	return nil
}

// member prepares one process, whose service is its name without the number.
func (r *Rig) member(name string, more ...string) *Process {
	ready := filepath.Join(r.o.Dir, name+".json")
	args := append(more, "--services", strings.TrimRight(name, "0123456789"), "--namespace", dev.Namespace,
		"--ready-file", ready, "--parent-pid", strconv.Itoa(os.Getpid()), "--database-wait", startWithin.String())
	for _, attribute := range r.o.SearchAttributes {
		args = append(args, "--search-attribute", attribute+"=Keyword")
	}
	p := &Process{Name: name, ready: func(context.Context) error {
		_, err := os.Stat(ready)
		return err
	}}
	p.launch = func(ctx context.Context) (handle, error) {
		if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
			return handle{}, err
		}
		return r.program(name, r.o.Devstack, args, []string{"DEVSTACK_DATABASE_URL=" + r.temporalDatabaseURL()}, nil).launch(ctx)
	}
	return p
}

// startTemporal starts the server, or all members of the cluster at once: a frontend is ready when the others are.
func (r *Rig) startTemporal(ctx context.Context) error {
	if len(r.Members) == 0 {
		return r.Temporal.Start(ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range r.Members {
		g.Go(func() error { return p.Start(ctx) })
	}
	return g.Wait()
}

// stopTemporal stops the server, or all members at once.
func (r *Rig) stopTemporal() error {
	all := r.TemporalProcesses()
	errs := make([]error, len(all))
	var stopping sync.WaitGroup
	for i, p := range all {
		stopping.Go(func() { errs[i] = p.Stop() })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

// TemporalProcesses are the server, or the members of the cluster.
func (r *Rig) TemporalProcesses() []*Process {
	if r.Temporal != nil {
		return append([]*Process{r.Temporal}, r.Members...)
	}
	return r.Members
}
