// Package cluster runs Postgres as in production with three members on ports of this machine: Patroni with etcd chooses the
// primary, both standbys are synchronous, and HAProxy forwards to the primary. Every way to a member leads through a proxy, so that a
// member can be cut off. It knows nothing of the service. Only tools may import it.
package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// Options configure the cluster.
type Options struct {
	Dir string // made, and emptied at the end
	// Disk is the size in MiB of a file system of its own, in memory, for each member, so that it can be filled, and for etcd, which has no
	// leader while a busy disk takes seconds to write; 0, or a user who may not mount one, is a folder.
	Disk int
	// Frontends is for how many frontends of a Temporal cluster HAProxy has a port.
	Frontends int
	Say       func(format string, args ...any)
}

// Cluster is the running cluster.
type Cluster struct {
	Members [3]*Member
	// Frontends are addresses for the frontends of Temporal, which the caller starts.
	Frontends []string

	o        Options
	postgres localpg.Installation
	programs map[string]string // paths by name
	password string
	etcd     *subprocess.Process
	etcdDisk bool // etcd has a file system of its own
	haproxy  *subprocess.Process
	ports    ports

	stopWatch context.CancelFunc // nil before the disks are watched
	watch     sync.WaitGroup
}

// ports are where the shared parts listen on 127.0.0.1. Primary, Standby and Temporal are HAProxy's.
type ports struct{ etcd, etcdPeer, Primary, Standby, Temporal int }

// upWithin bounds the time until all members stream, on a machine that does much else.
const upWithin = 3 * time.Minute

// ErrMissing says that a program of the cluster is not installed.
var ErrMissing = errors.New("patroni, etcd and haproxy are needed: make ha-packages installs them on Debian")

// Up starts the cluster and waits until it is whole. The caller calls Down.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	c := &Cluster{o: o, password: rand.Text(), programs: map[string]string{}}
	if err := c.up(ctx); err != nil {
		return nil, errors.Join(err, c.Down())
	}
	return c, nil
}

// up starts the parts in the order in which they need each other.
func (c *Cluster) up(ctx context.Context) error {
	if err := c.find(); err != nil {
		return err
	}
	var err error
	if c.postgres, err = localpg.Locate(ctx, c.o.Dir, c.o.Say); err != nil {
		return err
	}
	if err := pick(&c.ports.etcd, &c.ports.etcdPeer, &c.ports.Primary, &c.ports.Standby, &c.ports.Temporal); err != nil {
		return err
	}
	for range c.o.Frontends {
		var port int
		if err := pick(&port); err != nil {
			return err
		}
		c.Frontends = append(c.Frontends, address(port))
	}
	if err := c.startEtcd(); err != nil {
		return err
	}
	for i := range c.Members {
		if c.Members[i], err = c.newMember(fmt.Sprintf("pg%d", i+1)); err != nil {
			return err
		}
		if err := c.Members[i].Start(); err != nil {
			return err
		}
	}
	if err := c.startHAProxy(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	if err := c.AwaitWhole(waiting); err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stopWatch = stop
	c.watch.Go(func() { c.watchDisks(watching) })
	return nil
}

// find looks up the programs. Those of servers are in folders that are not on every user's PATH.
func (c *Cluster) find() error {
	for _, name := range []string{"patroni", "etcd", "haproxy"} {
		path, err := exec.LookPath(name)
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
			if err != nil {
				path, err = exec.LookPath(filepath.Join(dir, name))
			}
		}
		if err != nil {
			return fmt.Errorf("%w (%s was not found)", ErrMissing, name)
		}
		c.programs[name] = path
	}
	return nil
}

// pick reserves free ports.
func pick(into ...*int) error {
	for _, p := range into {
		var err error
		if *p, err = dev.PickPort(0); err != nil {
			return err
		}
	}
	return nil
}

// startEtcd starts etcd with one node. Production needs three: a cluster without etcd has no primary.
func (c *Cluster) startEtcd() (err error) {
	if err := os.MkdirAll(c.etcdDir(), 0o700); err != nil {
		return err
	}
	c.etcdDisk = c.o.Disk > 0 && mount(c.etcdDir(), c.o.Disk) == nil
	if err := c.own(c.etcdDir()); err != nil {
		return err
	}
	client, peer := local("http", c.ports.etcd), local("http", c.ports.etcdPeer)
	c.etcd, err = c.start("etcd", c.programs["etcd"], "--name", "etcd1", "--data-dir", c.etcdDir(),
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "etcd1="+peer, "--log-level", "warn")
	return err
}

func (c *Cluster) etcdDir() string { return filepath.Join(c.postgres.Dir, "etcd") }

// own gives a path to the user that Postgres runs as.
func (c *Cluster) own(path string) error {
	u := c.postgres.User
	if u == nil {
		return nil
	}
	return os.Chown(path, int(u.UID), int(u.GID))
}

// startHAProxy starts HAProxy in the foreground.
func (c *Cluster) startHAProxy() (err error) {
	path := filepath.Join(c.postgres.Dir, "haproxy.cfg")
	if err := os.WriteFile(path, []byte(c.haproxyConfig()), 0o644); err != nil { // #nosec G306 -- it contains no secret, and a different user reads it
		return err
	}
	c.haproxy, err = c.start("haproxy", c.programs["haproxy"], "-db", "-f", path)
	return err
}

// start starts a program as Postgres' user, with a log file of its name.
func (c *Cluster) start(name, path string, args ...string) (*subprocess.Process, error) {
	log, err := os.OpenFile(c.Log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	return subprocess.Start(subprocess.Spec{
		Path: path, Args: args, Dir: c.postgres.Dir, Env: append(os.Environ(), "HOME="+c.postgres.Dir, "LC_ALL=C.UTF-8"),
		User: c.postgres.User, Output: log, Orphaned: syscall.SIGTERM,
	})
}

// Log is the path of a part's log: etcd, haproxy, or the name of a member.
func (c *Cluster) Log(name string) string { return filepath.Join(c.o.Dir, name+".log") }

// URL connects to a database of the primary, through HAProxy. It contains the password.
func (c *Cluster) URL(database string) string { return c.url(address(c.ports.Primary), database) }

// StandbyURL connects to a database of some standby, through HAProxy.
func (c *Cluster) StandbyURL(database string) string {
	return c.url(address(c.ports.Standby), database)
}

// TemporalAddress is where HAProxy forwards to a frontend that works.
func (c *Cluster) TemporalAddress() string { return address(c.ports.Temporal) }

// DirectURL connects to a database of the primary without HAProxy: it names every member, and the client tries them in turn.
func (c *Cluster) DirectURL(database string) string {
	var hosts []string
	for _, m := range c.Members {
		hosts = append(hosts, m.toPostgres.Address())
	}
	return c.url(strings.Join(hosts, ","), database)
}

func (c *Cluster) url(host, database string) string {
	u := url.URL{Scheme: "postgres", Host: host, Path: "/" + database,
		User: url.UserPassword(superuser, c.password), RawQuery: "sslmode=disable"}
	return u.String()
}

// Create creates a database. It returns when the standbys have it too, because a client that names every member does not go on to
// the next after one that has no such database.
func (c *Cluster) Create(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "set synchronous_commit = remote_apply"); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "create database "+pgx.Identifier{database}.Sanitize())
	return err
}

// Down ends everything and removes the data. The servers are killed, because nothing of theirs is needed any more.
func (c *Cluster) Down() error {
	if c.stopWatch != nil {
		c.stopWatch()
		c.watch.Wait()
	}
	var err error
	for _, p := range []*subprocess.Process{c.haproxy, c.etcd} {
		if p != nil {
			_ = p.Stop(syscall.SIGKILL, time.Second) // its exit code says that it was killed
		}
	}
	for _, m := range c.Members {
		if m != nil {
			err = errors.Join(err, m.remove())
		}
	}
	if c.postgres.Dir != "" {
		if c.etcdDisk {
			err = errors.Join(err, unmount(c.etcdDir()))
		}
		err = errors.Join(err, os.RemoveAll(c.etcdDir()), os.RemoveAll(filepath.Join(c.postgres.Dir, "haproxy.cfg")))
	}
	return err
}

func local(scheme string, port int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port) }
