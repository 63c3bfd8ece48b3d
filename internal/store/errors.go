package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
)

// ErrNotFound says that no row in the scope has the key.
var ErrNotFound = errors.New("store: not found")

// one turns GORM's and database/sql's ways of saying "no row" into ErrNotFound.
func one[T any](row T, err error) (T, error) {
	if errors.Is(err, gorm.ErrRecordNotFound) || errors.Is(err, sql.ErrNoRows) {
		var zero T
		return zero, ErrNotFound
	}
	return row, err
}

// Violates reports whether err is the violation of the named unique constraint or index.
func Violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" && pg.ConstraintName == constraint
}

// IsAway reports whether err says that the database could not be reached or could not do its work now (as against
// refusing a statement), so that the caller may answer 503 and a retry is safe.
func IsAway(err error) bool {
	if err == nil {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code[:2] {
		case "08", "53", "57", "40": // connection, resources, operator intervention, serialization
			return true
		}
		return false
	}
	return !errors.Is(err, ErrNotFound) && !errors.Is(err, context.Canceled)
}
