package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// lockWait is the longest that a statement of the contraction waits for a table, and requests behind it. It is below Postgres's
	// deadlock_timeout, so that a request is never the victim of a deadlock with the contraction.
	lockWait = "200ms"
	// lockTries is how often a step is tried that did not get its table, lockPause the time between two tries.
	lockTries = 600
	lockPause = 250 * time.Millisecond
)

// Contract raises the schema floor to this binary's version: binaries of earlier versions do not start any more, and what this one writes
// for their sake it writes in its own form. Then it makes the environment part of every key of the tables that are distributed by
// environment, while requests are served: show receives the number of steps done, of all. Call it when no earlier binary runs; a call that
// was interrupted is repeated. It returns the floor.
func (s *Store) Contract(ctx context.Context, show func(done, total int)) (floor int64, err error) {
	err = s.onServer(ctx, func(d *Store) error {
		p, err := d.migrations()
		if err != nil {
			return err
		}
		if err := d.CheckSchema(ctx); err != nil {
			return err
		}
		floor = newest(p)
		return d.lockMigrations(ctx, func() error {
			if err := d.raiseFloor(ctx, floor); err != nil {
				return err
			}
			return d.rekey(ctx, false, show)
		})
	})
	return floor, err
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

// rekey makes the steps of keySteps: on a new database all in one transaction, otherwise one by one.
func (s *Store) rekey(ctx context.Context, fresh bool, show func(done, total int)) error {
	return s.unlimited(ctx, func(conn *pgx.Conn) error {
		steps, err := keySteps(ctx, conn)
		if err != nil {
			return err
		}
		if fresh {
			return together(ctx, conn, steps)
		}
		for done, step := range steps {
			show(done, len(steps))
			if err := step.run(ctx, conn); err != nil {
				return fmt.Errorf("store: %s: %w", step.what, err)
			}
		}
		show(len(steps), len(steps))
		return nil
	})
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

// together runs the steps in one transaction, for tables without rows: nothing waits for them.
func together(ctx context.Context, conn *pgx.Conn, steps []keyStep) error {
	var all []string
	for _, step := range steps {
		all = append(all, step.statements...)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, strings.ReplaceAll(strings.Join(all, ";\n"), " concurrently", ""), pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// run makes the step. A step that locks a table gives up after lockWait, so that requests wait no longer behind it, and is tried again.
func (k keyStep) run(ctx context.Context, conn *pgx.Conn) error {
	if k.alone {
		for _, statement := range k.statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	return untilUnlocked(ctx, func() error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "set local lock_timeout = '"+lockWait+"';\n"+strings.Join(k.statements, ";\n"), pgx.QueryExecModeSimpleProtocol)
			return err
		})
	})
}

// codeLocked is the code of a statement that did not get a lock in time.
const codeLocked = "55P03"

// untilUnlocked repeats f while it does not get a lock in time.
func untilUnlocked(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		var busy *pgconn.PgError
		if !errors.As(err, &busy) || busy.Code != codeLocked {
			return err
		}
		if try == lockTries {
			return fmt.Errorf("a long transaction holds a lock on the table: end it, then repeat the command: %w", err)
		}
		if err := pause(ctx, lockPause); err != nil {
			return err
		}
	}
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
