package bench

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/proving/harness"
)

// usage reads what API, worker and Postgres have used since they started.
// The load generator is not counted.
func (b *bench) usage(ctx context.Context) cost {
	c := cost{api: b.rig.API.Measured(ctx), postgres: b.rig.Postgres.Usage(), wal: b.wal(ctx), tables: b.tables(ctx)}
	if b.rig.Temporal.Running() {
		c.temporal = b.rig.Temporal.Usage()
	}
	if b.second != nil {
		u := b.second.Measured(ctx)
		c.api = more(c.api, u)
		c.api.RSS = max(c.api.RSS, u.RSS)
	}
	if b.rig.Worker.Running() {
		c.worker = b.rig.Worker.Measured(ctx)
	}
	return c
}

// wal is how many bytes the server has written to its write-ahead log in
// all; 0 if that cannot be read.
func (b *bench) wal(ctx context.Context) (written int64) {
	if onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&written)
	}) != nil {
		return 0
	}
	return written
}

// cost shows what the parts used between two moments. Sizes are those of
// the later moment.
type cost struct {
	api, worker, postgres, temporal harness.Usage

	wal    int64 // bytes
	tables sizes
}

// since subtracts what was used before.
func (c cost) since(before cost) cost {
	return cost{
		less(c.api, before.api), less(c.worker, before.worker), less(c.postgres, before.postgres), less(c.temporal, before.temporal),
		c.wal - before.wal, c.tables.with(before.tables, -1),
	}
}

// plus adds what was used at an earlier time.
func (c cost) plus(o cost) cost {
	return cost{
		more(c.api, o.api), more(c.worker, o.worker), more(c.postgres, o.postgres), more(c.temporal, o.temporal), c.wal + o.wal,
		c.tables.with(o.tables, 1),
	}
}

// less subtracts counters and leaves sizes.
func less(u, before harness.Usage) harness.Usage {
	u.CPU -= before.CPU
	u.Mallocs -= before.Mallocs
	u.Allocated -= before.Allocated
	return u
}

// more adds counters and leaves sizes.
func more(u, other harness.Usage) harness.Usage {
	u.CPU += other.CPU
	u.Mallocs += other.Mallocs
	u.Allocated += other.Allocated
	return u
}

// sizes are bytes by table, indexes included.
type sizes map[string]int64

// with adds the sizes of other, multiplied by sign (1 or -1).
func (s sizes) with(other sizes, sign int64) sizes {
	sum := maps.Clone(s)
	for table, n := range other {
		if sum == nil {
			sum = sizes{}
		}
		sum[table] += sign * n
	}
	return sum
}

// each divides what was added by n; tables that did not grow are left out.
func (s sizes) each(n float64) map[string]float64 {
	out := map[string]float64{}
	for table, bytes := range s {
		if bytes > 0 {
			out[table] = float64(bytes) / n
		}
	}
	return out
}

// tables reads the size of each table of the service; none if that cannot
// be read.
func (b *bench) tables(ctx context.Context) sizes {
	out := sizes{}
	_ = onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint from pg_class c
			left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
			where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' group by 1`)
		if err != nil {
			return err
		}
		var table string
		var bytes int64
		_, err = pgx.ForEachRow(rows, []any{&table, &bytes}, func() error {
			out[table] = bytes
			return nil
		})
		return err
	})
	return out
}
