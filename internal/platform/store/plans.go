package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// steady is the pool for statements of GORM. A statement that was prepared before a migration added a column to its result is
// refused by Postgres before it does anything; the connections are then replaced, and the statement is sent again. So
// a migration under a running process costs no request.
type steady struct {
	*sql.DB
	pool *pgxpool.Pool
}

// QueryContext implements gorm.ConnPool.
func (s steady) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := s.DB.QueryContext(ctx, query, args...)
	if stalePlan(err) {
		s.pool.Reset()
		rows, err = s.DB.QueryContext(ctx, query, args...)
	}
	return rows, err
}

// QueryRowContext implements gorm.ConnPool.
func (s steady) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := s.DB.QueryRowContext(ctx, query, args...)
	if stalePlan(row.Err()) {
		s.pool.Reset()
		row = s.DB.QueryRowContext(ctx, query, args...)
	}
	return row
}

// GetDBConn implements gorm.GetDBConnector.
func (s steady) GetDBConn() (*sql.DB, error) { return s.DB, nil }

// stalePlan reports whether a statement was prepared for a schema of before (feature_not_supported is what Postgres calls
// that). Nothing else the store does is answered so.
func stalePlan(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "0A000"
}
