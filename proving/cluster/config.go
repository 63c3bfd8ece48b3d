package cluster

import (
	"fmt"
	"path/filepath"
	"strings"
)

// object is a part of a configuration. Patroni reads YAML, of which JSON is a part.
type object = map[string]any

// The roles of the cluster.
const (
	superuser   = "postgres"
	replication = "replicator"
)

// dynamic is the part of the configuration that Patroni stores in etcd. A primary that cannot renew its lock within ttl loses
// it; renewal is tried every loop_wait and given up after retry_timeout, all in seconds, and ttl has to exceed loop_wait plus
// twice retry_timeout.
//
// Both standbys are synchronous. One would do for safety, but then the other may have received what the synchronous one has not: the
// promoted member lacks it, and the other has to be rewound, for seconds in which nothing is committed. Of two synchronous standbys
// Patroni promotes the one that received more. Replication slots would delay commits as well: Patroni makes those of a new primary
// some time after the promotion.
//
// A former primary that returns streams for a moment before it is rewound; maximum_lag_on_syncnode, in bytes, keeps commits from
// waiting for it meanwhile.
//
// With synchronous_mode_strict a primary without a standby commits nothing. primary_start_timeout 0 gives the lock to a standby
// if the primary crashes, in place of waiting for its recovery.
func dynamic() object {
	return object{
		"ttl": 8, "loop_wait": 1, "retry_timeout": 3, "synchronous_mode": true, "synchronous_mode_strict": true,
		"synchronous_node_count": 2, "primary_start_timeout": 0, "maximum_lag_on_failover": 1 << 20, "maximum_lag_on_syncnode": 1 << 20,
		"postgresql": object{"use_pg_rewind": true, "use_slots": false, "parameters": object{
			"max_connections": 300, "synchronous_commit": "on", "wal_log_hints": "on", "shared_buffers": "64MB",
			"max_wal_size": "256MB", "wal_keep_size": "256MB", "wal_sender_timeout": "5s", "wal_receiver_timeout": "5s",
			"wal_retrieve_retry_interval": "200ms", // the default of 5 s delays commits after a failover: they wait for a standby
			"timezone":                    "UTC", "jit": "off", "log_min_messages": "warning",
		}},
	}
}

// patroniConfig is the configuration of a member. Other members and HAProxy reach it at connect_address, which is a proxy, and it
// reaches etcd through a proxy of its own; use_proxies keeps Patroni from asking etcd for its true address.
func (m *Member) patroniConfig() object {
	c := m.cluster
	role := func(name string) object { return object{"username": name, "password": c.password} }
	return object{
		"scope": "countersign", "name": m.Name,
		"restapi":   object{"listen": address(m.rest), "connect_address": m.toREST.Address()},
		"etcd3":     object{"hosts": []string{m.toEtcd.Address()}, "use_proxies": true},
		"bootstrap": object{"dcs": dynamic(), "initdb": []any{object{"encoding": "UTF8"}, object{"locale": "C"}, "data-checksums"}},
		"postgresql": object{
			"listen": address(m.port), "connect_address": m.toPostgres.Address(), "data_dir": m.data(), "bin_dir": c.postgres.Bin,
			"pgpass":         filepath.Join(m.dir(), "pgpass"),
			"authentication": object{"superuser": role(superuser), "replication": role(replication)},
			"basebackup":     []any{object{"checkpoint": "fast"}},
			"parameters":     object{"unix_socket_directories": m.dir()},
			"pg_hba": []string{"local all all scram-sha-256", "host all all 127.0.0.1/32 scram-sha-256",
				"host replication " + replication + " 127.0.0.1/32 scram-sha-256"},
			"remove_data_directory_on_diverged_timelines": true, "remove_data_directory_on_rewind_failure": true,
		},
	}
}

// haproxyConfig forwards one port to the primary and one to the standbys. Patroni's REST interface says which role a member has. The
// sessions of a server that is no longer primary are closed, so that no client waits for it. Sessions that listen for
// notifications are silent for long, hence the hour. HAProxy would repeat a connection that a server refused after a second, on the same
// server: while a primary is replaced these seconds add up, so that it does not, and the service tries again by itself.
func (c *Cluster) haproxyConfig() string {
	var b strings.Builder
	b.WriteString(`global
  maxconn 1000
  log stderr format iso local0 notice
defaults
  log global
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  option clitcpka
  option srvtcpka
`)
	for _, l := range []struct {
		role string
		port int
	}{{"primary", c.ports.Primary}, {"replica", c.ports.Standby}} {
		fmt.Fprintf(&b, `listen %s
  bind %s
  option httpchk OPTIONS /%s
  http-check expect status 200
  retries 0
  default-server inter 500ms fastinter 250ms downinter 250ms fall 2 rise 1 on-marked-down shutdown-sessions
`, l.role, address(l.port), l.role)
		for _, m := range c.Members {
			_, rest, _ := strings.Cut(m.toREST.Address(), ":")
			fmt.Fprintf(&b, "  server %s %s check port %s\n", m.Name, m.toPostgres.Address(), rest)
		}
	}
	if len(c.Frontends) > 0 {
		fmt.Fprintf(&b, `listen temporal
  bind %s
  balance leastconn
  default-server inter 500ms fastinter 250ms downinter 250ms fall 2 rise 1 on-marked-down shutdown-sessions
`, address(c.ports.Temporal))
	}
	for i, frontend := range c.Frontends {
		fmt.Fprintf(&b, "  server frontend%d %s check\n", i+1, frontend)
	}
	return b.String()
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
