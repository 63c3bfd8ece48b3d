package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/localpg"
)

// Database is a Postgres server of the rig with its backups. A restore, or the loss of everything, replaces its folder and keeps its port.
type Database struct {
	*Process

	rig     *Rig
	name    string
	server  *localpg.Server
	port    int
	folders []string // of the server and its predecessors
	backups int
	made    int // folders, for their names
	// recovery makes the next start restore a backup; nil: it starts the folder as it is.
	recovery *localpg.Recovery
}

// newDatabase prepares a server.
func (r *Rig) newDatabase(name string) *Database {
	d := &Database{rig: r, name: name}
	d.Process = &Process{Name: name, launch: d.launch}
	return d
}

// launch starts the server, or the one that replaces it.
func (d *Database) launch(ctx context.Context) (handle, error) {
	o := localpg.Options{Dir: d.path(), Port: d.port, Settings: d.rig.o.Postgres, Env: d.rig.clockEnv(d.name), Say: d.rig.o.Say}
	if d.rig.o.Archived {
		o.Archive = d.path("archive")
	}
	var s *localpg.Server
	var err error
	if d.recovery == nil {
		s, err = localpg.Start(ctx, o)
	} else {
		s, err = d.server.Restore(ctx, o, *d.recovery)
	}
	if err != nil {
		return handle{}, err
	}
	// Postgres' user may not be able to enter the wanted folder: then it is a different one.
	if len(d.folders) <= d.made {
		d.folders = append(d.folders, s.Dir())
	}
	d.server, d.port, d.recovery = s, s.Port(), nil
	return handle{pid: s.PID(), done: s.Done(), stop: s.Stop}, nil
}

// path is the folder of the server, or one beside it.
func (d *Database) path(beside ...string) string {
	name := d.name
	if len(beside) > 0 {
		name += "-" + beside[0]
	} else if d.made > 0 {
		name = fmt.Sprintf("%s-%d", name, d.made+1)
	}
	return filepath.Join(d.rig.o.Dir, name)
}

// Backup is a base backup.
type Backup struct {
	Dir   string
	Bytes int64
}

// Backup makes a base backup of the running server.
func (d *Database) Backup(ctx context.Context) (Backup, error) {
	d.backups++
	dir, err := d.server.BaseBackup(ctx, d.path("backups"), fmt.Sprint(d.backups))
	if err != nil {
		return Backup{}, err
	}
	b := Backup{Dir: dir}
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			b.Bytes += info.Size()
		}
		return err
	})
	return b, err
}

// Mark writes a named restore point to the log.
func (d *Database) Mark(ctx context.Context, point string) error {
	return d.query(ctx, "select pg_create_restore_point($1)::text", new(string), point)
}

// DumpWAL writes the records between two positions of the server's write-ahead log, a line for each.
func (d *Database) DumpWAL(ctx context.Context, from, to string, out io.Writer) error {
	return d.server.DumpWAL(ctx, from, to, out)
}

// archiveWithin bounds how long the log takes to be archived.
const archiveWithin = time.Minute

// AwaitArchive ends the segment that is written and waits until it is archived.
func (d *Database) AwaitArchive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, archiveWithin)
	defer cancel()
	var segment string
	if err := d.query(ctx, "select pg_walfile_name(pg_switch_wal())", &segment); err != nil {
		return err
	}
	for {
		var archived bool
		// Segments are named in their order within a timeline. A history file of a timeline is archived too, and names no segment.
		if err := d.query(ctx, "select coalesce(last_archived_wal, '') >= $1 and last_archived_wal !~ 'history' from pg_stat_archiver", &archived, segment); err != nil {
			return err
		}
		if archived {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not archive its log: %w", d.name, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Restore replaces the server, which may be killed, by one that is restored to a point from a backup and the archived log.
func (d *Database) Restore(ctx context.Context, b Backup, point string) error {
	d.Kill()
	d.made++
	d.recovery = &localpg.Recovery{Base: b.Dir, Point: point}
	return d.Start(ctx)
}

// Beside restores a backup to a point in a server of its own, which use gets the URL of and which is removed afterwards.
func (d *Database) Beside(ctx context.Context, b Backup, point string, use func(url string) error) error {
	beside := d.rig.newDatabase(d.name + "-beside")
	beside.server, beside.recovery = d.server, &localpg.Recovery{Base: b.Dir, Point: point}
	err := beside.Start(ctx)
	if err == nil {
		err = use(beside.server.URL(database))
	}
	return errors.Join(err, beside.remove())
}

// Lose replaces the server by an empty one.
func (d *Database) Lose(ctx context.Context) error {
	d.Kill()
	d.made++
	return d.Start(ctx)
}

// query runs a statement that returns one value.
func (d *Database) query(ctx context.Context, text string, into any, args ...any) error {
	conn, err := pgx.Connect(ctx, d.server.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.QueryRow(ctx, text, args...).Scan(into)
}

// remove stops the server and removes its folders, and those of its backups.
func (d *Database) remove() error {
	err := d.Stop()
	for _, dir := range append(d.folders, d.path("archive"), d.path("backups")) {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
