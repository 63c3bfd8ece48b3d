package pg

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolConn runs each statement by itself, on any connection of the pool.
//
// Its methods for GORM run a query again that Postgres refused before it did anything (see refusedUnrun), at most once for each
// connection, so that neither a migration nor a restart under a running process fails a request. SQL statements name their
// columns and belong to one request each: they need no second run.
//
// Those methods, Exec and QueryRow also run a statement again that Postgres ended because it conflicted with others: by itself it is a transaction, of
// which nothing is left.
type poolConn struct {
	pool *pgxpool.Pool
	sql  *sql.DB // the same pool behind database/sql, which GORM requires
	// forget replaces the connections, whose statements a migration has made stale.
	forget func()
}

// Exec implements conn.
func (c poolConn) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return repeated(ctx, func() (pgconn.CommandTag, error) { return c.pool.Exec(ctx, query, args...) })
}

// Query implements conn.
func (c poolConn) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return c.pool.Query(ctx, query, args...)
}

// QueryRow implements conn. The statement is sent when its row is scanned.
func (c poolConn) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return rowFunc(func(dest ...any) error {
		_, err := repeated(ctx, func() (any, error) { return nil, c.pool.QueryRow(ctx, query, args...).Scan(dest...) })
		return err
	})
}

func (c poolConn) batch(ctx context.Context, b *pgx.Batch) error {
	return c.pool.SendBatch(ctx, b).Close()
}

// transaction implements conn. A connection whose transaction failed is rolled back before it is used again.
func (c poolConn) transaction(ctx context.Context, b *pgx.Batch) error {
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	whole := &pgx.Batch{}
	whole.Queue("begin")
	queueTrace(ctx, whole)
	whole.QueuedQueries = append(whole.QueuedQueries, b.QueuedQueries...)
	whole.Queue("commit")
	if err := conn.SendBatch(ctx, whole).Close(); err != nil {
		rollBack(ctx, conn.Conn())
		return err
	}
	return nil
}

// PrepareContext implements gorm.ConnPool.
func (c poolConn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return c.sql.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (c poolConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return repeated(ctx, func() (sql.Result, error) { return c.sql.ExecContext(ctx, query, args...) })
}

// QueryContext implements gorm.ConnPool.
func (c poolConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return queried(ctx, c, query, func() (*sql.Rows, error) { return c.sql.QueryContext(ctx, query, args...) })
}

// QueryRowContext implements gorm.ConnPool.
func (c poolConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row, _ := queried(ctx, c, query, func() (*sql.Row, error) {
		row := c.sql.QueryRowContext(ctx, query, args...)
		return row, row.Err()
	})
	return row // with its error
}

// queried runs a query, and again while Postgres refuses it unrun or ends it because it conflicted with others.
func queried[T any](ctx context.Context, c poolConn, query string, run func() (T, error)) (T, error) {
	return repeated(ctx, func() (T, error) {
		out, err := run()
		for left := c.pool.Stat().TotalConns(); left >= 0 && c.refusedUnrun(query, err); left-- {
			out, err = run()
		}
		return out, err
	})
}

// GetDBConn implements gorm.GetDBConnector.
func (c poolConn) GetDBConn() (*sql.DB, error) { return c.sql, nil }

// refusedUnrun reports whether a query may run again after err. A migration may have added a column to its result after it was
// prepared: then all connections, with their prepared statements, are replaced first. Or the server ended the connection while
// it was idle. What only reads may run again then; a write may have been done.
func (c poolConn) refusedUnrun(query string, err error) bool {
	if stalePlan(err) {
		c.forget()
		return true
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57P01" && strings.HasPrefix(query, "SELECT ")
}

// stalePlan reports whether err says that a statement was prepared for an earlier schema ("cached plan must not change result
// type"). Postgres files that under feature_not_supported, as a distributed server files a statement that it refuses; the text depends on the
// server's language, the routine does not. A statement of which only the description was stored, as behind a pooler, asks for too few columns instead, a protocol_violation.
func stalePlan(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery" || pg.Code == "08P01" && strings.HasPrefix(pg.Message, "bind message has "))
}
