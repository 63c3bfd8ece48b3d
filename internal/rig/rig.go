// Package rig runs the built service as it runs in production, each part a process of its own (Postgres, Temporal, API,
// worker), on ports of this machine, for what measures or breaks it from outside. Postgres keeps its full durability. The
// package knows the binary's command line and environment, not its insides, and nothing but tools may import it.
package rig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/child"
	"github.com/countersign-dev/countersign/internal/dev"
	"github.com/countersign-dev/countersign/internal/keyring"
	"github.com/countersign-dev/countersign/internal/localpg"
)

// Options say what to run.
type Options struct {
	Dir              string // made, and emptied at the end
	Binary, Devstack string // paths
	SearchAttributes []string
	Temporal         bool // whether a Temporal server is started; without it the service runs degraded
	// Proxied puts a proxy in front of Postgres and of Temporal, so that they can be cut off.
	Proxied bool
	Env     []string // further settings of API and worker, NAME=value
	Say     func(format string, args ...any)
}

// Rig is what runs.
type Rig struct {
	Postgres, Temporal *Process
	API, Worker        *Service
	// ToPostgres and ToTemporal are how API and worker reach them, and Temporal its Postgres; nil unless Proxied.
	ToPostgres, ToTemporal *Proxy
	MasterKey              string

	o      Options
	server *localpg.Server
	pgPort int
}

// Service is the API or the worker.
type Service struct {
	*Process
	URL    string // of the API; empty for the worker
	OpsURL string
}

// database is the product's database in the private cluster.
const database = "countersign"

// Up starts Postgres and Temporal and migrates. API and worker are described and not yet started: the caller may have
// something to prepare (Seal).
func Up(ctx context.Context, o Options) (*Rig, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	r := &Rig{o: o, MasterKey: keyring.Generate()}
	if err := r.up(ctx); err != nil {
		return nil, errors.Join(err, r.Down())
	}
	return r, nil
}

func (r *Rig) up(ctx context.Context) error {
	if err := os.MkdirAll(r.o.Dir, 0o755); err != nil { // #nosec G301 -- the user that Postgres runs as passes through
		return err
	}
	if err := r.startPostgres(ctx); err != nil {
		return err
	}
	if _, err := r.Run(ctx, "migrate"); err != nil {
		return err
	}
	grpc, err := r.describeTemporal()
	if err != nil {
		return err
	}
	if r.o.Temporal {
		if err := r.Temporal.Start(ctx); err != nil {
			return err
		}
	}
	return r.describeServices(grpc)
}

func (r *Rig) startPostgres(ctx context.Context) error {
	r.Postgres = &Process{Name: "postgres", launch: func(ctx context.Context) (handle, error) {
		s, err := localpg.Start(ctx, localpg.Options{Dir: filepath.Join(r.o.Dir, "postgres"), Port: r.pgPort, Say: r.o.Say})
		if err != nil {
			return handle{}, err
		}
		r.server = s
		return handle{pid: s.PID(), done: s.Done(), stop: s.Stop}, nil
	}}
	if err := r.Postgres.Start(ctx); err != nil {
		return err
	}
	r.pgPort = r.server.Port()
	if err := r.server.Create(ctx, database); err != nil {
		return err
	}
	if !r.o.Proxied {
		return nil
	}
	var err error
	r.ToPostgres, err = NewProxy(fmt.Sprintf("127.0.0.1:%d", r.pgPort))
	return err
}

// DatabaseURL reaches the product's database directly, past any proxy.
func (r *Rig) DatabaseURL() string { return r.server.URL(database) }

// serviceDatabaseURL is how the service reaches it.
func (r *Rig) serviceDatabaseURL() string {
	if r.ToPostgres == nil {
		return r.DatabaseURL()
	}
	return r.ToPostgres.URL(r.DatabaseURL())
}

// describeTemporal answers the address by which the service reaches it.
func (r *Rig) describeTemporal() (address string, err error) {
	grpc, err := dev.PickPort(0)
	if err != nil {
		return "", err
	}
	ui, err := dev.PickPort(0)
	if err != nil {
		return "", err
	}
	ready := filepath.Join(r.o.Dir, "temporal.json")
	args := []string{"--frontend-port", strconv.Itoa(grpc), "--ui-port", strconv.Itoa(ui), "--namespace", dev.Namespace,
		"--ready-file", ready, "--parent-pid", strconv.Itoa(os.Getpid()), "--database-wait", startWithin.String()}
	for _, name := range r.o.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	r.Temporal = r.program("temporal", r.o.Devstack, args, []string{"DEVSTACK_DATABASE_URL=" + r.serviceDatabaseURL()}, func(context.Context) error {
		_, err := os.Stat(ready)
		return err
	})
	inner := r.Temporal.launch
	r.Temporal.launch = func(ctx context.Context) (handle, error) {
		if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
			return handle{}, err
		}
		return inner(ctx)
	}
	address = fmt.Sprintf("127.0.0.1:%d", grpc)
	if !r.o.Proxied {
		return address, nil
	}
	if r.ToTemporal, err = NewProxy(address); err != nil {
		return "", err
	}
	return r.ToTemporal.Address(), nil
}

func (r *Rig) describeServices(temporal string) error {
	var ports [3]int
	for i := range ports {
		var err error
		if ports[i], err = dev.PickPort(0); err != nil {
			return err
		}
	}
	at := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	url := "http://" + at(ports[0])
	env := append(r.env(), "COUNTERSIGN_BASE_URL="+url, "COUNTERSIGN_TEMPORAL_ADDRESS="+temporal,
		"COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK=true")
	env = append(env, r.o.Env...)
	service := func(name, opsAddress string, args ...string) *Service {
		s := &Service{OpsURL: "http://" + opsAddress}
		s.Process = r.program(name, r.o.Binary, args, append(env, "COUNTERSIGN_OPS_LISTEN="+opsAddress), s.answers)
		return s
	}
	r.API = service("api", at(ports[1]), "serve", "--listen", at(ports[0]))
	r.API.URL = url
	r.Worker = service("worker", at(ports[2]), "worker")
	return nil
}

// env is what every command of the binary needs.
func (r *Rig) env() []string {
	return []string{"COUNTERSIGN_DATABASE_URL=" + r.serviceDatabaseURL(), "COUNTERSIGN_MASTER_KEY=" + r.MasterKey}
}

// answers asks the operations port.
func (s *Service) answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.OpsURL+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz answers %d", resp.StatusCode)
	}
	return nil
}

// program is a process of a binary whose output is appended to a log of its name.
func (r *Rig) program(name, path string, args, env []string, ready func(context.Context) error) *Process {
	return &Process{Name: name, ready: ready, launch: func(context.Context) (handle, error) {
		log, err := os.OpenFile(r.Log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return handle{}, err
		}
		defer func() { _ = log.Close() }()
		c, err := child.Start(child.Spec{Path: path, Args: args, Env: append(os.Environ(), env...), Output: log, Orphaned: syscall.SIGTERM})
		if err != nil {
			return handle{}, err
		}
		return handle{pid: c.PID(), done: c.Done(), stop: func() error { return c.Stop(syscall.SIGTERM, 30*time.Second) }}, nil
	}}
}

// Log is the path of a part's log; of Postgres, only what it says at a start.
func (r *Rig) Log(name string) string { return filepath.Join(r.o.Dir, name+".log") }

// Down stops all that runs, last started first, and removes the data.
func (r *Rig) Down() error {
	var err error
	for _, s := range []*Service{r.API, r.Worker} {
		if s != nil {
			err = errors.Join(err, s.Stop())
		}
	}
	for _, p := range []*Process{r.Temporal, r.Postgres} {
		if p != nil {
			err = errors.Join(err, p.Stop())
		}
	}
	for _, p := range []*Proxy{r.ToPostgres, r.ToTemporal} {
		if p != nil {
			p.Close()
		}
	}
	if r.server != nil {
		err = errors.Join(err, os.RemoveAll(r.server.Dir()))
	}
	return err
}
