package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"

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
		switch pg.Code[:min(2, len(pg.Code))] {
		case "08", "53", "57", "40": // connection, resources, operator intervention, serialization
			return true
		}
		return pg.Code == "25P03" // stopped for longer than a transaction may wait
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err) ||
		slices.ContainsFunc(gone, func(g error) bool { return errors.Is(err, g) })
}

// gone are the errors of a connection that ended, or of a wait for one that took too long.
var gone = []error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, driver.ErrBadConn, sql.ErrConnDone}
