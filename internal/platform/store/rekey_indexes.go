package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// retired is an index that only binaries of an earlier version read, with the one that this version reads in its place.
type retired struct {
	Table, Index       string
	Successor, Columns string // Columns are those of the successor; both are "" if it has none
}

var retiredIndexes = []retired{
	{Table: "proofs", Index: "proofs_subject"},
	{Table: "authorizations", Index: "authorizations_tally", Successor: "authorizations_counts",
		Columns: "environment_id, subject_uid, action_key, decision, decided_at"},
}

// successorSteps returns the steps that build the successors of retired indexes. A table may be divided: an index over all partitions
// cannot be built concurrently, so that it is built for each partition, and these become its parts.
func successorSteps(ctx context.Context, conn *pgx.Conn) (steps []keyStep, err error) {
	for _, r := range retiredIndexes {
		if r.Successor == "" {
			continue
		}
		var divided, valid bool
		if err := conn.QueryRow(ctx, `select relkind = 'p', exists (select from pg_index where indexrelid = to_regclass('public.'||$2) and indisvalid)
			from pg_class where oid = to_regclass('public.'||$1)`, r.Table, r.Successor).Scan(&divided, &valid); err != nil {
			return nil, err
		}
		if valid {
			continue
		}
		build, err := r.build(ctx, conn, divided)
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
		var kind string
		if err := conn.QueryRow(ctx, "select coalesce((select relkind::text from pg_class where oid = to_regclass('public.'||$1)), '')", r.Index).Scan(&kind); err != nil {
			return nil, err
		}
		switch kind {
		case "i":
			steps = append(steps, keyStep{what: "drop " + r.Index + " of " + r.Table, statements: []string{"drop index concurrently if exists " + r.Index}, alone: true})
		case "I": // its parts go with it, which cannot be done concurrently
			steps = append(steps, keyStep{what: "drop " + r.Index + " of " + r.Table, statements: []string{"drop index if exists " + r.Index}})
		}
	}
	return steps, nil
}

// build makes the successor. What an interrupted call left is dropped first, unless it is whole.
func (r retired) build(ctx context.Context, conn *pgx.Conn, divided bool) ([]keyStep, error) {
	build := func(table, index string) keyStep {
		return keyStep{what: "build " + index + " of " + table, alone: true, statements: []string{"drop index concurrently if exists " + index,
			fmt.Sprintf("create index concurrently %s on %s (%s)", index, table, r.Columns)}}
	}
	if !divided {
		return []keyStep{build(r.Table, r.Successor)}, nil
	}
	rows, err := conn.Query(ctx, `select c.relname::text, exists (select from pg_index where indexrelid = to_regclass('public.'||$2||substr(c.relname, length($1) + 1)) and indisvalid)
		from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::text::regclass order by 1`, r.Table, r.Successor)
	if err != nil {
		return nil, err
	}
	var steps []keyStep
	whole := keyStep{what: "build " + r.Successor + " of " + r.Table,
		statements: []string{fmt.Sprintf("create index if not exists %s on only %s (%s)", r.Successor, r.Table, r.Columns)}}
	var leaf string
	var built bool
	_, err = pgx.ForEachRow(rows, []any{&leaf, &built}, func() error {
		index := r.Successor + strings.TrimPrefix(leaf, r.Table)
		if !built {
			steps = append(steps, build(leaf, index))
		}
		whole.statements = append(whole.statements, fmt.Sprintf("alter index %s attach partition %s", r.Successor, index))
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
