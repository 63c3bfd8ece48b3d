package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// Recovery says what a cluster is restored from, and to which point.
type Recovery struct {
	Base  string // folder of a base backup
	Point string // name of a restore point
}

// BaseBackup copies the running cluster into a new folder inside parent, which is created if missing, and returns the folder.
func (s *Server) BaseBackup(ctx context.Context, parent, name string) (dir string, err error) {
	if parent, err = settle(ctx, parent, s.user, func(string, ...any) {}); err != nil {
		return "", err
	}
	dir = filepath.Join(parent, name)
	return dir, s.copyTo(ctx, dir)
}

// copyTo copies the running cluster into a folder that does not exist, with pg_basebackup if there is one.
func (s *Server) copyTo(ctx context.Context, dir string) error {
	program := filepath.Join(s.programs, "pg_basebackup")
	if !executable(program) {
		return s.copyFiles(ctx, dir)
	}
	return subprocess.Run(ctx, subprocess.Spec{
		Path: program, Dir: filepath.Dir(dir), User: s.user, Env: append(os.Environ(), "PGPASSWORD="+s.password),
		Args: []string{"-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-U", owner, "-D", dir, "-X", "stream", "-c", "fast", "--no-sync"},
	})
}

// Restore starts a new cluster from a backup of s and its archived log, and waits until it takes writes. It has the databases, the role
// and the password of s, which need not run.
func (s *Server) Restore(ctx context.Context, o Options, r Recovery) (*Server, error) {
	o.Settings = slices.Concat(o.Settings, []string{
		fmt.Sprintf("restore_command=cp '%s/%%f' '%%p'", s.archive), "recovery_target_action=promote", "recovery_target_name=" + r.Point,
	})
	restored, err := s.derive(ctx, o, func(data string) error {
		// Made by the server's user, because the server opens and removes the signal.
		return subprocess.Run(ctx, subprocess.Spec{Path: "/bin/sh", Dir: "/", User: s.user,
			Args: []string{"-c", `cp -a "$1" "$2" && : > "$2/recovery.signal"`, "restore", r.Base, data}})
	})
	if err != nil {
		return nil, err
	}
	if err := restored.awaitPromotion(ctx); err != nil {
		return nil, errors.Join(err, restored.Stop())
	}
	return restored, nil
}

// Standby starts a new cluster that streams from s and only reads.
func (s *Server) Standby(ctx context.Context, o Options) (*Server, error) {
	return s.derive(ctx, o, func(data string) error {
		if err := s.copyTo(ctx, data); err != nil {
			return err
		}
		return s.follow(data)
	})
}

// derive starts a cluster whose data folder is made by fill, from data of s.
func (s *Server) derive(ctx context.Context, o Options, fill func(data string) error) (*Server, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	c := &cluster{Options: o}
	if err := c.locate(ctx); err != nil {
		return nil, err
	}
	if c.exists() {
		return nil, fmt.Errorf("the folder %s contains a database already", c.dir)
	}
	if err := fill(c.data()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(c.dir, "password"), []byte(s.password+"\n"), 0o600); err != nil {
		return nil, err
	}
	var err error
	if c.bin, err = find(ctx, c.madeBy()); err != nil {
		return nil, err
	}
	return c.start(ctx, s.password)
}

// awaitPromotion returns once the server has replayed its log up to the point and takes writes.
func (s *Server) awaitPromotion(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		recovering, err := s.recovering(ctx)
		if err == nil && !recovering {
			return nil
		}
		select {
		case <-s.process.Done():
			return (&cluster{dir: s.dir}).explain(errors.New("it ended while it replayed the log"))
		default:
		}
		if !pause(ctx) {
			return fmt.Errorf("Postgres has not reached the point to restore: %w", errors.Join(ctx.Err(), err))
		}
	}
}

// recovering reports whether the server replays the log of a different one.
func (s *Server) recovering(ctx context.Context) (yes bool, err error) {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, "select pg_is_in_recovery()").Scan(&yes)
	return yes, err
}

// Promote makes a standby take writes.
func (s *Server) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "select pg_promote()"); err != nil {
		return err
	}
	return s.awaitPromotion(ctx)
}
