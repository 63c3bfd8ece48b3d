package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Write runs f in a transaction and commits it if f returns nil. If f added to the outbox, the relays are woken after the
// commit: a NOTIFY inside the transaction would make Postgres serialise the commits of all who send one. Where a migration
// changed a table in between, f runs a second time, in a new transaction.
func (s *Store) Write(ctx context.Context, f func(q *Q) error) error {
	queued := false
	err := s.transaction(ctx, pgx.TxOptions{}, func(q *Q) error {
		queued = false
		q.queued = &queued
		return f(q)
	})
	if err == nil && queued {
		s.Wake(ChannelOutbox)
	}
	return err
}

// errReadOnly makes Read roll back whatever was done.
var errReadOnly = errors.New("store: read transaction ends")

// Read runs f on one snapshot and always rolls back, so that a write hidden in a read fails its test.
func (s *Store) Read(ctx context.Context, f func(q *Q) error) error {
	err := s.transaction(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(q *Q) error {
		if err := f(q); err != nil {
			return err
		}
		return errReadOnly
	})
	if errors.Is(err, errReadOnly) {
		return nil
	}
	return err
}

// transaction runs f in a transaction, and once more where f met a statement that was prepared before a migration.
func (s *Store) transaction(ctx context.Context, o pgx.TxOptions, f func(q *Q) error) error {
	err := s.once(ctx, o, f)
	if stalePlan(err) {
		s.pool.Reset()
		err = s.once(ctx, o, f)
	}
	return err
}

// once runs f in a transaction of pgx, in which GORM takes part: it is given the connection and begins nothing itself. So a
// plain statement has no database/sql in between, in the same transaction as those that GORM makes.
func (s *Store) once(ctx context.Context, o pgx.TxOptions, f func(q *Q) error) error {
	conn, err := s.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	direct, err := beneath(conn)
	if err != nil {
		return err
	}
	t := &transaction{conn: direct, options: o}
	defer t.rollBack(ctx)
	if err := f(&Q{db: s.db, inside: member{conn, t}, plain: t}); err != nil {
		return err
	}
	return t.commit(ctx)
}

// beneath is pgx's own connection under one of database/sql. It may be used for as long as conn is held: nobody else has it.
func beneath(conn *sql.Conn) (direct *pgx.Conn, err error) {
	err = conn.Raw(func(driver any) error {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("store: a connection of %T", driver)
		}
		direct = c.Conn()
		return nil
	})
	return direct, err
}

// transaction begins with its first statement and commits with its last, each time in one round trip for both.
type transaction struct {
	conn    *pgx.Conn
	options pgx.TxOptions
	begun   bool
	queued  []*pgx.QueuedQuery // go ahead of the next statement, or of the commit
}

// send sends the batch behind what is queued, and begins where nothing was sent yet. Postgres stops at the first error.
func (t *transaction) send(ctx context.Context, b *pgx.Batch) error {
	if t.over() {
		return errOver
	}
	whole := &pgx.Batch{}
	if !t.begun {
		whole.BeginTx(t.options)
	}
	whole.QueuedQueries = append(append(whole.QueuedQueries, t.queued...), b.QueuedQueries...)
	t.begun, t.queued = true, nil
	return t.conn.SendBatch(ctx, whole).Close()
}

// ready sends what has to go ahead of a statement that is sent by itself.
func (t *transaction) ready(ctx context.Context) error {
	if t.begun && len(t.queued) == 0 && !t.over() {
		return nil
	}
	return t.send(ctx, &pgx.Batch{})
}

// errOver keeps statements from running outside of the transaction they are meant for.
var errOver = errors.New("store: the transaction has ended, or could not begin")

func (t *transaction) over() bool { return t.begun && t.conn.PgConn().TxStatus() == 'I' }

func (t *transaction) commit(ctx context.Context) error {
	if !t.begun && len(t.queued) == 0 {
		return nil
	}
	var end pgconn.CommandTag
	b := &pgx.Batch{}
	b.Queue("commit").Exec(func(tag pgconn.CommandTag) error { end = tag; return nil })
	if err := t.send(ctx, b); err != nil {
		return err
	}
	if end.String() == "ROLLBACK" { // a statement had failed and f did not say so
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// rollBack ends what was not committed. The request may be over already; what cannot be rolled back in time ends with its
// connection, which the pool does not take back inside a transaction.
func (t *transaction) rollBack(ctx context.Context) {
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "rollback")
}

// Exec implements plain.
func (t *transaction) Exec(ctx context.Context, query string, args ...any) (tag pgconn.CommandTag, err error) {
	b := &pgx.Batch{}
	b.Queue(query, args...).Exec(func(done pgconn.CommandTag) error { tag = done; return nil })
	err = t.send(ctx, b)
	return tag, err
}

// Query implements plain.
func (t *transaction) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	return t.conn.Query(ctx, query, args...)
}

// QueryRow implements plain. The statement is sent when its row is scanned.
func (t *transaction) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return scanning(func(dest ...any) error {
		b := &pgx.Batch{}
		b.Queue(query, args...).QueryRow(func(row pgx.Row) error { return row.Scan(dest...) })
		return t.send(ctx, b)
	})
}

type scanning func(dest ...any) error

// Scan implements pgx.Row.
func (f scanning) Scan(dest ...any) error { return f(dest...) }

// member is the connection of a transaction that is not GORM's to begin or to end.
type member struct {
	conn *sql.Conn
	t    *transaction
}

// PrepareContext implements gorm.ConnPool.
func (m member) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := m.t.ready(ctx); err != nil {
		return nil, err
	}
	return m.conn.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (m member) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := m.t.ready(ctx); err != nil {
		return nil, err
	}
	return m.conn.ExecContext(ctx, query, args...)
}

// QueryContext implements gorm.ConnPool.
func (m member) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := m.t.ready(ctx); err != nil {
		return nil, err
	}
	return m.conn.QueryContext(ctx, query, args...)
}

// QueryRowContext implements gorm.ConnPool. A row can say no error of ours: where the transaction is not ready, the query is
// sent with a context that has ended, and does not run outside of it.
func (m member) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := m.t.ready(ctx); err != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return m.conn.QueryRowContext(ended, query, args...)
	}
	return m.conn.QueryRowContext(ctx, query, args...)
}
