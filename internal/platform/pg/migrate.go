package pg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"github.com/countersign-dev/countersign/models"
)

// ErrEarlierBuild says that a build before version 1.0 made the database. Its rows cannot be converted.
var ErrEarlierBuild = errors.New("the database was made by a build before version 1.0 and cannot be migrated: name an empty database, or remove the folder of countersign dev (make run: .data)")

// ErrNoVersion says that the database has tables of the service's names but no schema version: they are another program's, or a restore was incomplete.
type ErrNoVersion struct{ Table string }

func (e ErrNoVersion) Error() string {
	return fmt.Sprintf("the database has a table %s but no schema version, so that countersign has not made it: name an empty database, or restore the whole backup", e.Table)
}

// versionOf returns the version of the database's schema, 0 for an empty one. It is an error if these migrations cannot have made the schema.
func (s *Store) versionOf(ctx context.Context, p *goose.Provider) (int64, error) {
	var versioned bool // goose would create the table of versions
	if err := s.pool.QueryRow(ctx, "select to_regclass('goose_db_version') is not null").Scan(&versioned); err != nil {
		return 0, err
	}
	version, err := int64(0), error(nil)
	if versioned {
		version, err = p.GetDBVersion(ctx)
	}
	if err != nil {
		return 0, err
	}
	if version > 0 {
		if version < p.ListSources()[0].Version { // the baseline's
			return version, ErrEarlierBuild
		}
		return version, nil
	}
	var table *string
	err = s.pool.QueryRow(ctx, "select min(tablename) from pg_tables where schemaname = current_schema() and tablename = any($1)",
		slices.Concat(TablesPlaced(ByEnvironment), TablesPlaced(Everywhere))).Scan(&table)
	if err == nil && table != nil {
		err = ErrNoVersion{*table}
	}
	return 0, err
}

// Migrate migrates the schema to this binary's version and returns the versions before and after. If several processes
// call it at once, one migrates and the others wait. A schema that a newer binary has expanded stays as it is: this binary serves on it.
func (s *Store) Migrate(ctx context.Context) (before, after int64, err error) {
	return s.MigrateShowing(ctx, func(int, int) {})
}

// MigrateShowing is Migrate, and calls show with the number of migrations done, of all that this call makes, before each and at the end.
func (s *Store) MigrateShowing(ctx context.Context, show func(done, total int)) (before, after int64, err error) {
	bridged, err := s.NeedsBridge(ctx)
	if err != nil {
		return 0, 0, err
	}
	if bridged && s.attestation().keys == nil {
		return 0, 0, errNoBridgeKeys
	}
	err = s.onServer(ctx, func(d *Store) error {
		before, after, err = d.migrate(ctx, show)
		return err
	})
	if err == nil && bridged {
		err = s.openBridge(ctx)
	}
	return before, after, err
}

func (s *Store) migrate(ctx context.Context, show func(done, total int)) (before, after int64, err error) {
	p, err := s.migrations()
	if err != nil {
		return 0, 0, err
	}
	err = s.lockMigrations(ctx, func() error {
		if before, err = s.versionOf(ctx, p); err != nil {
			return err
		}
		if before > newest(p) {
			after = before
			return nil
		}
		if err := up(ctx, p, before, show); err != nil {
			return err
		}
		after, err = p.GetDBVersion(ctx)
		return err
	})
	return before, after, err
}

// up makes the pending migrations, each in its own transaction.
func up(ctx context.Context, p *goose.Provider, before int64, show func(done, total int)) error {
	total := 0
	for _, m := range p.ListSources() {
		if m.Version > before {
			total++
		}
	}
	for done := 0; ; done++ {
		show(done, total)
		_, err := p.UpByOne(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// SchemaVersions returns the version of the database's schema, 0 for an empty database, and the version that Migrate would bring it to.
func (s *Store) SchemaVersions(ctx context.Context) (have, want int64, err error) {
	p, err := s.migrations()
	if err != nil {
		return 0, 0, err
	}
	have, err = s.versionOf(ctx, p)
	return have, newest(p), err
}

// CheckSchema returns an error if this binary cannot run on the schema of the database: it is older by a migration, or so
// new that something this binary needs was removed. A schema with additions is fine, so that the previous version serves
// during an upgrade. It changes nothing.
func (s *Store) CheckSchema(ctx context.Context) error {
	have, want, err := s.SchemaVersions(ctx)
	if err != nil {
		return err
	}
	if have < want {
		return fmt.Errorf("the database is at schema version %d and this binary needs %d: run countersign migrate", have, want)
	}
	return nil
}

// onServer runs f on the server itself, if the connections of s lead to a pooler: a lock belongs to a session.
func (s *Store) onServer(ctx context.Context, f func(d *Store) error) error {
	if s.directURL == "" {
		return f(s)
	}
	d, err := Open(ctx, s.directURL, Options{MaxConns: 4})
	if err != nil {
		return err
	}
	defer d.Close()
	return f(d)
}

// unlimited runs f on a connection whose statements have no time limit.
func (s *Store) unlimited(ctx context.Context, f func(conn *pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "set statement_timeout = 0"); err != nil {
		return err
	}
	defer func() { _ = conn.Conn().Close(context.WithoutCancel(ctx)) }() // its setting must not reach a request
	return f(conn.Conn())
}

func (s *Store) migrations() (*goose.Provider, error) {
	dir, err := fs.Sub(models.Migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, s.sql, dir)
}

func newest(p *goose.Provider) int64 {
	all := p.ListSources()
	return all[len(all)-1].Version
}

// migrationPause is the time between two attempts to get the lock of the migrations.
const migrationPause = 200 * time.Millisecond

// lockMigrations runs f under a session advisory lock, on a connection of its own. A caller that waits asks again and again: a statement
// that waits for the lock would end with the statement timeout.
func (s *Store) lockMigrations(ctx context.Context, f func() error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	const key = 0x636f756e746572 // "counter"
	for locked := false; ; {
		if err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", key).Scan(&locked); err != nil {
			return err
		}
		if locked {
			break
		}
		if err := pause(ctx, migrationPause); err != nil {
			return err
		}
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", key) }()
	return f()
}

// pause waits, or returns the error of a context that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
