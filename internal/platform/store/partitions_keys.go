package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// replaceKeys puts a plain index in the place of each unique key that does not contain the column that the table is divided by, as
// p.Replace says, and returns the plan of the table as it is then. The indexes are built while requests are served. What an interrupted
// call did is found in the catalogue.
func (p partPlan) replaceKeys(ctx context.Context, conn *pgx.Conn) (_ partPlan, err error) {
	if p.Table == decisionsTable().Table {
		if err = moveKeys(ctx, conn); err == nil {
			p, err = planParts(ctx, conn, p.PartitionedTable)
		}
		if err != nil {
			return p, err
		}
	}
	for _, i := range p.indexes {
		if i.Keyed || !i.Unique {
			continue
		}
		n := slices.IndexFunc(p.Replace, func(r models.ReplacedKey) bool { return r.Unique == i.Name })
		if n < 0 {
			return p, fmt.Errorf("the unique key %s does not contain %s: add it to models.PartitionedTables with what keeps its values unique", i.Name, p.Key)
		}
		if err := p.replaceKey(ctx, conn, i, p.Replace[n]); err != nil {
			return p, err
		}
	}
	return planParts(ctx, conn, p.PartitionedTable)
}

func (p partPlan) replaceKey(ctx context.Context, conn *pgx.Conn, i partIndex, r models.ReplacedKey) error {
	successor, unique, definition := r.Plain, "", i.Definition
	if r.Widened {
		r.Primary = i.Name + "_wide"
		successor, unique, definition = r.Primary, "unique ", strings.TrimSuffix(definition, ")")+", "+p.Key+")"
	}
	built := successor == ""
	if !built {
		if err := conn.QueryRow(ctx, "select exists (select from pg_index where indexrelid = to_regclass($1) and indisvalid)", successor).Scan(&built); err != nil {
			return err
		}
	}
	if !built {
		build := []string{"drop index concurrently if exists " + successor,
			fmt.Sprintf("create %sindex concurrently %s on %s using %s", unique, successor, p.Table, definition)}
		if err := (keyStep{statements: build, alone: true}).run(ctx, conn); err != nil {
			return err
		}
	}
	replace := fmt.Sprintf("drop index %s", i.Name)
	if i.Constraint != "" {
		replace = fmt.Sprintf("alter table %s drop constraint %s", p.Table, i.Name)
	}
	if r.Primary != "" {
		replace += fmt.Sprintf(", add constraint %s primary key using index %s", i.Name, r.Primary)
	}
	// A primary key is needed by the foreign keys to it.
	statements := []string{replace}
	if r.Widened {
		statements = append(slices.Clone(p.release), replace)
	}
	return keyStep{statements: statements}.run(ctx, conn)
}

// keysPage is the number of decisions whose keys one statement copies.
const keysPage = 5000

// moveKeys puts the keys of decisions in decision_keys. Once the lock of the first step is gone, no statement is under way that writes a
// decision without its keys: the next ones find the row of decision_division. The indexes go when all keys are copied, in the
// transaction that says so. An interrupted call is repeated from the beginning, and finds the keys that it copied.
func moveKeys(ctx context.Context, conn *pgx.Conn) error {
	begin := keyStep{statements: []string{"lock table authorizations in share row exclusive mode",
		"insert into decision_division default values on conflict do nothing"}}
	if err := begin.run(ctx, conn); err != nil {
		return err
	}
	var level int
	if err := conn.QueryRow(ctx, "select "+divisionLevel).Scan(&level); err != nil || level == keysComplete {
		return err
	}
	if err := copyKeys(ctx, conn); err != nil {
		return err
	}
	// Keys of decisions that were deleted while they were copied.
	if _, err := conn.Exec(ctx, `delete from decision_keys k where not exists
		(select from authorizations a where a.id = k.authorization_id and a.environment_id = k.environment_id)`); err != nil {
		return err
	}
	return keyStep{statements: []string{"lock table authorizations in access exclusive mode", "drop index if exists authorizations_nonce, authorizations_idempotency",
		"update decision_division set complete = true"}}.run(ctx, conn)
}

func copyKeys(ctx context.Context, conn *pgx.Conn) error {
	for after := ""; ; {
		var last *string
		err := conn.QueryRow(ctx, `with page as (select * from authorizations where id > $1 order by id limit $2),
			copied as (insert into decision_keys (environment_id, nonce, idempotency_key, authorization_id)
				select environment_id, `+keyOf("nonce")+`, `+keyOf("idempotency_key")+`, id from page where parent_id is null on conflict do nothing)
			select max(id) from page`, after, keysPage).Scan(&last)
		if err != nil || last == nil {
			return err
		}
		after = *last
	}
}
