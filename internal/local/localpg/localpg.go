// Package localpg runs a private Postgres cluster for development and tests, with the machine's own binaries. It does not depend
// on the service's schema, listens on 127.0.0.1 only, and never deletes a cluster that may contain data: it renames what
// it cannot use. Durability is Postgres' default; only an ephemeral cluster gives it up.
package localpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// owner is the cluster's only role.
const owner = "postgres"

const (
	startWithin = 60 * time.Second // recovery after a crash included
	stopWithin  = 30 * time.Second
)

// Options configure the cluster.
type Options struct {
	Dir  string // the folder of the cluster; created if missing
	Port int    // the preferred port; if it is 0 or in use, a free one is picked
	// Ephemeral gives up durability for speed. It is for clusters that a test
	// deletes.
	Ephemeral bool
	// Archive is a folder that completed segments of the write-ahead log are copied to; empty for none.
	Archive string
	// Settings are further settings of the server, name=value.
	Settings []string
	// Env is further environment of the server, NAME=value.
	Env []string
	// Say receives a sentence about each step that takes time and each repair; nil
	// drops them.
	Say func(format string, args ...any)
}

// Server is a running cluster. Start creates it and Stop ends it.
type Server struct {
	process  *subprocess.Process
	port     int
	password string
	dir      string
	programs string // folder of pg_basebackup
	user     *subprocess.User
	archive  string // Options.Archive
}

// cluster is a folder that is prepared and started.
type cluster struct {
	Options
	bin  binaries
	user *subprocess.User
	dir  string // Options.Dir, or what stands in for it
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }
func (c *cluster) log() string  { return filepath.Join(c.dir, "postgres.log") }

// Start creates the cluster if there is none, and starts it. The caller
// must hold a lock that keeps a second process out of the folder. Errors
// are one sentence for the user.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	c := &cluster{Options: o}
	if err := c.locate(ctx); err != nil {
		return nil, err
	}
	password, err := c.initialise(ctx)
	if err != nil {
		return nil, err
	}
	if err := clearPidFile(ctx, c.data(), o.Say); err != nil {
		return nil, err
	}
	return c.start(ctx, password)
}

// locate finds the user, the folder and the binaries.
func (c *cluster) locate(ctx context.Context) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("the folder %s cannot be made: %w", c.Dir, err)
	}
	if len(installed(ctx)) == 0 {
		if given := os.Getenv(BinariesEnv); given != "" {
			return fmt.Errorf("%s is %q: want a folder with the programs initdb and postgres of version %d or newer", BinariesEnv, given, oldest)
		}
		if err := install(ctx, filepath.Join(c.Dir, "install.log"), c.Say); err != nil {
			return err
		}
	}
	var err error
	if c.user, err = runAs(); err != nil {
		return err
	}
	if c.dir, err = settle(ctx, c.Dir, c.user, c.Say); err != nil {
		return err
	}
	if c.Archive != "" {
		if c.Archive, err = settle(ctx, c.Archive, c.user, c.Say); err != nil {
			return err
		}
	}
	if err := c.setAsideDamaged(); err != nil {
		return err
	}
	c.bin, err = find(ctx, c.madeBy())
	return err
}

// start starts the server on a free port. It tries again if the port was
// taken in between or if the processes of a killed server have not yet
// released their shared memory.
func (c *cluster) start(ctx context.Context, password string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		port, err := freePort(c.Port)
		if err != nil {
			return nil, err
		}
		s, err := c.launch(ctx, port, password)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errAgain) || !pause(ctx) {
			return nil, err
		}
	}
}

// errAgain wraps an error after which a second try may succeed.
var errAgain = errors.New("busy")

// launch starts the server on a port and waits until it accepts
// connections.
func (c *cluster) launch(ctx context.Context, port int, password string) (*Server, error) {
	out, err := c.openLog()
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p, err := subprocess.Start(subprocess.Spec{
		Path: c.bin.postgres(), Args: append([]string{"-D", c.data()}, c.settings(port)...),
		Env: append(os.Environ(), c.Env...), Dir: c.dir, User: c.user, Output: out, Orphaned: syscall.SIGINT,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{process: p, port: port, password: password, dir: c.dir, programs: c.bin.dir, user: c.user, archive: c.Archive}
	if err := s.await(ctx, c.data()); err != nil {
		_ = p.Stop(syscall.SIGQUIT, stopWithin)
		return nil, c.explain(err)
	}
	return s, nil
}

// openLog truncates the log, so that it has the messages of this start
// only.
func (c *cluster) openLog() (*os.File, error) {
	f, err := os.OpenFile(c.log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the log of Postgres cannot be written: %w", err)
	}
	return f, nil
}

// explain adds the reason from the server's log to an error.
func (c *cluster) explain(err error) error {
	text, _ := os.ReadFile(c.log())
	log := string(text)
	if strings.Contains(log, "shared memory block") || strings.Contains(log, "could not bind") {
		return fmt.Errorf("%w: Postgres says so in %s", errAgain, c.log())
	}
	for line := range strings.Lines(log) {
		// A connection that came too early is refused with FATAL as well.
		if _, words, found := strings.Cut(line, "FATAL:"); found && !strings.Contains(words, "the database system is ") {
			return fmt.Errorf("Postgres did not start (%s); its log is %s", strings.TrimSpace(words), c.log())
		}
	}
	return fmt.Errorf("Postgres did not start: %w; its log is %s", err, c.log())
}

// await returns once this server, and not a different one on the same port,
// accepts connections.
func (s *Server) await(ctx context.Context, data string) error {
	var last error
	for {
		if last = s.answers(ctx, data); last == nil {
			return nil
		}
		select {
		case <-s.process.Done():
			return errors.New("it ended at once")
		default:
		}
		if !pause(ctx) {
			return fmt.Errorf("it does not answer: %w", last)
		}
	}
}

func (s *Server) answers(ctx context.Context, data string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var dir string
	if err := conn.QueryRow(ctx, "show data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != data {
		return fmt.Errorf("another Postgres, of %s, listens on port %d", dir, s.port)
	}
	return nil
}

// URL is the connection URL of a database of the cluster. It contains the
// password.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", Host: fmt.Sprintf("127.0.0.1:%d", s.port), Path: "/" + database,
		User: url.UserPassword(owner, s.password), RawQuery: "sslmode=disable"}
	return u.String()
}

// Port is the port that the server listens on at 127.0.0.1.
func (s *Server) Port() int { return s.port }

// PID is the process id of the postmaster.
func (s *Server) PID() int { return s.process.PID() }

// Dir is the folder of the cluster, which differs from Options.Dir if
// Postgres' user cannot enter that.
func (s *Server) Dir() string { return s.dir }

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Create creates a database unless it exists.
func (s *Server) Create(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var there bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", database).Scan(&there); err != nil {
		return err
	}
	if there {
		return nil
	}
	_, err = conn.Exec(ctx, "create database "+pgx.Identifier{database}.Sanitize())
	return err
}

// Stop ends the server in an orderly way (fast shutdown): it closes
// sessions and writes a checkpoint.
func (s *Server) Stop() error { return s.process.Stop(syscall.SIGINT, stopWithin) }

func newPassword() string { return rand.Text() }
