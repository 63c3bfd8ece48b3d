package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// replaceKeys puts a plain index in the place of each unique key that does not contain the column that the table is divided by, as
// p.Replace says, and returns the plan of the table as it is then. The indexes are built while requests are served. What an interrupted
// call did is found in the catalogue.
func (p partPlan) replaceKeys(ctx context.Context, conn *pgx.Conn) (partPlan, error) {
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
	var built bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_index where indexrelid = to_regclass($1) and indisvalid)", r.Plain).Scan(&built); err != nil {
		return err
	}
	if !built {
		build := []string{"drop index concurrently if exists " + r.Plain,
			fmt.Sprintf("create index concurrently %s on %s using %s", r.Plain, p.Table, i.Definition)}
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
	return keyStep{statements: []string{replace}}.run(ctx, conn)
}
