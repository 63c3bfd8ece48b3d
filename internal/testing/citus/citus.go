// Package citus runs a Citus cluster for tests: a coordinator and its workers, each a Postgres of its own on this machine. It needs a tree of
// Postgres with the extension installed, which localpg finds by COUNTERSIGN_POSTGRES_BINARIES. It is for tests and benchmarks: the servers ask for no
// password and lose what they have not written when the machine stops.
package citus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/localpg"
)

// WorkersEnv is the environment variable with the URLs of the workers, separated by spaces. With it, the server of tests is their coordinator.
const WorkersEnv = "COUNTERSIGN_TEST_CITUS_WORKERS"

// Workers returns the URLs in WorkersEnv; none without a cluster.
func Workers() []string { return strings.Fields(os.Getenv(WorkersEnv)) }

// workers is how many a cluster has: two, so that a statement over all environments and one of a single environment differ.
const workers = 2

// settings are those of each server. A database of a test is one on each of them, with a background process of the extension.
var settings = []string{
	"shared_preload_libraries=citus", "wal_level=logical", "max_prepared_transactions=200", "max_worker_processes=200", "max_connections=500",
	"max_wal_senders=20", "max_replication_slots=20", "citus.node_conninfo=sslmode=disable", "citus.local_hostname=127.0.0.1", "citus.shard_count=4",
}

// anyone is the file of a server that lets every user of this machine in.
const anyone = "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"

// Cluster is a running coordinator with its workers.
type Cluster struct {
	servers []*localpg.Server
	options []localpg.Options // of the servers
	folder  string            // that Stop removes; empty is none
}

// Use makes the Postgres of a folder, whose bin/ has the extension installed, the one of this process (localpg.BinariesEnv).
func Use(folder string) error { return os.Setenv(localpg.BinariesEnv, filepath.Join(folder, "bin")) }

// Temporary starts a cluster that loses nothing at a crash, with files in a folder of its own, which Stop removes.
func Temporary(ctx context.Context, say func(format string, args ...any)) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "citus")
	if err == nil {
		err = os.Chmod(dir, 0o755) // #nosec G302 -- the user that Postgres runs as passes through
	}
	if err != nil {
		return nil, err
	}
	c, err := Start(ctx, dir, durable, say)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c.folder = dir
	return c, nil
}

// Start starts a cluster with files in a folder that the user postgres can enter.
func Start(ctx context.Context, dir string, more []string, say func(format string, args ...any)) (*Cluster, error) {
	trusting := filepath.Join(dir, "trust.conf")
	if err := os.WriteFile(trusting, []byte(anyone), 0o644); err != nil { // #nosec G306 -- the user that Postgres runs as reads it
		return nil, err
	}
	c := &Cluster{}
	for i := range 1 + workers {
		o := localpg.Options{
			Dir: filepath.Join(dir, "citus-"+strconv.Itoa(i)), Ephemeral: true, Say: say, Settings: append(append([]string{"hba_file=" + trusting}, settings...), more...),
		}
		s, err := localpg.Start(ctx, o)
		if err != nil {
			c.Stop()
			return nil, err
		}
		o.Port = s.Port()
		c.servers, c.options = append(c.servers, s), append(c.options, o)
	}
	return c, nil
}

// Kill ends worker i, from 0, with SIGKILL.
func (c *Cluster) Kill(i int) error {
	s := c.servers[1+i]
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		return err
	}
	<-s.Done()
	return nil
}

// Restart starts worker i, from 0, at its port again after Kill.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	s, err := localpg.Start(ctx, c.options[1+i])
	if err == nil {
		c.servers[1+i] = s
	}
	return err
}

// URL returns the URL of a database of the coordinator.
func (c *Cluster) URL(database string) string { return c.servers[0].URL(database) }

// Workers returns the URLs of a database of each worker.
func (c *Cluster) Workers(database string) []string {
	var urls []string
	for _, s := range c.servers[1:] {
		urls = append(urls, s.URL(database))
	}
	return urls
}

// Join makes a cluster of the databases with a name, which every server has.
func (c *Cluster) Join(ctx context.Context, database string) error {
	return Join(ctx, append([]string{c.URL(database)}, c.Workers(database)...))
}

// PIDs returns the process ids of the postmasters.
func (c *Cluster) PIDs() (pids []int) {
	for _, s := range c.servers {
		pids = append(pids, s.PID())
	}
	return pids
}

// Stop ends the servers, the workers last: the coordinator has connections to them.
func (c *Cluster) Stop() {
	for _, s := range c.servers {
		_ = s.Stop()
	}
	if c.folder != "" {
		_ = os.RemoveAll(c.folder)
	}
}

// durable undoes what a cluster of tests gives up for speed.
var durable = []string{"fsync=on", "synchronous_commit=on", "full_page_writes=on"}

// Join makes a cluster of databases that exist on each of its servers, the coordinator's first.
func Join(ctx context.Context, urls []string) error {
	for _, u := range urls {
		if err := run(ctx, u, "create extension citus"); err != nil {
			return err
		}
	}
	coordinator := urls[0]
	host, port, err := address(coordinator)
	if err == nil {
		err = run(ctx, coordinator, fmt.Sprintf("select citus_set_coordinator_host('%s', %d)", host, port))
	}
	for _, u := range urls[1:] {
		if err == nil {
			host, port, err = address(u)
		}
		if err == nil {
			err = run(ctx, coordinator, fmt.Sprintf("select citus_add_node('%s', %d)", host, port))
		}
	}
	return err
}

func address(database string) (host string, port int, err error) {
	u, err := url.Parse(database)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(u.Port())
	return u.Hostname(), port, err
}

func run(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}
