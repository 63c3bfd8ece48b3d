// Package harness runs the built service as in production, each part in a process of its own (Postgres, Temporal, API,
// worker), on ports of this machine, to measure it or to inject faults from outside. Postgres has full durability. The
// package uses the command line and the environment of the binary and none of its code. Only tools may import it.
package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/local/subprocess"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/testing/faultproxy"
)

// Options configure the rig.
type Options struct {
	Dir              string // made, and emptied at the end
	Binary, Devstack string // paths
	SearchAttributes []string
	Namespaces       []string // Temporal namespaces besides the service's own, for Beside
	Temporal         bool     // whether a Temporal server is started; without it the service runs degraded
	// Proxied puts a proxy in front of Postgres and of Temporal, so that they can be cut off.
	Proxied bool
	// DatabaseURL is the service's database on servers that the caller runs; no Postgres is started then, and none is proxied.
	DatabaseURL string
	Env         []string // further settings of API and worker, NAME=value
	SigningKeys string   // backends of the signing keys, as in COUNTERSIGN_SIGNING_KEYS; empty is software
	Postgres    []string // further settings of Postgres, name=value
	// Archived gives Temporal a Postgres of its own and has both servers archive their logs, so that each can be restored.
	Archived bool
	// FakeTime is the library that moves the clock of Postgres (libfaketime); with it MoveClock works, if Binary is a build with the tag
	// movableclock. Empty: clocks are the machine's.
	FakeTime string
	// TemporalCluster starts Temporal as a cluster of seven processes; nil starts one.
	TemporalCluster *TemporalCluster
	Say             func(format string, args ...any)
}

// Rig is the running service and its servers.
type Rig struct {
	Postgres, Temporal *Process   // Postgres is nil with Options.DatabaseURL, Temporal with Options.TemporalCluster
	Members            []*Process // of the cluster
	// Data and TemporalData are the servers of the service's database and, if Archived, of Temporal's.
	Data, TemporalData *Database
	API, Worker        *Service
	// ToPostgres and ToTemporal are how API and worker reach them, and Temporal its Postgres; nil unless Proxied.
	ToPostgres, ToTemporal *faultproxy.Proxy
	MasterKey              string
	// SigningKeys is Options.SigningKeys for the commands from now on: the first backend creates the keys of a tenant.
	SigningKeys string

	o Options

	temporal string     // how the service reaches Temporal
	copies   []*Service // made by Copy
	beside   []*Rig     // made by Beside
	peers    []*Service // made by OpenFGA
	guest    bool       // made by Beside: the servers are those of another rig
}

// Service is the API or the worker.
type Service struct {
	*Process
	URL    string // of the API; nothing listens there for the worker
	OpsURL string
}

// database is the name of the service's database in the private cluster.
const database = "countersign"

// Up starts Postgres and Temporal and migrates. API and worker are prepared
// and not started, so that the caller can prepare the database first. The
// caller calls Down.
func Up(ctx context.Context, o Options) (*Rig, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	r := &Rig{o: o, MasterKey: keyring.Generate(), SigningKeys: o.SigningKeys}
	if err := r.up(ctx); err != nil {
		return nil, errors.Join(err, r.Down())
	}
	return r, nil
}

// up starts the servers in the order in which they need each other.
func (r *Rig) up(ctx context.Context) error {
	if err := os.MkdirAll(r.o.Dir, 0o755); err != nil { // #nosec G301 -- the user that Postgres runs as passes through
		return err
	}
	if r.o.DatabaseURL == "" {
		if err := r.startPostgres(ctx); err != nil {
			return err
		}
	}
	if _, err := r.Run(ctx, "migrate"); err != nil {
		return err
	}
	grpc, err := r.describeTemporal()
	if err != nil {
		return err
	}
	if r.o.Temporal {
		if err := r.startTemporal(ctx); err != nil {
			return err
		}
	}
	return r.describeServices(grpc)
}

// startPostgres starts the servers and creates the database. A restart uses
// the same port, because API and worker keep the URL.
func (r *Rig) startPostgres(ctx context.Context) error {
	r.Data = r.newDatabase("postgres")
	r.Postgres = r.Data.Process
	if err := r.Data.Start(ctx); err != nil {
		return err
	}
	if err := r.Data.server.Create(ctx, database); err != nil {
		return err
	}
	if r.o.Archived {
		r.TemporalData = r.newDatabase("temporal-postgres")
		if err := r.TemporalData.Start(ctx); err != nil {
			return err
		}
	}
	if !r.o.Proxied {
		return nil
	}
	var err error
	r.ToPostgres, err = faultproxy.New(fmt.Sprintf("127.0.0.1:%d", r.Data.port))
	return err
}

// TemporalAddress is where the service reaches Temporal, as host:port.
func (r *Rig) TemporalAddress() string { return r.temporal }

// DatabaseURL connects to the service's database directly, without a proxy.
func (r *Rig) DatabaseURL() string {
	if r.o.DatabaseURL != "" {
		return r.o.DatabaseURL
	}
	return r.Data.server.URL(database)
}

// serviceDatabaseURL is the URL that the service uses, through the proxy if
// there is one.
func (r *Rig) serviceDatabaseURL() string {
	if r.ToPostgres == nil {
		return r.DatabaseURL()
	}
	return r.ToPostgres.URL(r.DatabaseURL())
}

// temporalDatabaseURL is the URL of Temporal's Postgres, whose password changes if an empty server replaces it.
func (r *Rig) temporalDatabaseURL() string {
	if r.TemporalData == nil {
		return r.serviceDatabaseURL()
	}
	return r.TemporalData.server.URL("postgres")
}

// describeTemporal prepares the Temporal process and returns the address
// that the service uses.
func (r *Rig) describeTemporal() (address string, err error) {
	if cluster := r.o.TemporalCluster; cluster != nil {
		if err := r.describeMembers(); err != nil {
			return "", err
		}
		return r.proxied(cluster.Balancer)
	}
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
	for _, name := range r.o.Namespaces {
		args = append(args, "--namespace", name)
	}
	r.Temporal = &Process{Name: "temporal", ready: func(context.Context) error {
		_, err := os.Stat(ready)
		return err
	}}
	r.Temporal.launch = func(ctx context.Context) (handle, error) {
		if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
			return handle{}, err
		}
		env := []string{"DEVSTACK_DATABASE_URL=" + r.temporalDatabaseURL()}
		return r.program("temporal", r.o.Devstack, args, env, nil).launch(ctx)
	}
	return r.proxied(fmt.Sprintf("127.0.0.1:%d", grpc))
}

// proxied returns the address at which the service reaches Temporal.
func (r *Rig) proxied(address string) (at string, err error) {
	if !r.o.Proxied {
		return address, nil
	}
	if r.ToTemporal, err = faultproxy.New(address); err != nil {
		return "", err
	}
	return r.ToTemporal.Address(), nil
}

// describeServices prepares API and worker.
func (r *Rig) describeServices(temporal string) error {
	r.temporal = temporal
	var err error
	if r.API, err = r.newService("api", r.serviceDatabaseURL(), true); err != nil {
		return err
	}
	r.Worker, err = r.newService("worker", r.serviceDatabaseURL(), false)
	return err
}

// newService prepares an API, or a worker, on a database.
func (r *Rig) newService(name, database string, api bool) (*Service, error) {
	var at [2]string
	for i := range at {
		port, err := dev.PickPort(0)
		if err != nil {
			return nil, err
		}
		at[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	s := &Service{URL: "http://" + at[0], OpsURL: "http://" + at[1]}
	env := slices.Concat(r.env(), []string{
		"COUNTERSIGN_DATABASE_URL=" + database, "COUNTERSIGN_BASE_URL=" + s.URL, "COUNTERSIGN_TEMPORAL_ADDRESS=" + r.temporal,
		"COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK=true", "COUNTERSIGN_OPS_LISTEN=" + at[1],
	}, r.clockEnv(name), r.o.Env)
	args := []string{"worker"}
	if api {
		args = []string{"serve", "--listen", at[0]}
	}
	s.Process = r.program(name, r.o.Binary, args, env, s.checkReady)
	return s, nil
}

// Copy stops the API, copies the database under a new name, and prepares an
// API on the copy, with the same tenants and keys. The worker must not run.
func (r *Rig) Copy(ctx context.Context, name string) (api *Service, url string, err error) {
	if err := r.API.Stop(); err != nil {
		return nil, "", err
	}
	conn, err := pgx.Connect(ctx, r.Data.server.URL("postgres"))
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	into := pgx.Identifier{database + "_" + name}
	if _, err := conn.Exec(ctx, "create database "+into.Sanitize()+" template "+database); err != nil {
		return nil, "", err
	}
	url = r.Data.server.URL(into[0])
	api, err = r.newService("api-"+name, url, true)
	r.copies = append(r.copies, api)
	return api, url, err
}

// env is the environment that every command of the binary needs.
func (r *Rig) env() []string {
	env := []string{"COUNTERSIGN_DATABASE_URL=" + r.serviceDatabaseURL(), "COUNTERSIGN_MASTER_KEY=" + r.MasterKey}
	if r.SigningKeys != "" {
		env = append(env, "COUNTERSIGN_SIGNING_KEYS="+r.SigningKeys)
	}
	return env
}

// checkReady returns an error unless /readyz returns status 200. The
// process calls it repeatedly until it succeeds.
func (s *Service) checkReady(ctx context.Context) error {
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
		return fmt.Errorf("readyz returned status %d", resp.StatusCode)
	}
	return nil
}

// program prepares a process of a binary whose output is appended to a log
// file of its name.
func (r *Rig) program(name, path string, args, env []string, ready func(context.Context) error) *Process {
	return &Process{Name: name, ready: ready, launch: func(context.Context) (handle, error) {
		log, err := os.OpenFile(r.Log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return handle{}, err
		}
		defer func() { _ = log.Close() }()
		c, err := subprocess.Start(subprocess.Spec{Path: path, Args: args, Env: append(os.Environ(), env...), Output: log, Orphaned: syscall.SIGTERM})
		if err != nil {
			return handle{}, err
		}
		return handle{pid: c.PID(), done: c.Done(), stop: func() error { return c.Stop(syscall.SIGTERM, 30*time.Second) }}, nil
	}}
}

// Log is the path of a part's log. Postgres logs only its start there.
func (r *Rig) Log(name string) string { return filepath.Join(r.o.Dir, name+".log") }

// Down stops everything, in the reverse order of starting, and removes the
// data.
func (r *Rig) Down() error {
	var err error
	for _, other := range r.beside {
		err = errors.Join(err, other.Down())
	}
	for _, s := range slices.Concat(r.peers, r.copies, []*Service{r.API, r.Worker}) {
		if s != nil {
			err = errors.Join(err, s.Stop())
		}
	}
	if r.guest {
		return err
	}
	err = errors.Join(err, r.stopTemporal())
	for _, p := range []*faultproxy.Proxy{r.ToPostgres, r.ToTemporal} {
		if p != nil {
			p.Close()
		}
	}
	for _, d := range []*Database{r.TemporalData, r.Data} {
		if d != nil {
			err = errors.Join(err, d.remove())
		}
	}
	return err
}
