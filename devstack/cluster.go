package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// joinWithin bounds how long a member of a cluster tries to join the others.
const joinWithin = 20 * time.Second

// clusterPort is the port of the address by which other clusters would know this one.
const clusterPort = 7233

// setServices parses the services of a member, separated by commas.
func (o *options) setServices(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(temporal.DefaultServices, name) || slices.Contains(o.services, name) {
			return fmt.Errorf("a service is one of %s, given once", strings.Join(temporal.DefaultServices, ", "))
		}
		o.services = append(o.services, name)
	}
	return nil
}

// isMember reports whether this process is one of several of a cluster.
func (o *options) isMember() bool { return len(o.services) > 0 }

// runs reports whether this process runs a service.
func (o *options) runs(name primitives.ServiceName) bool {
	return !o.isMember() || slices.Contains(o.services, string(name))
}

// serveMember runs some services of a cluster, without the UI. The members find each other by gossip (ringpop): each lists itself in the
// database, so that the next one finds it.
func serveMember(ctx context.Context, o options) error {
	started := time.Now()
	var held reservations
	defer held.release()
	ports, err := reserveServices(&held, o.frontendPort)
	if err != nil {
		return err
	}
	gossip := services{}
	for _, name := range o.services {
		if gossip[primitives.ServiceName(name)], err = held.reserveAny(); err != nil {
			return err
		}
	}
	lock, err := prepareDatabases(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close(context.WithoutCancel(ctx)) }()
	logger, err := newServerLog(o.logLevel)
	if err != nil {
		return err
	}
	held.release()
	server, err := joinCluster(ctx, lock, memberConfig(o, ports, gossip), o.services, logger.Logger)
	if err != nil {
		return err
	}
	return serveUntil(ctx, o, logger, server, func() error { return announceMember(ctx, o, ports, started) })
}

// memberConfig is the configuration of a member: that of a single server, with ports for gossip.
func memberConfig(o options, ports, gossip services) *config.Config {
	cfg := serverConfig(o, ports)
	cfg.PublicClient.HostPort = "" // any frontend of the cluster
	cfg.Global.Membership.MaxJoinDuration = joinWithin
	cfg.Global.Membership.BroadcastAddress = loopback
	for name, port := range gossip {
		service := cfg.Services[string(name)]
		service.RPC.MembershipPort = port
		cfg.Services[string(name)] = service
	}
	// Equal for all members, because each one stores it. No other cluster calls it.
	for name, information := range cfg.ClusterMetadata.ClusterInformation {
		information.RPCAddress = address(loopback, clusterPort)
		cfg.ClusterMetadata.ClusterInformation[name] = information
	}
	return cfg
}

// joinCluster starts the services of a member. Members register the cluster one after the other.
func joinCluster(ctx context.Context, conn *pgx.Conn, cfg *config.Config, names []string, logger log.Logger) (temporal.Server, error) {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return nil, reason(err)
	}
	server, err := newServer(cfg, names, logger)
	if _, unlockErr := conn.Exec(ctx, `SELECT pg_advisory_unlock($1)`, int64(migrationLock)); err == nil && unlockErr != nil {
		err = reason(unlockErr)
	}
	if err != nil {
		return nil, err
	}
	return server, begin(server)
}

// announceMember reports a member that has started; one with a frontend waits until the cluster serves every namespace.
func announceMember(ctx context.Context, o options, ports services, started time.Time) error {
	var at endpoints
	if o.runs(primitives.FrontendService) {
		at.Frontend = ports.frontend()
		if err := prepareNamespaces(ctx, o, at.Frontend); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "devstack: Temporal's %s ready after %d ms\n", strings.Join(o.services, ", "), time.Since(started).Milliseconds())
	if o.readyFile == "" {
		return nil
	}
	return writeReady(o.readyFile, at)
}
