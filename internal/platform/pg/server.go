package pg

import (
	"context"
	"time"
)

// Server is the state of the database's server, for an operator.
type Server struct {
	Version           string // such as 15.14
	Bytes             int64  // size of the database
	Connections       int    // in use, of all clients
	MaxConnections    int
	OldestTransaction time.Duration // of the transaction that has been open longest; vacuum removes nothing that is newer
	FrozenAge         int64         // transactions since the oldest that is not frozen; Postgres stops writes at 2 billion
	IdleSlotBytes     int64         // write-ahead log that replication slots without a consumer keep on disk
	IdleSlots         []string      // replication slots without a consumer
	InvalidIndexes    []string
	// Unsafe are settings, as name=value, with which a crash loses transactions that were committed.
	Unsafe   []string
	Standbys []ServerStandby
	// Waits says that commits wait for a synchronous standby and that there is none.
	Waits bool
}

// ServerStandby is a standby that streams from the server.
type ServerStandby struct {
	Name string
	Sync string // async, potential, quorum or sync
	Lag  time.Duration
}

// Inspect reads the state of the server.
func (s *Store) Inspect(ctx context.Context) (Server, error) {
	var out Server
	var oldest float64
	err := s.pool.QueryRow(ctx, `select current_setting('server_version'), pg_database_size(current_database()),
		(select count(*) from pg_stat_activity where backend_type = 'client backend'), current_setting('max_connections')::int,
		coalesce((select extract(epoch from clock_timestamp() - min(xact_start)) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()), 0)::float8,
		(select max(age(datfrozenxid)) from pg_database),
		coalesce((select max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) from pg_replication_slots where not active), 0)::bigint,
		current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') <> 'off'
			and not exists (select from pg_stat_replication where sync_state in ('sync', 'quorum')),
		array(select indexrelid::regclass::text from pg_index where not indisvalid order by 1),
		array(select slot_name::text from pg_replication_slots where not active and not temporary order by 1),
		array(select name || '=' || setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by 1)`).
		Scan(&out.Version, &out.Bytes, &out.Connections, &out.MaxConnections, &oldest, &out.FrozenAge, &out.IdleSlotBytes, &out.Waits, &out.InvalidIndexes,
			&out.IdleSlots, &out.Unsafe)
	if err != nil {
		return out, err
	}
	out.OldestTransaction = time.Duration(oldest * float64(time.Second))
	rows, err := s.pool.Query(ctx, `select application_name, sync_state, coalesce(extract(epoch from replay_lag), 0)::float8 from pg_stat_replication order by 1`)
	if err != nil {
		return out, err
	}
	defer rows.Close()
	for rows.Next() {
		var b ServerStandby
		var lag float64
		if err := rows.Scan(&b.Name, &b.Sync, &lag); err != nil {
			return out, err
		}
		b.Lag = time.Duration(lag * float64(time.Second))
		out.Standbys = append(out.Standbys, b)
	}
	return out, rows.Err()
}
