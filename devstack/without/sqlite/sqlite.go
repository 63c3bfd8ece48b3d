// Package sqlite replaces SQLite, which with its libc is 13 MB of Go translated from C, with a driver that opens no database: devstack
// stores everything in Postgres.
package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
)

var errNoSQLite = errors.New("devstack has no SQLite: it stores data in Postgres only")

func init() { sql.Register("sqlite", missing{}) }

// missing is the driver. Without it, database/sql would report a forgotten import.
type missing struct{}

func (missing) Open(string) (driver.Conn, error) { return nil, errNoSQLite }

// Error is an error of a statement. No value of it exists, since no statement runs.
type Error struct{}

func (*Error) Error() string { return errNoSQLite.Error() }

// Code returns 0, which is no code of SQLite's errors.
func (*Error) Code() int { return 0 }
