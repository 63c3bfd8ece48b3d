package pg

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/models"
)

// Q runs queries, on the pool or inside one transaction. The package documentation says which of its methods to use.
type Q struct {
	db   *gorm.DB
	conn conn
	// standby serves reads that may be old; nil in a transaction, and without one.
	standby *standby
	// written says what the transaction wrote so far; nil outside of Write.
	written *written
	// asStored: see AsStored.
	asStored bool
}

// AsStored returns a Q that takes rows as they are stored: one that does not match its MAC is recorded and used. It is for what ends records, such as a
// revocation or an erasure: an altered row must not keep it from being made. Change makes no altered row valid.
func (q *Q) AsStored() *Q {
	out := *q
	out.asStored = true
	return &out
}

// InTransaction reports whether the statements of q are part of one transaction.
func (q *Q) InTransaction() bool {
	_, in := q.conn.(*txConn)
	return in
}

// written says what a transaction wrote.
type written struct {
	outbox bool // work was added to the outbox
	causes Causes
}

// Causes are the first events that a transaction writes, by environment: the others name it as their cause.
type Causes map[string]string

// Of returns the first event of the transaction in the environment of e; nil if that is e.
func (c Causes) Of(e models.Event) *string {
	if first, ok := c[e.EnvironmentID]; ok && first != e.ID {
		return &first
	}
	c[e.EnvironmentID] = e.ID
	return nil
}

// Causes returns those of the transaction. Outside of one, a statement is a transaction by itself.
func (q *Q) Causes() Causes {
	if q.written == nil {
		return Causes{}
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
	transaction(ctx context.Context, b *pgx.Batch) error
}

// Gorm begins a GORM statement. It returns a new session each time, because a *gorm.DB accumulates conditions.
func (q *Q) Gorm(ctx context.Context) *gorm.DB {
	session := q.db.WithContext(ctx)
	session.Statement.ConnPool = q.conn
	if q.asStored {
		session = session.Set(recorded, true)
	}
	return session
}

// Exec runs a statement and returns the number of rows that it changed.
func (q *Q) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := q.conn.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// Query runs a statement that returns rows. The caller closes them before the next statement.
func (q *Q) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return q.conn.Query(ctx, query, args...)
}

// QueryRow runs a statement that returns one row, when the row is scanned. Scan returns sql.ErrNoRows if there is none, and
// needs destinations of the column's own type: []string for text[], not models.Strings.
func (q *Q) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return q.conn.QueryRow(ctx, query, args...)
}

// LimitStatements sets the time that each further statement of the transaction may take, in place of Options.StatementTimeout; 0 sets no limit.
func (q *Q) LimitStatements(ctx context.Context, limit time.Duration) error {
	_, err := q.Exec(ctx, "select set_config('statement_timeout', $1, true)", strconv.FormatInt(limit.Milliseconds(), 10))
	return err
}

// Batch runs the statements of b in one round trip and their callbacks in order. On the pool they are one transaction.
// Postgres stops at the first error, which batch returns.
func (q *Q) Batch(ctx context.Context, b *pgx.Batch) error { return q.conn.batch(ctx, b) }

// Transaction runs the statements of b in one round trip, between a BEGIN and a COMMIT of their own on the pool, and as part of the
// transaction in one. A statement that fails aborts all of them: a guard is a statement that fails if what the others rest on has
// changed (see Changed).
func (q *Q) Transaction(ctx context.Context, b *pgx.Batch) error { return q.conn.transaction(ctx, b) }

// MarkOutbox records that the transaction added work to the outbox.
func (q *Q) MarkOutbox() {
	if q.written != nil {
		q.written.outbox = true
	}
}
