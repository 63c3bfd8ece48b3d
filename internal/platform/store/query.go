package store

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/models"
)

// Q runs queries, on the pool or inside one transaction. The package documentation says which of its methods to use.
type Q struct {
	db   *gorm.DB
	conn conn
	// floor is shared by every Q of a store.
	floor *floor
	// division is how far decisions are known to be divided, shared likewise.
	division *division
	// standby serves reads that may be old; nil in a transaction, and without one.
	standby *standby
	// groups send statements of concurrent requests together.
	groups groups
	// distributed says that the tables are on several servers (Store.Distribute).
	distributed bool
	// written says what the transaction wrote so far; nil outside of Write.
	written *written
}

// written says what a transaction wrote.
type written struct {
	outbox bool // work was added to the outbox
	causes causes
}

// causes are the first events that a transaction writes, by environment: the others name it as their cause.
type causes map[string]string

// of returns the first event of the transaction in the environment of e; nil if that is e.
func (c causes) of(e models.Event) *string {
	if first, ok := c[e.EnvironmentID]; ok && first != e.ID {
		return &first
	}
	c[e.EnvironmentID] = e.ID
	return nil
}

// causes returns those of the transaction. Outside of one, a statement is a transaction by itself.
func (q *Q) causes() causes {
	if q.written == nil {
		return causes{}
	}
	return q.written.causes
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

// noIndex makes a comparison one with an expression that no index has: "environment_id || ” = $2". Statements of a decision and of a
// frame find their rows by an id. Without it the planner may choose an index that begins with the environment, and read all of its
// rows, on a young table without statistics. A server that distributes its tables needs the column itself, to find the shard.
const noIndex = " || ''"

// noIndex returns the text for this database: nothing on one that is distributed.
func (q *Q) noIndex() string {
	if q.distributed {
		return ""
	}
	return noIndex
}

// text returns a statement for this database. Every statement with noIndex in it is passed through it.
func (q *Q) text(statement string) string {
	if q.distributed {
		return strings.ReplaceAll(statement, noIndex, "")
	}
	return statement
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
	if q.written != nil {
		q.written.outbox = true
	}
}
