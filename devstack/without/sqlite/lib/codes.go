// Package sqlite3 has the result codes of SQLite that the server compares errors with (https://www.sqlite.org/rescode.html).
package sqlite3

// Violated constraints.
const (
	SQLITE_CONSTRAINT            = 19
	SQLITE_CONSTRAINT_PRIMARYKEY = SQLITE_CONSTRAINT | 6<<8
	SQLITE_CONSTRAINT_UNIQUE     = SQLITE_CONSTRAINT | 8<<8
)
