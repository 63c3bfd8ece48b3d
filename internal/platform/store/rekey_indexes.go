package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// laterIndex is an index of a table that may have been divided, and have millions of rows, before this version: it is no part of a
// migration, which would block requests while it builds one.
type laterIndex struct {
	Table, Index, Columns string
	Where                 string // the rows that it has; "" for all
}

// seldomMode is the condition of authorizations_seldom. A statement that repeats it can follow that index: an argument would not do.
const seldomMode = "mode <> 'enforce'"

var laterIndexes = []laterIndex{
	{Table: "authorizations", Index: "authorizations_counts", Columns: "environment_id, subject_uid, action_key, decision, decided_at"},
	// Lists by mode. An enforced decision, of which there are most, is in no index more.
	{Table: "authorizations", Index: "authorizations_seldom", Columns: "environment_id, action_id, mode, decision, decided_at, id", Where: seldomMode},
	// What is due of an endpoint, in the whole of its order: those that became due together would be sorted for each page.
	{Table: "webhook_deliveries", Index: "webhook_deliveries_turn", Columns: "environment_id, endpoint_id, next_attempt_at, event_id", Where: "status = 'pending'"},
}

// retiredIndexes are those that only binaries of an earlier version read, with their tables.
var retiredIndexes = [][2]string{{"proofs", "proofs_subject"}, {"authorizations", "authorizations_tally"}, {"webhook_deliveries", "webhook_deliveries_due"}}

// laterSteps returns the steps that build laterIndexes. An index over all partitions of a table cannot be built concurrently, so that it is
// built for each partition, and these become its parts.
func laterSteps(ctx context.Context, conn *pgx.Conn) (steps []keyStep, err error) {
	for _, l := range laterIndexes {
		var divided, valid bool
		if err := conn.QueryRow(ctx, `select relkind = 'p', exists (select from pg_index where indexrelid = to_regclass('public.'||$2) and indisvalid)
			from pg_class where oid = to_regclass('public.'||$1)`, l.Table, l.Index).Scan(&divided, &valid); err != nil {
			return nil, err
		}
		if valid {
			continue
		}
		build, err := l.build(ctx, conn, divided)
		if err != nil {
			return nil, err
		}
		steps = append(steps, build...)
	}
	return steps, nil
}

// retireSteps returns the steps that drop retired indexes, once no earlier version reads them.
func retireSteps(ctx context.Context, conn *pgx.Conn) (steps []keyStep, err error) {
	for _, r := range retiredIndexes {
		table, index := r[0], r[1]
		var kind string
		if err := conn.QueryRow(ctx, "select coalesce((select relkind::text from pg_class where oid = to_regclass('public.'||$1)), '')", index).Scan(&kind); err != nil {
			return nil, err
		}
		switch kind {
		case "i":
			steps = append(steps, keyStep{what: "drop " + index + " of " + table, statements: []string{"drop index concurrently if exists " + index}, alone: true})
		case "I": // its parts go with it, which cannot be done concurrently
			steps = append(steps, keyStep{what: "drop " + index + " of " + table, statements: []string{"drop index if exists " + index}})
		}
	}
	return steps, nil
}

// build makes the index. What an interrupted call left is dropped first, unless it is whole.
func (l laterIndex) build(ctx context.Context, conn *pgx.Conn, divided bool) ([]keyStep, error) {
	definition := " (" + l.Columns + ")"
	if l.Where != "" {
		definition += " where " + l.Where
	}
	build := func(table, index string) keyStep {
		return keyStep{what: "build " + index + " of " + table, alone: true, statements: []string{"drop index concurrently if exists " + index,
			fmt.Sprintf("create index concurrently %s on %s%s", index, table, definition)}}
	}
	if !divided {
		return []keyStep{build(l.Table, l.Index)}, nil
	}
	rows, err := conn.Query(ctx, `select c.relname::text, exists (select from pg_index where indexrelid = to_regclass('public.'||$2||substr(c.relname, length($1) + 1)) and indisvalid)
		from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::text::regclass order by 1`, l.Table, l.Index)
	if err != nil {
		return nil, err
	}
	var steps []keyStep
	whole := keyStep{what: "build " + l.Index + " of " + l.Table,
		statements: []string{fmt.Sprintf("create index if not exists %s on only %s%s", l.Index, l.Table, definition)}}
	var leaf string
	var built bool
	_, err = pgx.ForEachRow(rows, []any{&leaf, &built}, func() error {
		index := l.Index + strings.TrimPrefix(leaf, l.Table)
		if !built {
			steps = append(steps, build(leaf, index))
		}
		whole.statements = append(whole.statements, fmt.Sprintf("alter index %s attach partition %s", l.Index, index))
		return nil
	})
	return append(steps, whole), err
}

// releaseSteps returns the steps that drop the foreign key of proofs to decisions. Checking it locks the row of the decision, which the
// statement that writes both has just written, and writes that lock to the log. Proofs are deleted with their decision by its deletion.
func releaseSteps(ctx context.Context, conn *pgx.Conn) ([]keyStep, error) {
	rows, err := conn.Query(ctx, `select format('alter table %I drop constraint %I', c.relname, k.conname) from pg_constraint k join pg_class c on c.oid = k.conrelid
		where k.contype = 'f' and c.relname = $1 and k.confrelid = 'public.authorizations'::regclass and k.conparentid = 0 order by 1`, models.ReleasedPart)
	if err != nil {
		return nil, err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(statements) == 0 {
		return nil, err
	}
	return []keyStep{{what: "release " + models.ReleasedPart + " from authorizations", statements: statements}}, nil
}
