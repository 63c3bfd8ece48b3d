package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// codeReadOnly is the SQLSTATE of a write on a server that only reads (read_only_sql_transaction). No statement of this package
// asks for a read-only transaction, so it always means a standby or a primary that was demoted.
const codeReadOnly = "25006"

// keepAlive finds a connection whose server vanished without a word within about 11 s, also if nothing is sent on it, as on
// the connections that listen.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}

// errNoCancel ends the attempt of pgx to cancel a statement.
var errNoCancel = errors.New("pg: statements are not cancelled")

// followPrimary makes the connections of a pool follow the primary of a cluster whose primary may change: they are made to a
// server that takes writes only, and all of them are given up once a server refuses one. The returned function names the
// pool, which is made after its configuration.
func followPrimary(cfg *pgxpool.Config, direct *pgx.ConnConfig) (name func(*pgxpool.Pool)) {
	dialer := &net.Dialer{KeepAliveConfig: keepAlive}
	for _, c := range []*pgx.ConnConfig{cfg.ConnConfig, direct} {
		c.DialFunc = dialer.DialContext
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	var pool atomic.Pointer[pgxpool.Pool]
	ends := cfg.ConnConfig.OnPgError
	cfg.ConnConfig.OnPgError = func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code != codeReadOnly {
			return ends(c, err)
		}
		if p := pool.Load(); p != nil {
			p.Reset()
		}
		return false
	}
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		neverCancel(&c.Config, dialer)
		return nil
	}
	cfg.BeforeClose = freeAtOnce
	return pool.Store
}

// neverCancel keeps pgx from sending a cancel request once the connection is made. A request that is cancelled while its commit
// waits for a synchronous standby becomes visible on this server although no standby has it: on a primary that was cut off, a
// repeated request would then be returned a decision that the next primary lacks. Without the cancel request the
// transaction stays invisible until a standby has it. What is not cancelled ends with the statement timeout.
func neverCancel(c *pgconn.Config, dialer *net.Dialer) {
	var made atomic.Bool
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if made.Load() {
			return nil, errNoCancel
		}
		return dialer.DialContext(ctx, network, address)
	}
	after := c.AfterConnect
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		made.Store(true)
		if after == nil {
			return nil
		}
		return after(ctx, conn)
	}
}

// freeAtOnce closes the socket of a connection that broke. By default pgx waits up to 15 s for the server to close it, and the
// pool counts the connection until then: requests would find no free one when the next primary is there.
func freeAtOnce(c *pgx.Conn) {
	if c.IsClosed() {
		_ = c.PgConn().Conn().Close()
	}
}

// unreachable says which database cannot be used and, of one that only reads, which one to name.
func unreachable(c *pgx.ConnConfig, err error) error {
	if errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return fmt.Errorf("the database at %s:%d only reads, because it is a standby: name the primary, or all members of its cluster: %w", c.Host, c.Port, err)
	}
	if isPooler(err) {
		return fmt.Errorf("the database at %s:%d is a connection pooler: give the address of the server behind it too, in COUNTERSIGN_DATABASE_DIRECT_URL: %w", c.Host, c.Port, err)
	}
	return fmt.Errorf("the database at %s:%d does not respond: %w", c.Host, c.Port, err)
}
