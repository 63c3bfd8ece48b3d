package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// copyFiles copies the running cluster into a folder that does not exist, without pg_basebackup: packages that have only what a server needs
// lack that program. The files are copied while the server knows of a backup, and the log that was written meanwhile after it.
func (s *Server) copyFiles(ctx context.Context, dir string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// The slot reserves the log from here on, and ends with the connection, as the backup does.
	for _, begin := range []string{
		"select pg_create_physical_replication_slot('copy_' || pg_backend_pid(), true, true)", "select pg_backup_start('copy', true)",
	} {
		if _, err := conn.Exec(ctx, begin); err != nil {
			return err
		}
	}
	data := filepath.Join(s.dir, "data")
	// A copy with the process id would not start, and slots would hold the log of a different server back. Pages that are torn while they are
	// copied are whole in the log, whatever full_page_writes says.
	if err := s.copyTree(data, dir, "postmaster.pid", "postmaster.opts", "pg_wal", "pg_replslot"); err != nil {
		return err
	}
	// The end of the backup is in the log, flushed, when the function returns. The archive need not have it: the copy does.
	var label string
	if err := conn.QueryRow(ctx, "select labelfile from pg_backup_stop(false)").Scan(&label); err != nil {
		return err
	}
	if err := s.copyTree(filepath.Join(data, "pg_wal"), filepath.Join(dir, "pg_wal"), "archive_status"); err != nil {
		return err
	}
	// From the label a copy knows where in the log it begins. Without it the copy would start, and be damaged.
	return s.write(filepath.Join(dir, "backup_label"), os.O_TRUNC, label)
}

// follow makes a standby of s from a copy of its data. Of several values of a setting in the file, the last one counts.
func (s *Server) follow(dir string) error {
	if err := s.write(filepath.Join(dir, "postgresql.auto.conf"), os.O_APPEND, fmt.Sprintf("primary_conninfo = '%s'\n", s.URL("postgres"))); err != nil {
		return err
	}
	return s.write(filepath.Join(dir, "standby.signal"), os.O_TRUNC, "")
}

// write writes a text into a file of the server's user. The flag says what happens to a text that is there already.
// Like the rest of the copy it is not flushed to the disk.
func (s *Server) write(path string, flag int, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o600) // #nosec G304 -- in a data folder of this package
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close(), own(path, s.user))
}

// copyTree copies a folder for the server's user, without what the entries named in empty contain: folders are made, files are not.
// Files that vanish meanwhile are left out. Links are not expected: these clusters have no tablespaces.
func (s *Server) copyTree(from, to string, empty ...string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target, left := filepath.Join(to, name), slices.Contains(empty, name)
		switch {
		case entry.IsDir():
			if err := errors.Join(os.MkdirAll(target, 0o700), own(target, s.user)); err != nil || !left {
				return err
			}
			return fs.SkipDir
		case left:
			return nil
		default:
			err := s.copyFile(path, target)
			if errors.Is(err, fs.ErrNotExist) { // a table was dropped, or a statement's temporary file
				return nil
			}
			return err
		}
	})
}

// copyFile copies a file for the server's user. It reads what the file contains at the time, and the file may grow meanwhile: the log has the rest.
// Postgres refuses a data folder that other users can read.
func (s *Server) copyFile(from, to string) error {
	in, err := os.Open(from) // #nosec G304 -- in a data folder of this package
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) // #nosec G304 -- in a data folder of this package
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), own(to, s.user))
}

// own gives a file to the user; nil is this process's own.
func own(path string, user *subprocess.User) error {
	if user == nil {
		return nil
	}
	return os.Chown(path, int(user.UID), int(user.GID))
}
