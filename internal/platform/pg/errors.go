package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
)

// ErrNotFound says that the scope has no row with the key.
var ErrNotFound = errors.New("pg: not found")

// OrNotFound returns ErrNotFound in place of the errors by which GORM and database/sql say that there is no row.
func OrNotFound[T any](row T, err error) (T, error) {
	if errors.Is(err, gorm.ErrRecordNotFound) || errors.Is(err, sql.ErrNoRows) {
		var zero T
		return zero, ErrNotFound
	}
	return row, err
}

// Violates reports whether err is a violation of the named unique constraint or index. A distributed server names that of a shard, with
// the number of the shard behind it, and only in the message.
func Violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "23505" {
		return false
	}
	name := pg.ConstraintName
	if name == "" {
		_, quoted, _ := strings.Cut(pg.Message, `"`)
		name, _, _ = strings.Cut(quoted, `"`)
	}
	shard, ok := strings.CutPrefix(name, constraint)
	return ok && strings.Trim(shard, "_0123456789") == ""
}

// Changed reports whether a guard failed: a statement that calls the function guard with what the others of its transaction rest on.
func Changed(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "CS001"
}

// Conflicted reports whether Postgres ended the transaction because it conflicted with another: a deadlock, or a failed serialization. It
// can be repeated at once.
func Conflicted(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

// IsLocked reports whether a statement waited for a lock for longer than lock_timeout allows.
func IsLocked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// IsUnavailable reports whether err says that the database could not be reached or could not do its work now, rather than
// that it refused a statement. The caller may return 503, and a retry is safe.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code[:min(2, len(pg.Code))] {
		case "08", "53", "57", "40": // connection, resources, operator intervention, serialization
			return true
		}
		return pg.Code == "25P03" || pg.Code == codeReadOnly // 25P03: the transaction was idle for longer than allowed
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err) ||
		slices.ContainsFunc(connectionErrors, func(g error) bool { return errors.Is(err, g) })
}

// connectionErrors are the errors of a connection that ended, or of waiting too long for one.
var connectionErrors = []error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, driver.ErrBadConn, sql.ErrConnDone}
