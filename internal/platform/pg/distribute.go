package pg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ErrNotDistributable says that the server has no function that distributes a table.
var ErrNotDistributable = errors.New("the database has no extension citus: install Citus on every server, add it to shared_preload_libraries, " +
	"run CREATE EXTENSION citus in this database and add the workers with citus_add_node, then repeat (docs/scale-and-failover.md)")

// placeStatement returns the statement that places a table. Each distributed table has its rows beside those of the anchor.
func placeStatement(table, anchor string) string {
	if TableOf(table).Placed == Everywhere {
		return fmt.Sprintf("select create_reference_table('%s')", table)
	}
	beside := anchor
	if table == anchor {
		beside = "none"
	}
	return fmt.Sprintf("select create_distributed_table('%s', 'environment_id', colocate_with => '%s')", table, beside)
}

// Distribute places every table that is not on the coordinator alone, in an order in which each follows those that it refers to. show
// receives the number of tables placed, of all. Tables that were placed before stay as they are, so that an interrupted call is repeated.
// It returns ErrNotDistributable before it changes anything.
func (s *Store) Distribute(ctx context.Context, show func(done, total int)) (placed int, err error) {
	err = s.onServer(ctx, func(d *Store) error {
		if err := d.CheckSchema(ctx); err != nil {
			return err
		}
		return d.lockMigrations(ctx, func() error {
			return d.unlimited(ctx, func(conn *pgx.Conn) error {
				placed, err = place(ctx, conn, show)
				return err
			})
		})
	})
	return placed, err
}

func place(ctx context.Context, conn *pgx.Conn, show func(done, total int)) (placed int, err error) {
	before, err := placedTables(ctx, conn)
	if err != nil {
		return 0, err
	}
	// Otherwise a reference table makes local tables of those that refer to it, which cannot be distributed then.
	if _, err := conn.Exec(ctx, "set citus.enable_local_reference_table_foreign_keys = off"); err != nil {
		return 0, err
	}
	distributed := TablesPlaced(ByEnvironment)
	tables := slices.Concat(TablesPlaced(Everywhere), distributed)
	anchor := distributed[0]
	if i := slices.IndexFunc(distributed, func(table string) bool { return before[table] }); i >= 0 {
		anchor = distributed[i]
	}
	for done, table := range tables {
		show(done, len(tables))
		if before[table] {
			continue
		}
		if _, err := conn.Exec(ctx, placeStatement(table, anchor)); err != nil {
			return placed, fmt.Errorf("pg: place the table %s: %w", table, err)
		}
		placed++
	}
	// A statement of one environment runs on the server that has its rows, with the functions that it calls.
	if _, err := conn.Exec(ctx, "select create_distributed_function('guard(boolean)')"); err != nil {
		return placed, fmt.Errorf("pg: place the function guard: %w", err)
	}
	show(len(tables), len(tables))
	return placed, nil
}

// placedTables returns the tables that are placed. One that the extension lists as local is not.
func placedTables(ctx context.Context, conn *pgx.Conn) (map[string]bool, error) {
	var able bool
	if err := conn.QueryRow(ctx, "select to_regproc('create_distributed_table') is not null").Scan(&able); err != nil {
		return nil, err
	}
	if !able {
		return nil, ErrNotDistributable
	}
	rows, err := conn.Query(ctx, "select table_name::text from citus_tables where citus_table_type in ('reference', 'distributed')")
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	before := map[string]bool{}
	for _, name := range names {
		before[name] = true
	}
	return before, err
}
