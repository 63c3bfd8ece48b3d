package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolConn runs each statement by itself, on any connection of the pool.
//
// Its methods for GORM retry a query once if a migration added a column to its result after it was prepared: Postgres refuses
// such a statement before it does anything. The connections, with their prepared statements, are replaced first, so that a
// migration under a running process fails no request. SQL statements name their columns and need no retry.
type poolConn struct {
	pool *pgxpool.Pool
	sql  *sql.DB // the same pool behind database/sql, which GORM requires
}

// Exec implements conn.
func (c poolConn) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return c.pool.Exec(ctx, query, args...)
}

// Query implements conn.
func (c poolConn) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return c.pool.Query(ctx, query, args...)
}

// QueryRow implements conn.
func (c poolConn) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return c.pool.QueryRow(ctx, query, args...)
}

func (c poolConn) batch(ctx context.Context, b *pgx.Batch) error {
	return c.pool.SendBatch(ctx, b).Close()
}

func (c poolConn) atCommit(ctx context.Context, s commitStatement) error {
	_, err := c.pool.Exec(ctx, s.query, s.args...)
	return s.wrap(err)
}

// PrepareContext implements gorm.ConnPool.
func (c poolConn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return c.sql.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (c poolConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return c.sql.ExecContext(ctx, query, args...)
}

// QueryContext implements gorm.ConnPool.
func (c poolConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := c.sql.QueryContext(ctx, query, args...)
	if stalePlan(err) {
		c.pool.Reset()
		rows, err = c.sql.QueryContext(ctx, query, args...)
	}
	return rows, err
}

// QueryRowContext implements gorm.ConnPool.
func (c poolConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := c.sql.QueryRowContext(ctx, query, args...)
	if stalePlan(row.Err()) {
		c.pool.Reset()
		row = c.sql.QueryRowContext(ctx, query, args...)
	}
	return row
}

// GetDBConn implements gorm.GetDBConnector.
func (c poolConn) GetDBConn() (*sql.DB, error) { return c.sql, nil }

// stalePlan reports whether err says that a statement was prepared for an earlier schema ("cached plan must not change result
// type"). Postgres files that under feature_not_supported; no other statement of this package raises it.
func stalePlan(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "0A000"
}
