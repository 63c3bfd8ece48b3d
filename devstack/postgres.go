package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// instanceLock is the key of the advisory lock a devstack holds on its main database while it runs.
	instanceLock = 0x636f756e74657273
	// migrationLock is the key of the lock of a migration: the members of a cluster start at the same time.
	migrationLock = instanceLock + 1
	// instanceLockWait covers the time that Postgres needs to notice that the connection of a killed devstack is closed.
	instanceLockWait = 5 * time.Second
	retryEvery       = 100 * time.Millisecond

	codeUnknownDatabase   = "3D000"
	codeDuplicateDatabase = "42P04"
	codeUniqueViolation   = "23505" // of a database that another process creates at the same moment
	codeStartingUp        = "57P03"
)

// databaseURL returns base with the database replaced by name; host, credentials and parameters stay.
func databaseURL(base, name string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", errors.New("the database URL cannot be read")
	}
	u.Path, u.RawPath = "/"+name, ""
	return u.String(), nil
}

// connectServer connects to the database that the URL names, or to "postgres" if that database does not exist yet.
// It retries for up to wait while the connection is refused or Postgres is starting. Every other error (wrong
// password, no such role) is final.
func connectServer(ctx context.Context, base string, wait time.Duration) (*pgx.Conn, error) {
	deadline := time.Now().Add(wait)
	for {
		conn, err := pgx.Connect(ctx, base)
		if hasCode(err, codeUnknownDatabase) {
			conn, err = connectDatabase(ctx, base, "postgres")
		}
		if err == nil {
			return conn, nil
		}
		if !mayPass(err) || time.Now().After(deadline) {
			return nil, fmt.Errorf("Postgres at %s cannot be used: %w", describe(base), reason(err))
		}
		if err := pause(ctx, retryEvery); err != nil {
			return nil, err
		}
	}
}

func connectDatabase(ctx context.Context, base, name string) (*pgx.Conn, error) {
	target, err := databaseURL(base, name)
	if err != nil {
		return nil, err
	}
	return pgx.Connect(ctx, target)
}

// createDatabase creates the database name unless it exists. A concurrent creation by another process is no error.
func createDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	var exists bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`, name).Scan(&exists)
	if err != nil {
		return fmt.Errorf("the list of databases cannot be read: %w", reason(err))
	}
	if exists {
		return nil
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if err != nil && !hasCode(err, codeDuplicateDatabase) && !hasCode(err, codeUniqueViolation) {
		return fmt.Errorf("database %q cannot be created: %w", name, reason(err))
	}
	return nil
}

// lockInstance prevents a second devstack on the same database, because the two would take the history shards from
// each other endlessly. The lock is released when conn closes, so a killed process never leaves one behind. It only
// guards the start: it is not acquired again after a restart of Postgres.
//
// The members of a cluster share the lock.
func lockInstance(ctx context.Context, conn *pgx.Conn, name string, shared bool) error {
	try := `SELECT pg_try_advisory_lock($1)`
	if shared {
		try = `SELECT pg_try_advisory_lock_shared($1)`
	}
	deadline := time.Now().Add(instanceLockWait)
	for {
		var locked bool
		if err := conn.QueryRow(ctx, try, int64(instanceLock)).Scan(&locked); err != nil {
			return fmt.Errorf("database %q cannot be locked: %w", name, reason(err))
		}
		if locked {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another devstack is running on database %q: stop it, or name others with "+
				"--database and --visibility-database", name)
		}
		if err := pause(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// mayPass reports whether err may be temporary: the connection is refused, or Postgres is still starting.
func mayPass(err error) bool {
	var refused *pgconn.ConnectError
	var response *pgconn.PgError
	if errors.As(err, &response) {
		return response.Code == codeStartingUp
	}
	return errors.As(err, &refused)
}

func hasCode(err error, code string) bool {
	var response *pgconn.PgError
	return errors.As(err, &response) && response.Code == code
}

// reason shortens a pgx error to its cause: the message of Postgres or of the network.
func reason(err error) error {
	var response *pgconn.PgError
	if errors.As(err, &response) {
		return fmt.Errorf("%s (SQLSTATE %s)", response.Message, response.Code)
	}
	var name *net.DNSError
	if errors.As(err, &name) {
		return fmt.Errorf("no such host %s", name.Name)
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// describe names the server of a URL without its credentials.
func describe(base string) string {
	cfg, err := pgx.ParseConfig(base)
	if err != nil {
		return "the address given"
	}
	return fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)
}

// pause waits for d. If ctx ends first, it returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
