package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// execMode is the parameter of the database URL by which pgx chooses how it runs statements.
const execMode = "default_query_exec_mode"

// errURL does not wrap the parser's error, which contains the URL with the password.
var errURL = errors.New("the database URL is not valid: it must have the form postgres://user:password@host:port/name")

// timeouts are the settings of a session that end a statement that runs too long, and a transaction of a process that was
// stopped, whose locks must be released.
var timeouts = []string{"statement_timeout", "idle_in_transaction_session_timeout"}

// configure parses the URLs of the pool and of the direct connections, which are the same without o.DirectURL.
func configure(url string, o Options) (pool *pgxpool.Config, direct *pgx.ConnConfig, err error) {
	if pool, err = pgxpool.ParseConfig(url); err != nil {
		return nil, nil, errURL
	}
	pool.MaxConns = o.MaxConns
	session(pool.ConnConfig, o)
	if o.DirectURL == "" {
		limit(pool.ConnConfig, o.StatementTimeout)
		return pool, pool.ConnConfig, nil
	}
	// Without server-side prepared statements any pooler works; with them the pooler has to track them.
	if !strings.Contains(url, execMode+"=") {
		pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if direct, err = pgx.ParseConfig(o.DirectURL); err != nil {
		return nil, nil, fmt.Errorf("the direct connection: %w", errURL)
	}
	session(direct, o)
	limit(direct, o.StatementTimeout)
	return pool, direct, nil
}

// session sets the parameters that a pooler of transactions follows from one server connection to the next.
func session(c *pgx.ConnConfig, o Options) {
	c.RuntimeParams["application_name"] = applicationName
	c.RuntimeParams["timezone"] = "UTC"
	c.ConnectTimeout = 5 * time.Second
	c.Tracer = o.Tracer
}

// limit sets the timeouts of a session. A pooler of transactions refuses or ignores them: verifyPooler requires them of the role.
func limit(c *pgx.ConnConfig, d time.Duration) {
	for _, name := range timeouts {
		c.RuntimeParams[name] = fmt.Sprint(d.Milliseconds())
	}
}

// verifyServer returns an error unless a connection leads to the server itself and has the limits that were asked for: a pooler can accept a
// parameter and ignore it. It reads both back.
func verifyServer(ctx context.Context, conn *pgx.Conn, d time.Duration) error {
	var pid uint32
	// Not prepared: behind a pooler the connection to the server may have the statement of another client.
	if err := conn.QueryRow(ctx, "select pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return err
	}
	c := conn.Config()
	if pid != conn.PgConn().PID() {
		return fmt.Errorf("the database at %s:%d is a connection pooler: give the address of the server behind it too, in COUNTERSIGN_DATABASE_DIRECT_URL", c.Host, c.Port)
	}
	for _, name := range timeouts {
		var value string
		var same bool
		if err := conn.QueryRow(ctx, "select current_setting($1), current_setting($1)::interval = make_interval(secs => $2)", name, d.Seconds()).Scan(&value, &same); err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("the database at %s:%d ignores %s: it was set to %s and is %s. Is a connection pooler in between?", c.Host, c.Port, name, d, value)
		}
	}
	return nil
}

// verifyPooler returns an error unless the pool and the direct connection lead to the same database, and its role has the
// timeouts that the service cannot set on connections that it shares.
func verifyPooler(ctx context.Context, pool *pgxpool.Pool, direct *pgx.ConnConfig, d time.Duration) error {
	conn, err := pgx.ConnectConfig(ctx, direct.Copy())
	if err != nil {
		return fmt.Errorf("the direct connection: %w", unreachable(direct, err))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := verifyServer(ctx, conn, d); err != nil {
		return fmt.Errorf("the direct connection: %w", err)
	}
	var pid int64
	var started time.Time
	const own = "select pid, backend_start from pg_stat_activity where pid = pg_backend_pid()"
	if err := conn.QueryRow(ctx, own).Scan(&pid, &started); err != nil {
		return err
	}
	var same bool
	const seen = "select exists (select from pg_stat_activity where pid = $1 and datname = current_database() and coalesce(backend_start, $2) = $2)"
	if err := pool.QueryRow(ctx, seen, pid, started).Scan(&same); err != nil {
		return err
	}
	if !same {
		return errors.New("the direct connection leads to a different database than the database URL: name the server and the database behind the pooler")
	}
	for _, name := range timeouts {
		var value, role string
		if err := pool.QueryRow(ctx, "select current_setting($1), current_user", name).Scan(&value, &role); err != nil {
			return err
		}
		if value == "0" {
			return fmt.Errorf("behind a pooler the role needs a limit of its own: run alter role %s set %s = '10s', then RECONNECT in the pooler's console",
				pgx.Identifier{role}.Sanitize(), name)
		}
	}
	return nil
}

// forgetPlans returns a function that replaces the connections of a pool, with their prepared statements, after a migration. Behind
// a pooler the statements stay on its connections to the server: the next connections of this process prepare none.
func forgetPlans(cfg *pgxpool.Config, o Options) func(*pgxpool.Pool) {
	var stale atomic.Bool
	before := cfg.BeforeConnect
	cfg.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
		if o.DirectURL != "" && stale.Load() {
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		return before(ctx, c)
	}
	return func(pool *pgxpool.Pool) {
		stale.Store(true)
		pool.Reset()
	}
}

// isPooler reports whether a server refused the parameters of a session, which Postgres knows and PgBouncer does not.
func isPooler(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.HasPrefix(pg.Message, "unsupported startup parameter")
}
