package pg

import (
	"context"
	"io"
)

// Copy copies the rows that a query of from returns into a table, as they are stored, and returns their number. Both sides are in a transaction,
// whose statements have no time limit from then on.
func (q *Q) Copy(ctx context.Context, from *Q, query, into string) (int64, error) {
	source, reads := from.conn.(*txConn)
	target, writes := q.conn.(*txConn)
	if !reads || !writes {
		return 0, errNoTransaction
	}
	for _, side := range []*txConn{source, target} {
		if _, err := side.Exec(ctx, "set local statement_timeout = 0"); err != nil {
			return 0, err
		}
		if _, err := side.Exec(ctx, "set local idle_in_transaction_session_timeout = 0"); err != nil {
			return 0, err
		}
	}
	r, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, err := source.pgx.PgConn().CopyTo(ctx, w, "copy ("+query+") to stdout (format binary)")
		_ = w.CloseWithError(err)
	}()
	tag, err := target.pgx.PgConn().CopyFrom(ctx, r, "copy "+into+" from stdin (format binary)")
	_ = r.CloseWithError(err)
	<-sent
	return tag.RowsAffected(), err
}
