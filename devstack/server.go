package main

import (
	"fmt"
	"time"

	"github.com/iancoleman/strcase"
	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql/driver"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	// historyShards is the number of history shards; each commits one change at a time. On two cores, 16 shards take
	// about 430 durable workflow starts a second and 4 take 240; more than 16 gain nothing. The number is stored in the
	// database at first use, and Temporal ignores a different value here afterwards.
	historyShards = 16

	// Each of the server's four services opens both pools, so a devstack holds at most
	// 4 * (mainConns + visibilityConns) connections, plus one for its instance lock.
	mainConns       = 10
	visibilityConns = 4
	idleConns       = 4

	stopWithin = 8 * time.Second
)

// services maps every Temporal service to the port it listens on.
type services map[primitives.ServiceName]int

// reserveServices reserves a port for each service; the caller chooses only the frontend's.
func reserveServices(r *reservations, frontendPort int) (services, error) {
	frontend, err := r.reserve(frontendPort, "frontend-port")
	if err != nil {
		return nil, err
	}
	ports := services{primitives.FrontendService: frontend}
	for _, name := range []primitives.ServiceName{
		primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	} {
		if ports[name], err = r.reserveAny(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// frontend is the address clients dial.
func (s services) frontend() string { return address(loopback, s[primitives.FrontendService]) }

// startServer starts a complete Temporal server. Its services get each other's addresses by configuration, so no
// gossip ring has to form and no stale member of one delays a restart.
func startServer(o options, ports services, logger log.Logger) (temporal.Server, error) {
	cfg := serverConfig(o, ports)
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, port := range ports {
		hosts[name] = static.SingleLocalHost(address(loopback, port))
	}
	server, err := newServer(cfg, temporal.DefaultServices, logger, temporal.WithStaticHosts(hosts))
	if err != nil {
		return nil, err
	}
	return server, begin(server)
}

// newServer prepares services with a configuration. It registers the cluster in the database if it is new.
func newServer(cfg *config.Config, names []string, logger log.Logger, more ...temporal.ServerOption) (temporal.Server, error) {
	server, err := temporal.NewServer(append(more,
		temporal.ForServices(names),
		temporal.WithConfig(cfg),
		temporal.WithLogger(logger),
		temporal.WithDynamicConfigClient(dynamicConfig()),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
	)...)
	if err != nil {
		return nil, fmt.Errorf("the Temporal server cannot be set up: %w", err)
	}
	return server, nil
}

func begin(server temporal.Server) error {
	if err := server.Start(); err != nil {
		return fmt.Errorf("the Temporal server cannot be started: %w", err)
	}
	return nil
}

// stopServer stops the server and waits at most stopWithin for its queues. Nothing is lost at the deadline: every
// acknowledged request is already in Postgres.
func stopServer(server temporal.Server) error {
	done := make(chan error, 1)
	go func() { done <- server.Stop() }()
	select {
	case err := <-done:
		return err
	case <-time.After(stopWithin):
		return fmt.Errorf("the Temporal server did not stop within %s", stopWithin)
	}
}

func serverConfig(o options, ports services) *config.Config {
	const mainStore, visibilityStore, clusterName = "main", "visibility", "active"
	cfg := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     mainStore,
			VisibilityStore:  visibilityStore,
			NumHistoryShards: historyShards,
			DataStores: map[string]config.DataStore{
				mainStore:       {SQL: sqlConfig(o.databaseURL, o.database, mainConns)},
				visibilityStore: {SQL: sqlConfig(o.databaseURL, o.visibilityDatabase, visibilityConns)},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: ports.frontend()},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: ports.frontend()},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		Services: map[string]config.Service{},
	}
	for name, port := range ports {
		cfg.Services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
	}
	if o.listen != loopback {
		front := cfg.Services[string(primitives.FrontendService)]
		front.RPC.BindOnIP = o.listen
		cfg.Services[string(primitives.FrontendService)] = front
		cfg.Global.Membership.BroadcastAddress = loopback // only the services of this process are members
	}
	return cfg
}

// sqlConfig is the server's configuration of one database. The Connect function replaces the server's own connection
// settings, so that every form of Postgres URL works: sockets, TLS parameters, special characters in passwords.
func sqlConfig(base, database string, conns int) *config.SQL {
	return &config.SQL{
		PluginName:   postgresql.PluginNamePGX,
		DatabaseName: database,
		Connect: func(*config.SQL) (*sqlx.DB, error) {
			target, err := databaseURL(base, database)
			if err != nil {
				return nil, err
			}
			db, err := (&driver.PGXDriver{}).CreateConnection(target)
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(conns)
			db.SetMaxIdleConns(min(conns, idleConns))
			db.MapperFunc(strcase.ToSnake) // the server's row structs have no column tags
			return db, nil
		},
	}
}
