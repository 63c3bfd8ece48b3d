package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// ProbeWrite returns an error unless the database takes a write: it inserts a row as large as a page, so that a full disk refuses
// it, and deletes it in the same transaction, whose commit waits for the standbys that every commit waits for.
func (s *Store) ProbeWrite(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var id int64
		if err := tx.QueryRow(ctx, "insert into write_probes (page) values (repeat('.', 8000)) returning id").Scan(&id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "delete from write_probes where id = $1", id)
		return err
	})
}
