// Package citus runs a Citus cluster for tests: a coordinator and its workers, each a Postgres of its own on this machine. It needs a tree of
// Postgres with the extension installed, which localpg finds by COUNTERSIGN_POSTGRES_BINARIES. It is for tests only: the servers ask for no
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
type Cluster struct{ servers []*localpg.Server }

// Start starts a cluster with files in a folder that the user postgres can enter.
func Start(ctx context.Context, dir string, more []string, say func(format string, args ...any)) (*Cluster, error) {
	trusting := filepath.Join(dir, "trust.conf")
	if err := os.WriteFile(trusting, []byte(anyone), 0o644); err != nil { // #nosec G306 -- the user that Postgres runs as reads it
		return nil, err
	}
	c := &Cluster{}
	for i := range 1 + workers {
		s, err := localpg.Start(ctx, localpg.Options{
			Dir: filepath.Join(dir, "citus-"+strconv.Itoa(i)), Ephemeral: true, Say: say, Settings: append(append([]string{"hba_file=" + trusting}, settings...), more...),
		})
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.servers = append(c.servers, s)
	}
	return c, nil
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

// Stop ends the servers, the workers last: the coordinator has connections to them.
func (c *Cluster) Stop() {
	for _, s := range c.servers {
		_ = s.Stop()
	}
}

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
