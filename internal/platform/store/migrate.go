package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"github.com/countersign-dev/countersign/models"
)

// ErrNewerSchema says that the migrations of a newer binary removed something that this one needs.
type ErrNewerSchema struct{ Database, Binary int64 }

func (e ErrNewerSchema) Error() string {
	return fmt.Sprintf("the database is at schema version %d, too new for this binary's %d: run a newer countersign",
		e.Database, e.Binary)
}

// Migrate migrates the schema to this binary's version and returns the versions before and after. If several processes
// call it at once, one migrates and the others wait.
func (s *Store) Migrate(ctx context.Context) (before, after int64, err error) {
	return s.MigrateShowing(ctx, func(int, int) {})
}

// MigrateShowing is Migrate, and calls show with the number of migrations done, of all that this call makes, before each and at the end.
func (s *Store) MigrateShowing(ctx context.Context, show func(done, total int)) (before, after int64, err error) {
	err = s.onServer(ctx, func(d *Store) error {
		before, after, err = d.migrate(ctx, show)
		return err
	})
	return before, after, err
}

func (s *Store) migrate(ctx context.Context, show func(done, total int)) (before, after int64, err error) {
	p, err := s.migrations()
	if err != nil {
		return 0, 0, err
	}
	err = s.lockMigrations(ctx, func() error {
		if before, err = p.GetDBVersion(ctx); err != nil {
			return err
		}
		if newest := newest(p); before > newest {
			return ErrNewerSchema{before, newest}
		}
		if err := up(ctx, p, before, show); err != nil {
			return err
		}
		if after, err = p.GetDBVersion(ctx); err != nil {
			return err
		}
		if before > 0 {
			return s.buildLater(ctx)
		}
		// No older binary has run on a new database.
		if err := s.rekey(ctx, true, show); err != nil {
			return err
		}
		return s.raiseFloor(ctx, after)
	})
	return before, after, err
}

// buildLater builds laterIndexes, while requests are served.
func (s *Store) buildLater(ctx context.Context) error {
	return s.unlimited(ctx, func(conn *pgx.Conn) error {
		steps, err := laterSteps(ctx, conn)
		for _, step := range steps {
			if err == nil {
				err = step.run(ctx, conn)
			}
		}
		return err
	})
}

func (s *Store) raiseFloor(ctx context.Context, version int64) error {
	_, err := s.exec(ctx, "update schema_floor set version = greatest(version, $1)", version)
	return err
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

// CheckSchema returns an error if this binary cannot run on the schema of the database: it is older by a migration, or so
// new that something this binary needs was removed. A schema with additions is fine, so that the previous version serves
// during an upgrade. It changes nothing.
func (s *Store) CheckSchema(ctx context.Context) error {
	p, err := s.migrations()
	if err != nil {
		return err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	want := newest(p)
	if have < want {
		return fmt.Errorf("the database is at schema version %d and this binary needs %d: run countersign migrate", have, want)
	}
	floor, err := s.readFloor(ctx)
	if err == nil && floor > want {
		err = ErrNewerSchema{have, want}
	}
	return err
}

// floor remembers the schema floor of the database, which only rises.
type floor struct {
	version atomic.Int64
	readAt  atomic.Int64 // Unix seconds
}

// floorPause is the number of seconds after which the floor is read again.
const floorPause = 60

func (q *Q) readFloor(ctx context.Context) (int64, error) {
	var version int64
	err := q.queryRow(ctx, "select version from schema_floor").Scan(&version)
	if err == nil {
		q.floor.version.Store(version)
	}
	return version, err
}

// contracted reports whether no binary runs that was built for a schema before version, so that what those read need not be written. If
// the floor cannot be read, they may be running.
func (q *Q) contracted(ctx context.Context, version int64, now time.Time) bool {
	if q.floor.version.Load() >= version {
		return true
	}
	last := q.floor.readAt.Load()
	if n := now.Unix(); n-last < floorPause && n >= last || !q.floor.readAt.CompareAndSwap(last, n) {
		return false
	}
	read, err := q.readFloor(ctx)
	return err == nil && read >= version
}

func (s *Store) migrations() (*goose.Provider, error) {
	dir, err := fs.Sub(models.Migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, s.sql, dir)
}

func newest(p *goose.Provider) int64 {
	var v int64
	for _, m := range p.ListSources() {
		v = max(v, m.Version)
	}
	return v
}

// migrationPause is the time between two attempts to get the lock of the migrations.
const migrationPause = 200 * time.Millisecond

// lockMigrations runs f under a session advisory lock, on a connection of its own. A caller that waits asks again and again: a statement
// that waits for the lock has a snapshot, for which the index that the holder builds concurrently would wait.
func (s *Store) lockMigrations(ctx context.Context, f func() error) error {
	for {
		if ran, err := s.tryMigrations(ctx, f); ran || err != nil {
			return err
		}
		if err := pause(ctx, migrationPause); err != nil {
			return err
		}
	}
}

// tryMigrations is lockMigrations, but returns false without a wait if another process has the lock.
func (s *Store) tryMigrations(ctx context.Context, f func() error) (ran bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	const key = 0x636f756e746572 // "counter"
	if err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", key).Scan(&ran); err != nil || !ran {
		return false, err
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", key) }()
	return true, f()
}
