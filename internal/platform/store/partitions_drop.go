package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// dropped is the suffix of a partition that was detached and is about to be dropped. One that is found was left by an interrupted call.
const dropped = "_dropped"

// DropPartitions detaches and drops the partitions of a table all of whose rows are from before a time, and returns the number of rows.
// record receives the number of rows of each environment, in the transaction that drops them. A table that is not divided has none.
func (s *Store) DropPartitions(ctx context.Context, table string, before time.Time, record func(q *Q, gone []EnvironmentCount) error) (rows int64, err error) {
	i := slices.IndexFunc(models.PartitionedTables, func(t models.PartitionedTable) bool { return t.Table == table })
	if i < 0 {
		return 0, fmt.Errorf("store: the table %q is not in models.PartitionedTables", table)
	}
	t := models.PartitionedTables[i]
	err = s.onParts(ctx, func(conn *pgx.Conn) error {
		if err := detachExpired(ctx, conn, t, before); err != nil {
			return fmt.Errorf("store: detach partitions of %s: %w", table, err)
		}
		names, err := detached(ctx, conn, table)
		if err != nil {
			return err
		}
		// All that is current goes back before the first is dropped: with decisions go the keys and parts of a range of ids, and the range of
		// a partition that an interrupted call left may lie within that of another.
		for _, name := range names {
			if err := untilUnlocked(ctx, func() error { return s.returnCurrent(ctx, t, name, before) }); err != nil {
				return err
			}
		}
		for _, name := range names {
			if err := untilUnlocked(ctx, func() error {
				n, err := s.dropPart(ctx, t, name, record)
				rows += n
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}

// detached returns the former partitions of a table.
func detached(ctx context.Context, conn *pgx.Conn, table string) ([]string, error) {
	rows, err := conn.Query(ctx, `select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
		and starts_with(relname, $1) and relname like '%'||$2 order by 1`, table+"_", dropped)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// unhurried runs f in a transaction whose statements may take long, but wait for no lock for long.
func (s *Store) unhurried(ctx context.Context, f func(q *Q) error) error {
	return s.Write(ctx, func(q *Q) error {
		for _, setting := range []string{"statement_timeout = 0", "lock_timeout = '" + lockWait + "'"} {
			if _, err := q.exec(ctx, "set local "+setting); err != nil {
				return err
			}
		}
		return f(q)
	})
}

// returnCurrent moves the rows of a partition that was detached which became current meanwhile back to the table. None becomes current later:
// a decision that cannot be read is followed by no other.
func (s *Store) returnCurrent(ctx context.Context, t models.PartitionedTable, name string, before time.Time) error {
	return s.unhurried(ctx, func(q *Q) error {
		_, err := q.exec(ctx, fmt.Sprintf("with back as (delete from %s d where %s returning d.*) insert into %s select * from back", name, currentRows(t), t.Table), before)
		return err
	})
}

// dropPart drops a partition that was detached, all of whose rows have expired.
func (s *Store) dropPart(ctx context.Context, t models.PartitionedTable, name string, record func(q *Q, gone []EnvironmentCount) error) (rows int64, err error) {
	err = s.unhurried(ctx, func(q *Q) error {
		gone, err := q.environmentCounts(ctx, "select environment_id from "+name)
		if err != nil {
			return err
		}
		rows = 0
		for _, g := range gone {
			rows += g.Rows
		}
		if err := record(q, gone); err != nil {
			return err
		}
		if t.Table == decisionsTable().Table {
			if err := q.deletePartsWithin(ctx, name); err != nil {
				return err
			}
		}
		_, err = q.exec(ctx, "drop table "+name)
		return err
	})
	return rows, err
}

// deletePartsWithin deletes the keys and parts of the decisions of a partition that was detached: those in the range of its ids of which the
// table has no decision. The rest of the range has few, so that this reads what it deletes and little else, but for decision_keys, which it
// reads whole: an index by decision would be written with every decision, to save a reading for each month.
func (q *Q) deletePartsWithin(ctx context.Context, name string) error {
	var first, last *string
	if err := q.queryRow(ctx, "select min(id), max(id) from "+name).Scan(&first, &last); err != nil || first == nil {
		return err
	}
	for _, table := range slices.Concat([]string{"decision_keys"}, models.DecisionParts) {
		if _, err := q.exec(ctx, "delete from "+table+` x where x.authorization_id between $1 and $2 and not exists (select from authorizations d
			where d.id = x.authorization_id and d.environment_id = x.environment_id and d.id between $1 and $2)`, *first, *last); err != nil {
			return err
		}
	}
	return nil
}
