package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/models"
)

// partitionsSince is the schema version since which binaries expect that a table may have partitions.
const partitionsSince = 66

// partitionMargin is the shortest time between the division of a table and the ids from which on rows go to the new partition. While
// the old one is checked, it refuses rows from there on: a clock may be wrong by this much, and the command may take as long.
const partitionMargin = 48 * time.Hour

// firstPart is the suffix of the partition that begins before all ids. The suffix of every other is the day that it begins on.
const firstPart = "_00000000"

// ErrNotContracted says that a binary may be running that deletes rows by their place in a table.
var ErrNotContracted = errors.New("a version may be running that expects tables without partitions: run countersign migrate --contract once none is, then repeat")

// ErrPlaced says that a table is distributed over servers, which this was not tried with.
var ErrPlaced = errors.New("the tables are distributed over servers already: partitions are made before countersign migrate --distribute")

// Partition divides the tables of models.PartitionedTables by time, while requests are served: what a table contains becomes its first
// partition, up to a boundary that is ahead. show receives the number of steps done, of all. Tables that are divided stay as they are, so
// that an interrupted call is repeated. It returns the number of tables that it divided, and ErrNotContracted, ErrOldKeys or ErrPlaced
// before it changes anything.
func (s *Store) Partition(ctx context.Context, now time.Time, show func(done, total int)) (made int, err error) {
	err = s.onServer(ctx, func(d *Store) error {
		if err := d.CheckSchema(ctx); err != nil {
			return err
		}
		if floor, err := d.readFloor(ctx); err != nil || floor < partitionsSince {
			return errors.Join(err, ErrNotContracted)
		}
		return d.lockMigrations(ctx, func() error {
			return d.unlimited(ctx, func(conn *pgx.Conn) error {
				made, err = divide(ctx, conn, now, show)
				return err
			})
		})
	})
	if err == nil {
		err = s.readDivision(ctx) // so that its first decision is not made on the state from before
	}
	return made, err
}

// divideSteps is the number of steps for one table.
const divideSteps = 3

func divide(ctx context.Context, conn *pgx.Conn, now time.Time, show func(done, total int)) (made int, err error) {
	if steps, err := keySteps(ctx, conn); err != nil || len(steps) > 0 {
		return 0, errors.Join(err, ErrOldKeys)
	}
	if placed, err := placedTables(ctx, conn); len(placed) > 0 || err != nil && !errors.Is(err, ErrNotDistributable) {
		return 0, errors.Join(err, ErrPlaced)
	}
	total := len(models.PartitionedTables) * divideSteps
	for i, t := range models.PartitionedTables {
		p, err := planParts(ctx, conn, t)
		if err != nil {
			return made, err
		}
		if p.divided {
			continue
		}
		at := t.Period.Next(now.Add(partitionMargin))
		done := i * divideSteps
		show(done, total)
		if p, err = p.replaceKeys(ctx, conn); err != nil {
			return made, fmt.Errorf("store: replace keys of the table %s: %w", t.Table, err)
		}
		err = p.fenced(ctx, conn, part{name: t.Table, to: at}, func() error {
			show(done+divideSteps-1, total)
			return keyStep{what: "divide " + t.Table, statements: p.divide(at)}.run(ctx, conn)
		})
		if err != nil {
			return made, fmt.Errorf("store: divide the table %s: %w", t.Table, err)
		}
		made++
	}
	show(total, total)
	return made, nil
}

// partPlan has the definitions that the partitions of a table share, read from the catalogue.
type partPlan struct {
	models.PartitionedTable
	divided bool
	indexes []partIndex
	keys    []string // foreign keys, as clauses of ALTER TABLE
	grants  []string // statements
	options string   // storage parameters, as a clause of CREATE TABLE
	number  string   // the column that a sequence of the table numbers, or ""
	release []string // statements that drop the foreign keys to the table
}

// partIndex is an index, with its definition behind the name of the table, or that of its constraint.
type partIndex struct {
	Name, Definition, Constraint string
	Unique, Keyed                bool // Keyed: the partition's key is one of the columns
}

func planParts(ctx context.Context, conn *pgx.Conn, t models.PartitionedTable) (p partPlan, err error) {
	p.PartitionedTable = t
	// The storage parameters of a divided table are those of its partitions.
	err = conn.QueryRow(ctx, `select c.relkind = 'p', coalesce((select ' with (' || array_to_string(coalesce(c.reloptions, l.reloptions), ', ') || ')'
			from pg_class l where l.oid = coalesce((select max(inhrelid) from pg_inherits where inhparent = c.oid), c.oid)), ''),
			coalesce((select attname from pg_attribute where attrelid = c.oid and attidentity <> ''), '')
		from pg_class c where c.oid = $1::text::regclass`, t.Table).Scan(&p.divided, &p.options, &p.number)
	if err != nil {
		return p, err
	}
	rows, err := conn.Query(ctx, `select i.relname as name, split_part(pg_get_indexdef(i.oid), ' USING ', 2) as definition,
			coalesce(pg_get_constraintdef(k.oid), '') as constraint, x.indisunique as unique,
			exists (select from pg_attribute a where a.attrelid = x.indrelid and a.attname = $2 and a.attnum = any(x.indkey)) as keyed
		from pg_index x join pg_class i on i.oid = x.indexrelid left join pg_constraint k on k.conindid = i.oid and k.contype in ('p', 'u')
		where x.indrelid = $1::text::regclass order by k.contype is distinct from 'p', i.relname`, t.Table, t.Key)
	if err != nil {
		return p, err
	}
	if p.indexes, err = pgx.CollectRows(rows, pgx.RowToStructByName[partIndex]); err != nil {
		return p, err
	}
	rows, err = conn.Query(ctx, `select format('add constraint %I ', conname) || pg_get_constraintdef(oid) from pg_constraint
		where contype = 'f' and conrelid = $1::text::regclass order by conname`, t.Table)
	if err != nil {
		return p, err
	}
	if p.keys, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return p, err
	}
	rows, err = conn.Query(ctx, `select format('grant %s on %I to %s', a.privilege_type, c.relname, coalesce(quote_ident(r.rolname), 'public'))
		from pg_class c, aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
		where c.oid = $1::text::regclass and a.grantee <> c.relowner order by 1`, t.Table)
	if err != nil {
		return p, err
	}
	if p.grants, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return p, err
	}
	rows, err = conn.Query(ctx, `select format('alter table %I drop constraint %I', c.relname, k.conname) from pg_constraint k join pg_class c on c.oid = k.conrelid
		where k.contype = 'f' and k.confrelid = $1::text::regclass and k.conparentid = 0 and c.relname = any($2) order by 1`, t.Table, t.Referred)
	if err != nil {
		return p, err
	}
	p.release, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return p, err
}

// part returns the name of the partition that begins at a time.
func (p partPlan) part(from time.Time) string { return p.Table + "_" + from.Format("20060102") }

// bound returns the literal of the first id of a time.
func (p partPlan) bound(t time.Time) string { return "'" + ids.Lowest(p.Prefix, t) + "'" }

func fence(table string) string { return table + "_fence" }

// fenced runs f while the range of a partition is known to contain its rows, so that its attachment reads none. The fence does not stay if
// f fails, since it would refuse rows when their time comes; removeFences removes one that a process left which ended here.
func (p partPlan) fenced(ctx context.Context, conn *pgx.Conn, t part, f func() error) error {
	within := fmt.Sprintf("%s < %s", p.Key, p.bound(t.to))
	if !t.from.IsZero() {
		within += fmt.Sprintf(" and %s >= %s", p.Key, p.bound(t.from))
	}
	remove := fmt.Sprintf("alter table %s drop constraint if exists %s", t.name, fence(t.name))
	err := keyStep{statements: []string{remove, fmt.Sprintf("alter table %s add constraint %s check (%s) not valid", t.name, fence(t.name), within)}}.run(ctx, conn)
	if err != nil {
		return err
	}
	if _, err = conn.Exec(ctx, fmt.Sprintf("alter table %s validate constraint %s", t.name, fence(t.name))); err == nil {
		err = f()
	}
	if err == nil {
		return nil
	}
	if conn.IsClosed() { // the error is that of a context which has ended, and its connection with it
		return errors.Join(err, removeAnew(ctx, conn.Config(), remove))
	}
	return errors.Join(err, keyStep{statements: []string{remove}}.run(context.WithoutCancel(ctx), conn))
}

// removeAnew runs a statement on a new connection.
func removeAnew(ctx context.Context, config *pgx.ConnConfig, statement string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return keyStep{statements: []string{statement}}.run(ctx, conn)
}

// sequence is the name that Postgres gives to the sequence of a table's numbers. The divided table goes on with those of the whole one;
// its partitions have none.
func (p partPlan) sequence(table string) string { return table + "_" + p.number + "_seq" }

// like makes a table with the columns, defaults and checks of another, which ANALYZE samples as it samples that: the clauses of Postgres do
// not copy it. clause closes the list of what is included.
func (p partPlan) like(name, model, clause string) []string {
	return []string{
		fmt.Sprintf("create table %s (like %s including defaults including constraints including generated including storage including compression%s",
			name, model, clause),
		fmt.Sprintf(`do $$ declare c record; begin
			for c in select attname, attstattarget from pg_attribute where attrelid = '%s'::regclass and attnum > 0 and not attisdropped and attstattarget >= 0 loop
				execute format('alter table %s alter column %%I set statistics %%s', c.attname, c.attstattarget);
			end loop; end $$`, model, name),
	}
}

// dress makes the indexes of a table. A violation names that of the partition: Violates knows it by the name without the digits.
func (p partPlan) dress(table, suffix string) (statements []string) {
	for _, i := range p.indexes {
		unique := ""
		if i.Unique {
			unique = "unique "
		}
		if i.Constraint != "" {
			statements = append(statements, fmt.Sprintf("alter table %s add constraint %s %s", table, i.Name+suffix, i.Constraint))
		} else {
			statements = append(statements, fmt.Sprintf("create %sindex %s on %s using %s", unique, i.Name+suffix, table, i.Definition))
		}
	}
	return statements
}

// attach makes a table a partition.
func (p partPlan) attach(t part) string {
	lower, upper := "minvalue", "maxvalue"
	if !t.from.IsZero() {
		lower = p.bound(t.from)
	}
	if !t.to.IsZero() {
		upper = p.bound(t.to)
	}
	return fmt.Sprintf("alter table %s attach partition %s for values from (%s) to (%s)", p.Table, t.name, lower, upper)
}

// divide returns the statements, for one transaction, by which the table, whose rows are all from before a time, becomes the first
// partition, and an empty one follows it.
func (p partPlan) divide(at time.Time) []string {
	first, second := p.Table+firstPart, p.part(at)
	statements := append(slices.Clone(p.release), "lock table "+p.Table+" in access exclusive mode", fmt.Sprintf("alter table %s rename to %s", p.Table, first))
	for _, i := range p.indexes {
		statements = append(statements, fmt.Sprintf("alter index %s rename to %s", i.Name, i.Name+firstPart))
	}
	if p.number != "" {
		statements = append(statements, fmt.Sprintf("alter sequence %s rename to %s", p.sequence(p.Table), p.sequence(first)))
	}
	statements = append(statements, p.like(p.Table, first, fmt.Sprintf(" including identity) partition by range (%s)", p.Key))...)
	statements = append(statements, fmt.Sprintf("alter table %s drop constraint %s", p.Table, fence(p.Table)))
	if p.number != "" {
		statements = append(statements, fmt.Sprintf("select setval('%s', nextval('%s'))", p.sequence(p.Table), p.sequence(first)),
			fmt.Sprintf("alter table %s alter column %s drop identity", first, p.number))
	}
	statements = append(statements, p.dress(p.Table, "")...)
	for _, key := range p.keys {
		statements = append(statements, fmt.Sprintf("alter table %s %s", p.Table, key))
	}
	statements = append(statements, p.grants...)
	statements = append(statements, p.attach(part{name: first, to: at}), fmt.Sprintf("alter table %s drop constraint %s", first, fence(p.Table)))
	return append(statements, p.follow(second, at)...)
}

// follow makes an empty partition from a time on, the last of the table.
func (p partPlan) follow(name string, from time.Time) []string {
	statements := p.like(name, p.Table, ")"+p.options)
	statements = append(statements, p.dress(name, strings.TrimPrefix(name, p.Table))...)
	return append(statements, p.attach(part{name: name, from: from}))
}
