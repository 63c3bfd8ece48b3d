// Package pooler runs PgBouncer in transaction mode in front of the Postgres server of tests. It is for tests only, and asks its
// clients for no password.
package pooler

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
)

// BinaryEnv names PgBouncer's program if it is not the one of the system's package.
const BinaryEnv = "COUNTERSIGN_TEST_PGBOUNCER"

// ErrMissing reports that there is no PgBouncer on this machine, and how to install it.
var ErrMissing = errors.New("PgBouncer is not installed: apt-get install pgbouncer, or name the program in " + BinaryEnv)

const (
	startWithin = 20 * time.Second
	stopWithin  = 10 * time.Second
)

// Options configure a pooler.
type Options struct {
	Server string // URL of any database of the server, of a superuser
	Dir    string // folder for its files, which the user postgres can enter
	// Prepared is how many prepared statements PgBouncer follows on each connection; 0 turns that off. It needs version 1.21.
	Prepared int
	// Ignore are the parameters of a session that PgBouncer accepts and ignores.
	Ignore string
}

// Pooler is a running PgBouncer. Start creates it and Stop ends it.
type Pooler struct {
	process  *subprocess.Process
	port     int
	server   string
	role     string
	prepared int
	ignore   string
}

// Binary returns the path of PgBouncer's program.
func Binary() (string, error) {
	if given := os.Getenv(BinaryEnv); given != "" {
		return given, nil
	}
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

var versionNumber = regexp.MustCompile(`(?m)^PgBouncer 1\.(\d+)`)

// FollowsPrepared reports whether the installed PgBouncer can follow prepared statements.
func FollowsPrepared(ctx context.Context) (bool, error) {
	path, err := Binary()
	if err != nil {
		return false, err
	}
	out, err := exec.CommandContext(ctx, path, "-V").Output() // #nosec G204 -- a program found by name, or named by the tester
	if err != nil {
		return false, err
	}
	m := versionNumber.FindSubmatch(out)
	if m == nil {
		return false, fmt.Errorf("%s does not print its version", path)
	}
	minor, err := strconv.Atoi(string(m[1]))
	return minor >= 21, err
}

// Start starts PgBouncer on a free port. Its connections to the server are of a role of their own, which has the timeouts that
// the service requires behind a pooler.
func Start(ctx context.Context, o Options) (*Pooler, error) {
	path, err := Binary()
	if err != nil {
		return nil, err
	}
	follows, err := FollowsPrepared(ctx)
	if err != nil {
		return nil, err
	}
	if o.Prepared > 0 && !follows {
		return nil, fmt.Errorf("%s is older than 1.21 and follows no prepared statements: name a newer program in %s", path, BinaryEnv)
	}
	p := &Pooler{server: o.Server, role: "cs_pooler_" + strings.ToLower(rand.Text()[:12]), prepared: o.Prepared, ignore: o.Ignore}
	password := rand.Text()
	if err := p.onServer(ctx, "create role "+p.role+" superuser login password '"+password+"'",
		"alter role "+p.role+" set statement_timeout = '10s'",
		"alter role "+p.role+" set idle_in_transaction_session_timeout = '10s'"); err != nil {
		return nil, err
	}
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	file := filepath.Join(o.Dir, "pgbouncer.ini")
	text, err := p.settings(password, follows)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { // #nosec G306 -- another user reads it; the password is of a test's role
		return nil, err
	}
	if p.process, err = subprocess.Start(subprocess.Spec{Path: path, Args: []string{"-q", file}, Output: os.Stderr, Orphaned: syscall.SIGTERM}); err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// settings is the text of PgBouncer's configuration. Few server connections are shared by many clients, so that a statement which
// leans on its session finds the one of a different client.
func (p *Pooler) settings(password string, follows bool) (string, error) {
	u, err := url.Parse(p.server)
	if err != nil {
		return "", errors.New("the URL of the server for tests is not valid")
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s password=%s

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 1000
server_idle_timeout = 10
`, u.Hostname(), port, p.role, password, p.port)
	if p.ignore != "" {
		text += "ignore_startup_parameters = " + p.ignore + "\n"
	}
	if follows {
		text += fmt.Sprintf("max_prepared_statements = %d\n", p.prepared)
	}
	if os.Geteuid() == 0 { // PgBouncer does not run as root
		text += "user = postgres\n"
	}
	return text, nil
}

// await returns once the pooler accepts connections.
func (p *Pooler) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.process.Done():
			return errors.New("PgBouncer ended at once; its output is above")
		case <-ctx.Done():
			return fmt.Errorf("PgBouncer does not respond: %w", err)
		case <-tick.C:
		}
	}
}

func (p *Pooler) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// URL is the URL of a database through the pooler. It names the way in which statements are prepared only if the pooler follows
// prepared statements: without it the service chooses one that needs no memory of the server.
func (p *Pooler) URL(database string) string {
	query := "sslmode=disable"
	if p.prepared > 0 {
		query += "&default_query_exec_mode=cache_statement"
	}
	return "postgres://countersign@" + p.address() + "/" + database + "?" + query
}

// Role is the role of the connections to the server.
func (p *Pooler) Role() string { return p.role }

// Stop ends the pooler.
func (p *Pooler) Stop() {
	_ = p.process.Stop(syscall.SIGTERM, stopWithin)
	_ = p.onServer(context.Background(), "drop role if exists "+p.role)
}

// onServer runs statements on a connection of their own.
func (p *Pooler) onServer(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, p.server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
