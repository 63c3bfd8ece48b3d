package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// spare is the suffix of an index or constraint that is about to replace the one without it. One that is found was left by an
// interrupted call.
const spare = "__env"

// keyStep is a part of making the environment part of every key: statements that run one after the other, together or each alone.
type keyStep struct {
	what       string
	statements []string
	alone      bool // each outside of a transaction: an index that is built concurrently, a validation
}

// uniqueIndex is a unique index of a table that is distributed by environment.
type uniqueIndex struct {
	Table, Name string
	Constraint  string // p, u, or "" if it belongs to no constraint
	Columns     []string
	Predicate   string
	Environment bool // environment_id is one of the columns
	Valid       bool
}

// reference is a foreign key from one table that is distributed by environment to another.
type reference struct {
	Table, Name string
	Columns     []string
	Target      string
	Targets     []string
	Action      string // on delete: c for cascade, a for none
	Environment bool
	Validated   bool
}

// keySteps returns the steps after which the environment is part of every unique index and foreign key of the tables that are
// distributed by environment. They are computed from the catalogue of the database, so that an interrupted call continues: an empty
// result means that there is nothing to do. In the order of the steps each constraint is in force at any time.
func keySteps(ctx context.Context, conn *pgx.Conn) ([]keyStep, error) {
	steps, err := completeSteps(ctx, conn)
	if err != nil {
		return nil, err
	}
	order, err := orderSteps(ctx, conn)
	if err != nil {
		return nil, err
	}
	steps = append(steps, order...)
	for _, more := range []func(context.Context, *pgx.Conn) ([]keyStep, error){laterSteps, retireSteps, releaseSteps} {
		found, err := more(ctx, conn)
		if err != nil {
			return nil, err
		}
		steps = append(steps, found...)
	}
	indexes, err := uniqueIndexes(ctx, conn)
	if err != nil {
		return nil, err
	}
	references, err := references(ctx, conn)
	if err != nil {
		return nil, err
	}
	indexSpares, referenceSpares := map[string]uniqueIndex{}, map[string]reference{}
	for _, i := range indexes {
		indexSpares[i.Name] = i
	}
	for _, r := range references {
		referenceSpares[r.Table+" "+r.Name] = r
	}
	var swaps []keyStep
	for _, i := range indexes {
		if !i.Environment && !strings.HasSuffix(i.Name, spare) {
			steps = append(steps, i.build(indexSpares[i.Name+spare]))
			swaps = append(swaps, i.swap())
		}
	}
	for _, r := range references {
		if !r.Environment {
			steps = append(steps, r.build(referenceSpares[r.Table+" "+r.Name+spare])...)
			steps = append(steps, r.swap())
		}
	}
	return append(steps, swaps...), nil
}

// build makes the index that replaces i, unless it was found.
func (i uniqueIndex) build(found uniqueIndex) keyStep {
	step := keyStep{what: "build " + i.Name + " of " + i.Table, alone: true}
	if found.Name != "" && found.Valid {
		return step
	}
	predicate := ""
	if i.Predicate != "" {
		predicate = " where " + i.Predicate
	}
	step.statements = []string{
		"drop index concurrently if exists " + i.Name + spare,
		fmt.Sprintf("create unique index concurrently %s on %s (%s, environment_id)%s", i.Name+spare, i.Table, strings.Join(i.Columns, ", "), predicate),
	}
	return step
}

// swap gives the name and the constraint of i to its replacement.
func (i uniqueIndex) swap() keyStep {
	step := keyStep{what: "replace " + i.Name + " of " + i.Table}
	kind := map[string]string{"p": "primary key", "u": "unique"}[i.Constraint]
	if kind == "" {
		step.statements = []string{"drop index " + i.Name, fmt.Sprintf("alter index %s rename to %s", i.Name+spare, i.Name)}
		return step
	}
	step.statements = []string{fmt.Sprintf("alter table %s drop constraint %s, add constraint %[2]s %s using index %s", i.Table, i.Name, kind, i.Name+spare)}
	return step
}

// build adds the foreign key that replaces r and has it checked, as far as found shows that it was not done.
func (r reference) build(found reference) (steps []keyStep) {
	if found.Name == "" {
		action := ""
		if r.Action == "c" {
			action = " on delete cascade"
		}
		steps = append(steps, keyStep{what: "add " + r.Name + " of " + r.Table, statements: []string{fmt.Sprintf(
			"alter table %s add constraint %s foreign key (%s, environment_id) references %s (%s, environment_id)%s not valid",
			r.Table, r.Name+spare, strings.Join(r.Columns, ", "), r.Target, strings.Join(r.Targets, ", "), action)}})
	}
	if !found.Validated {
		steps = append(steps, keyStep{what: "check " + r.Name + " of " + r.Table, alone: true,
			statements: []string{fmt.Sprintf("alter table %s validate constraint %s", r.Table, r.Name+spare)}})
	}
	return steps
}

// swap drops r and gives its name to its replacement.
func (r reference) swap() keyStep {
	return keyStep{what: "replace " + r.Name + " of " + r.Table, statements: []string{
		fmt.Sprintf("alter table %s drop constraint %s", r.Table, r.Name),
		fmt.Sprintf("alter table %s rename constraint %s to %s", r.Table, r.Name+spare, r.Name),
	}}
}

// completeSteps returns the steps that require an environment of each row. The triggers that wrote it for binaries of an earlier version
// are dropped; a key of a request whose credential is deleted, which has none, can match no request any more.
func completeSteps(ctx context.Context, conn *pgx.Conn) ([]keyStep, error) {
	rows, err := conn.Query(ctx, `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = 'public'::regnamespace and c.relname = any($1) and a.attname = 'environment_id' and not a.attnotnull
		order by array_position($1, c.relname::text)`, models.DistributedTables)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	steps := []keyStep{{what: "delete keys of deleted credentials", statements: []string{
		"delete from idempotency_keys k where k.environment_id is null and not exists (select from credentials c where c.id = k.credential_id)"}}}
	for _, t := range tables {
		check := t + spare
		steps = append(steps,
			keyStep{what: "require environments of " + t, statements: []string{
				fmt.Sprintf("alter table %s drop constraint if exists %s", t, check),
				fmt.Sprintf("alter table %s add constraint %s check (environment_id is not null) not valid", t, check)}},
			keyStep{what: "check environments of " + t, alone: true, statements: []string{fmt.Sprintf("alter table %s validate constraint %s", t, check)}},
			keyStep{what: "require environments of " + t, statements: []string{
				fmt.Sprintf("alter table %s alter column environment_id set not null", t),
				fmt.Sprintf("alter table %s drop constraint %s", t, check),
				fmt.Sprintf("drop trigger if exists %s_environment on %[1]s", t)}})
	}
	return append(steps, keyStep{what: "drop the function of the triggers", statements: []string{"drop function if exists fill_environment()"}}), nil
}

// orderSteps returns the steps that drop what only binaries before causeSince read: the order of the log by transaction ids.
func orderSteps(ctx context.Context, conn *pgx.Conn) ([]keyStep, error) {
	var steps []keyStep
	for _, s := range []struct{ found, what, statement string }{
		{"to_regclass('public.events_order') is not null", "drop events_order of events", "drop index concurrently if exists events_order"},
		{"(select attnotnull from pg_attribute where attrelid = 'public.events'::regclass and attname = 'txid')", "give events no transaction",
			"alter table events alter column txid drop default, alter column txid drop not null"},
		{"to_regclass('public.log_clock') is not null", "drop log_clock", "drop table log_clock"},
	} {
		var found bool
		if err := conn.QueryRow(ctx, "select "+s.found).Scan(&found); err != nil {
			return nil, err
		}
		if found {
			steps = append(steps, keyStep{what: s.what, statements: []string{s.statement}, alone: strings.Contains(s.statement, " concurrently")})
		}
	}
	return steps, nil
}

// uniqueIndexes returns the unique indexes of the tables that are distributed by environment.
func uniqueIndexes(ctx context.Context, conn *pgx.Conn) ([]uniqueIndex, error) {
	rows, err := conn.Query(ctx, `select t.relname as table, i.relname as name, coalesce(k.contype::text, '') as constraint,
			array(select pg_get_indexdef(i.oid, n, true) from generate_series(1, x.indnkeyatts) n) as columns,
			coalesce(pg_get_expr(x.indpred, x.indrelid), '') as predicate,
			exists (select from pg_attribute a where a.attrelid = t.oid and a.attnum = any(x.indkey) and a.attname = 'environment_id') as environment,
			x.indisvalid as valid
		from pg_index x join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
			left join pg_constraint k on k.conindid = i.oid and k.contype in ('p', 'u')
		where x.indisunique and t.relnamespace = 'public'::regnamespace and t.relname = any($1)
		order by array_position($1, t.relname::text), i.relname`, models.DistributedTables)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[uniqueIndex])
}

// references returns the foreign keys between tables that are distributed by environment, but for the one that releaseSteps drops.
func references(ctx context.Context, conn *pgx.Conn) ([]reference, error) {
	rows, err := conn.Query(ctx, `select t.relname as table, k.conname as name, p.relname as target, k.confdeltype::text as action,
			array(select a.attname::text from unnest(k.conkey) with ordinality c (n, o) join pg_attribute a on a.attrelid = t.oid and a.attnum = c.n order by o) as columns,
			array(select a.attname::text from unnest(k.confkey) with ordinality c (n, o) join pg_attribute a on a.attrelid = p.oid and a.attnum = c.n order by o) as targets,
			exists (select from pg_attribute a where a.attrelid = t.oid and a.attnum = any(k.conkey) and a.attname = 'environment_id') as environment,
			k.convalidated as validated
		from pg_constraint k join pg_class t on t.oid = k.conrelid join pg_class p on p.oid = k.confrelid
		where k.contype = 'f' and t.relnamespace = 'public'::regnamespace and t.relname = any($1) and p.relname = any($1)
			and not (t.relname = $2 and p.relname = 'authorizations')
		order by array_position($1, t.relname::text), k.conname`, models.DistributedTables, models.ReleasedPart)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[reference])
}
