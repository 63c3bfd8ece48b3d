package store

import (
	"context"
	"fmt"
	"io/fs"

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
	p, err := s.migrations()
	if err != nil {
		return 0, 0, err
	}
	if err := s.lockMigrations(ctx, func() error {
		if before, err = p.GetDBVersion(ctx); err != nil {
			return err
		}
		if newest := newest(p); before > newest {
			return ErrNewerSchema{before, newest}
		}
		if _, err := p.Up(ctx); err != nil {
			return err
		}
		after, err = p.GetDBVersion(ctx)
		return err
	}); err != nil {
		return before, after, err
	}
	return before, after, nil
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
	switch want := newest(p); {
	case have < want:
		return fmt.Errorf("the database is at schema version %d and this binary needs %d: run countersign migrate", have, want)
	case have > want:
		return s.checkFloor(ctx, have, want)
	}
	return nil
}

func (s *Store) checkFloor(ctx context.Context, have, want int64) error {
	var floor int64
	if err := s.pool.QueryRow(ctx, "select version from schema_floor").Scan(&floor); err != nil {
		return err
	}
	if floor > want {
		return ErrNewerSchema{have, want}
	}
	return nil
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

// lockMigrations runs f under a session advisory lock, on a connection of its own.
func (s *Store) lockMigrations(ctx context.Context, f func() error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	const key = 0x636f756e746572 // "counter"
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", key); err != nil {
		return err
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", key) }()
	return f()
}
