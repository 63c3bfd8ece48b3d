package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
)

// Q runs queries, on the pool or inside one transaction. The package documentation says which of its methods to use.
type Q struct {
	db   *gorm.DB
	conn conn
	// floor is shared by every Q of a store.
	floor *floor
	// standby serves reads that may be old; nil in a transaction, and without one.
	standby *standby
	// outboxAdded becomes true when work is added to the outbox; nil outside of Write.
	outboxAdded *bool
}

// conn runs the statements of a Q: poolConn each by itself, txConn all of them in one transaction.
type conn interface {
	gorm.ConnPool // runs the statements of GORM
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
	batch(ctx context.Context, b *pgx.Batch) error
	atCommit(ctx context.Context, s commitStatement) error
}

// gorm begins a GORM statement. It returns a new session each time, because a *gorm.DB accumulates conditions.
func (q *Q) gorm(ctx context.Context) *gorm.DB {
	session := q.db.WithContext(ctx)
	session.Statement.ConnPool = q.conn
	return session
}

// exec runs a statement and returns the number of rows that it changed.
func (q *Q) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := q.conn.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// query runs a statement that returns rows. The caller closes them before the next statement.
func (q *Q) query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return q.conn.Query(ctx, query, args...)
}

// queryRow runs a statement that returns one row, when the row is scanned. Scan returns sql.ErrNoRows if there is none, and
// needs destinations of the column's own type: []string for text[], not models.Strings.
func (q *Q) queryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return q.conn.QueryRow(ctx, query, args...)
}

// batch runs the statements of b in one round trip and their callbacks in order. On the pool they are one transaction.
// Postgres stops at the first error, which batch returns.
func (q *Q) batch(ctx context.Context, b *pgx.Batch) error { return q.conn.batch(ctx, b) }

// commitStatement is a statement that is sent with the commit.
type commitStatement struct {
	what  string // what the statement does, for its error: "save the frame"
	query string
	args  []any
}

// atCommit runs a statement with the commit, in the same round trip: the earlier statements of the transaction have run and
// no later one sees its effect. If it fails, Write returns its error, wrapped with what it was to do, and nothing is
// committed. Outside of a transaction it runs at once.
func (q *Q) atCommit(ctx context.Context, s commitStatement) error { return q.conn.atCommit(ctx, s) }

// markOutbox records that the transaction added work to the outbox.
func (q *Q) markOutbox() {
	if q.outboxAdded != nil {
		*q.outboxAdded = true
	}
}
