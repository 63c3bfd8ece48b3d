package bench

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// makeSegments writes the server's log up to max_wal_size and then a checkpoint, so that the part finds files to write its own log to, as
// on a server that has run for an hour. A young server makes a file for each 16 MB while transactions wait for it: some 50 ms, which at
// 300 decisions a second is one in a hundred of them.
func (b *bench) makeSegments(ctx context.Context) error {
	return onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		var n int
		if err := conn.QueryRow(ctx, `select (max(setting::bigint) filter (where name = 'max_wal_size') * 1024 * 1024 /
			max(setting::bigint) filter (where name = 'wal_segment_size'))::int from pg_settings where name in ('max_wal_size', 'wal_segment_size')`).Scan(&n); err != nil {
			return err
		}
		for i := range n {
			b.show("making the files of the server's log", i, n)
			// Nothing is switched without a record since the last switch.
			if _, err := conn.Exec(ctx, "select pg_logical_emit_message(false, '', ''), pg_switch_wal()"); err != nil {
				return err
			}
		}
		_, err := conn.Exec(ctx, "checkpoint")
		return err
	})
}
