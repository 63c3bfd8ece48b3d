package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Write runs f in a transaction and commits it if f returns nil. If f added to the outbox, Write wakes the relays after the
// commit: with a NOTIFY inside the transaction Postgres would serialise the commits of all transactions that send one.
//
// f must have no effects but its statements: it runs again, in a new transaction, if a migration changed a table after one of
// its statements was prepared, or if Postgres ended the transaction because it conflicted with others.
func (s *Store) Write(ctx context.Context, f func(q *Q) error) error {
	var w *written
	err := s.transact(ctx, pgx.TxOptions{}, func(q *Q) error {
		w = &written{causes: Causes{}}
		q.written = w
		if err := f(q); err != nil {
			return err
		}
		return q.record(ctx)
	})
	if err == nil && w.outbox {
		s.Wake(ChannelOutbox, "")
	}
	return err
}

// errReadOnly makes Read roll its transaction back.
var errReadOnly = errors.New("pg: read transaction ends")

// Read runs f on one snapshot. It always rolls back, so that a write hidden in a read fails its test.
func (s *Store) Read(ctx context.Context, f func(q *Q) error) error {
	return readOnly(s.transact(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, rollingBack(f)))
}

// rollingBack makes a transaction roll back after f.
func rollingBack(f func(q *Q) error) func(q *Q) error {
	return func(q *Q) error {
		if err := f(q); err != nil {
			return err
		}
		return errReadOnly
	}
}

// readOnly maps the end of a transaction that rolls back.
func readOnly(err error) error {
	if errors.Is(err, errReadOnly) {
		return nil
	}
	return err
}

// attempts is how many times a transaction is tried that conflicts with others. A distributed server has locks of whole tables, and ends the
// youngest transaction of a circle, which may be the same one again.
const attempts = 5

// repeated runs f again, after a pause, while it fails because it conflicted with others.
func repeated[T any](ctx context.Context, f func() (T, error)) (T, error) {
	for conflicts := 1; ; conflicts++ {
		out, err := f()
		if !Conflicted(err) || conflicts >= attempts || pauseFor(ctx, conflicts) != nil {
			return out, err
		}
	}
}

// pauseFor waits until the other transaction of the n-th conflict has probably ended: it is in its last steps.
func pauseFor(ctx context.Context, n int) error {
	return pause(ctx, rand.N(time.Duration(n)*20*time.Millisecond)) //nolint:gosec // a pause is no secret
}

// replans is how many times a statement is prepared again. A migration alters one table after the other: what waited for it has been planned for the
// table of before, and again at the next.
const replans = 20

// transact runs f in a transaction, and again if one of its statements was prepared for an earlier schema, or if it conflicted with others.
func (s *Store) transact(ctx context.Context, o pgx.TxOptions, f func(q *Q) error) error {
	_, err := repeated(ctx, func() (any, error) {
		for stale := 0; ; stale++ {
			err := s.transactOn(ctx, s.sql, o, f)
			if !stalePlan(err) || stale == replans {
				return nil, err
			}
			s.forget()
		}
	})
	return err
}

// unwrap returns the pgx connection inside one of database/sql. It may be used until conn is closed, which reserves it.
func unwrap(conn *sql.Conn) (pgxConn *pgx.Conn, err error) {
	err = conn.Raw(func(driver any) error {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("pg: a connection of %T", driver)
		}
		pgxConn = c.Conn()
		return nil
	})
	return pgxConn, err
}

// txConn runs statements in one transaction, on one connection that it uses through pgx for SQL and through database/sql for
// GORM. BEGIN is sent with the first statement. GORM's statements cannot be batched: if GORM comes first, BEGIN takes a round trip of its own.
type txConn struct {
	pgx     *pgx.Conn
	sql     *sql.Conn
	options pgx.TxOptions
	begun   bool
	changes []change // of rows that are recorded in the log
}

// errEnded keeps statements from running outside of the transaction that they are meant for.
var errEnded = errors.New("pg: the transaction has ended, or could not begin")

// ended reports whether the transaction is over although it began: the connection is outside of a transaction.
func (t *txConn) ended() bool { return t.begun && t.pgx.PgConn().TxStatus() == 'I' }

func (t *txConn) batch(ctx context.Context, b *pgx.Batch) error {
	if t.ended() {
		return errEnded
	}
	if !t.begun {
		begin := &pgx.Batch{}
		begin.BeginTx(t.options)
		if t.options.IsoLevel == "" { // of Write
			queueTrace(ctx, begin)
		}
		begin.QueuedQueries = append(begin.QueuedQueries, b.QueuedQueries...)
		t.begun, b = true, begin
	}
	return t.pgx.SendBatch(ctx, b).Close()
}

// transaction implements conn: the statements are a part of this one.
func (t *txConn) transaction(ctx context.Context, b *pgx.Batch) error { return t.batch(ctx, b) }

// begin sends BEGIN ahead of a statement that cannot be batched, unless it was sent before.
func (t *txConn) begin(ctx context.Context) error {
	if t.begun && !t.ended() {
		return nil
	}
	return t.batch(ctx, &pgx.Batch{})
}

// commit ends the transaction, if it has begun.
func (t *txConn) commit(ctx context.Context) error {
	if !t.begun {
		return nil
	}
	end, err := t.Exec(ctx, "commit")
	if err == nil && end.String() == "ROLLBACK" { // a statement had failed and f did not return its error
		err = pgx.ErrTxCommitRollback
	}
	return err
}

// rollBack ends a transaction that was not committed. The request may be over, so that it takes a second of its own. A
// transaction that cannot be rolled back in that time ends with its connection: the pool closes connections that are
// returned to it inside a transaction.
func rollBack(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback")
}

// Exec implements conn.
func (t *txConn) Exec(ctx context.Context, query string, args ...any) (tag pgconn.CommandTag, err error) {
	b := &pgx.Batch{}
	b.Queue(query, args...).Exec(func(done pgconn.CommandTag) error { tag = done; return nil })
	err = t.batch(ctx, b)
	return tag, err
}

// Query implements conn.
func (t *txConn) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.pgx.Query(ctx, query, args...)
}

// QueryRow implements conn. The statement is sent when its row is scanned.
func (t *txConn) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return rowFunc(func(dest ...any) error {
		b := &pgx.Batch{}
		b.Queue(query, args...).QueryRow(func(row pgx.Row) error { return row.Scan(dest...) })
		return t.batch(ctx, b)
	})
}

// rowFunc is a pgx.Row that is read by calling it.
type rowFunc func(dest ...any) error

// Scan implements pgx.Row.
func (f rowFunc) Scan(dest ...any) error { return f(dest...) }

// PrepareContext implements gorm.ConnPool.
func (t *txConn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.sql.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (t *txConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.sql.ExecContext(ctx, query, args...)
}

// QueryContext implements gorm.ConnPool.
func (t *txConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.sql.QueryContext(ctx, query, args...)
}

// QueryRowContext implements gorm.ConnPool. An sql.Row cannot carry an error of ours: if the transaction cannot begin, the
// query is sent with a context that has ended, so that it fails and does not run outside of the transaction.
func (t *txConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := t.begin(ctx); err != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return t.sql.QueryRowContext(ended, query, args...)
	}
	return t.sql.QueryRowContext(ctx, query, args...)
}
