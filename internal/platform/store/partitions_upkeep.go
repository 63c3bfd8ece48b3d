package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// part is a partition of a table. The first has no beginning, the last no end.
type part struct {
	name     string
	from, to time.Time
}

// partsOf returns the partitions of a table in the order of their time; none if it is not divided.
func partsOf(ctx context.Context, conn *pgx.Conn, t models.PartitionedTable) (parts []part, err error) {
	rows, err := conn.Query(ctx, `select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = $1::text::regclass order by c.relname`, t.Table)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		p := part{name: name}
		if name != t.Table+firstPart {
			if p.from, err = time.Parse("20060102", strings.TrimPrefix(name, t.Table+"_")); err != nil {
				return nil, fmt.Errorf("store: the partition %s was not made by this service: %w", name, err)
			}
		}
		if parts = append(parts, p); i > 0 {
			parts[i-1].to = p.from
		}
	}
	return parts, nil
}

// partsAhead is the number of periods after the present one whose partition exists.
const partsAhead = 2

// ExtendPartitions makes the partitions of the next periods, if they are missing, and returns how many it made. The last partition has no
// end, so that rows have a place however late this is called: a late call only makes the partition longer.
func (s *Store) ExtendPartitions(ctx context.Context, now time.Time) (made int, err error) {
	err = s.onParts(ctx, func(conn *pgx.Conn) error {
		for _, t := range models.PartitionedTables {
			n, err := extend(ctx, conn, t, now)
			if made += n; err != nil {
				return fmt.Errorf("store: extend the partitions of %s: %w", t.Table, err)
			}
		}
		return nil
	})
	return made, err
}

// onParts runs f on a connection without a time limit while no other process changes the schema. If one does, it leaves f to the next call.
func (s *Store) onParts(ctx context.Context, f func(conn *pgx.Conn) error) error {
	return s.onServer(ctx, func(d *Store) error {
		_, err := d.tryMigrations(ctx, func() error { return d.unlimited(ctx, f) })
		return err
	})
}

func extend(ctx context.Context, conn *pgx.Conn, t models.PartitionedTable, now time.Time) (made int, err error) {
	if err := removeFences(ctx, conn, t); err != nil {
		return 0, err
	}
	parts, err := partsOf(ctx, conn, t)
	if err != nil || len(parts) == 0 {
		return 0, err
	}
	p, err := planParts(ctx, conn, t)
	if err != nil {
		return 0, err
	}
	for last := parts[len(parts)-1]; made < partsAhead && last.from.Before(t.Period.Next(t.Period.Next(now))); made++ {
		at := t.Period.Next(now.Add(partitionMargin))
		if last.from.After(now) {
			at = t.Period.Next(last.from)
		}
		err := p.fenced(ctx, conn, part{last.name, last.from, at}, func() error {
			statements := append(p.refit(part{last.name, last.from, at}), p.follow(p.part(at), at)...)
			return keyStep{statements: statements}.run(ctx, conn)
		})
		if err != nil {
			return made, err
		}
		last = part{name: p.part(at), from: at}
	}
	if made > 0 {
		// Autovacuum analyses partitions, but not what they have in common.
		_, err = conn.Exec(ctx, "analyze "+t.Table)
	}
	return made, err
}

// removeFences removes the fences that a process left which ended meanwhile: of partitions, and of a table that it did not divide.
func removeFences(ctx context.Context, conn *pgx.Conn, t models.PartitionedTable) error {
	rows, err := conn.Query(ctx, `select format('alter table %I drop constraint %I', c.relname, k.conname) from pg_constraint k
		join pg_class c on c.oid = k.conrelid left join pg_inherits i on i.inhrelid = c.oid
		where $1::text::regclass in (c.oid, i.inhparent) and k.conname = c.relname || '_fence'`, t.Table)
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(statements) == 0 {
		return err
	}
	return keyStep{statements: statements}.run(ctx, conn)
}

// refit returns the statements that give a partition, which is fenced, another range.
func (p partPlan) refit(t part) []string {
	return []string{p.detach(t.name), p.attach(t), fmt.Sprintf("alter table %s drop constraint %s", t.name, fence(t.name))}
}

func (p partPlan) detach(name string) string {
	return fmt.Sprintf("alter table %s detach partition %s", p.Table, name)
}

// stays has, for a table whose rows may outlive their retention, the condition on those that do. The alias of the table is d.
var stays = map[string]string{
	"shown_details": `exists (select from challenges c where c.authorization_id = d.authorization_id and c.status = 'open')
		or exists (select from holds h where h.authorization_id = d.authorization_id and h.status = 'pending')`,
	"webhook_deliveries": "d.status = 'pending'",
	"authorizations": `exists (select from challenges c where c.authorization_id = d.id and c.status = 'open')
		or exists (select from holds h where h.authorization_id = d.id and h.status = 'pending')
		or exists (select from authorizations c where c.parent_id = d.id and c.parent_id is not null and c.decided_at >= $1)`,
}

// detachExpired detaches what has expired, oldest first. The first partition takes the range of those that are detached, so that an old id
// has a place at any time; if it has expired itself, an empty one takes its place.
func detachExpired(ctx context.Context, conn *pgx.Conn, t models.PartitionedTable, before time.Time) error {
	parts, err := partsOf(ctx, conn, t)
	if err != nil || len(parts) == 0 {
		return err
	}
	if err := removeFences(ctx, conn, t); err != nil {
		return err
	}
	p, err := planParts(ctx, conn, t)
	if err != nil {
		return err
	}
	for i, old := range parts {
		if old.to.IsZero() || old.to.After(before) {
			return nil
		}
		over, empty, err := p.expired(ctx, conn, old.name, before)
		switch {
		case err != nil:
			return err
		case i == 0 && (empty || !over):
			continue
		case !over:
			return nil
		case i == 0:
			err = keyStep{statements: p.replaceFirst(old)}.run(ctx, conn)
		default:
			first := part{name: parts[0].name, to: old.to}
			err = p.fenced(ctx, conn, first, func() error {
				statements := append([]string{p.detach(old.name), fmt.Sprintf("alter table %s rename to %s", old.name, old.name+dropped)}, p.refit(first)...)
				return keyStep{statements: statements}.run(ctx, conn)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expired reports whether no row of a partition is from after a time or stays for another reason, and whether it has no row.
func (p partPlan) expired(ctx context.Context, conn *pgx.Conn, name string, before time.Time) (over, empty bool, err error) {
	err = conn.QueryRow(ctx, fmt.Sprintf("select not exists (select from %s d where %s), not exists (select from %[1]s)", name, p.current()), before).Scan(&over, &empty)
	return over, empty, err
}

// current is the condition on the rows that have not expired. $1 is the time of expiry.
func (p partPlan) current() string { return currentRows(p.PartitionedTable) }

func currentRows(t models.PartitionedTable) string {
	condition := "d." + t.Age + " >= $1"
	if more := stays[t.Table]; more != "" {
		condition += " or " + more
	}
	return condition
}

// replaceFirst returns the statements that detach the first partition and put an empty one in its place.
func (p partPlan) replaceFirst(first part) []string {
	statements := []string{p.detach(first.name), fmt.Sprintf("alter table %s rename to %s", first.name, first.name+dropped)}
	for _, i := range p.indexes {
		statements = append(statements, fmt.Sprintf("alter index %s rename to %s", i.Name+firstPart, i.Name+firstPart+dropped))
	}
	statements = append(statements, p.like(first.name, p.Table, ")"+p.options)...)
	statements = append(statements, p.dress(first.name, firstPart)...)
	return append(statements, p.attach(first))
}

// leaves returns the partitions of each of the tables that are divided. A place of a row (ctid) says which row only within a partition.
func (q *Q) leaves(ctx context.Context) (map[string][]string, error) {
	rows, err := q.query(ctx, `select p.relname::text, c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
		where p.relkind = 'p' and p.relnamespace = 'public'::regnamespace order by 1, 2`)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	var table, leaf string
	_, err = pgx.ForEachRow(rows, []any{&table, &leaf}, func() error {
		out[table] = append(out[table], leaf)
		return nil
	})
	return out, err
}

// leavesOf returns the partitions of a table, or the table itself.
func leavesOf(leaves map[string][]string, table string) []string {
	if parts := leaves[table]; len(parts) > 0 {
		return parts
	}
	return []string{table}
}
