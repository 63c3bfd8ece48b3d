package pg_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// readOnly makes every new session of a database read-only, or writable, as a standby and a primary do.
func readOnly(t *testing.T, admin *pgx.Conn, database, setting string) {
	t.Helper()
	_, err := admin.Exec(t.Context(), "alter database "+pgx.Identifier{database}.Sanitize()+" set default_transaction_read_only = "+setting)
	require.NoError(t, err)
}

// connect opens a connection that is not the store's.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// A server that only reads is not connected to: it is a standby, or a primary that was demoted.
func TestOpenRefusesAServerThatOnlyReads(t *testing.T) {
	t.Parallel()
	address := testenv.Database(t)
	u, err := url.Parse(address)
	require.NoError(t, err)
	admin := connect(t, address)
	readOnly(t, admin, filepath.Base(u.Path), "on")
	_, err = pg.Open(t.Context(), address, pg.Options{Keys: testenv.Keys()})
	require.ErrorContains(t, err, "only reads")
	require.True(t, pg.IsUnavailable(err), "%v", err)

	readOnly(t, admin, filepath.Base(u.Path), "off")
	st, err := pg.Open(t.Context(), address, pg.Options{Keys: testenv.Keys()})
	require.NoError(t, err)
	st.Close()
}

// A write that a server refuses because it only reads is a fault of the moment, and the pool leaves that server: none of its
// connections is used again.
func TestAServerThatTurnsReadOnlyIsLeft(t *testing.T) {
	t.Parallel()
	remove := func(st *pg.Store) error {
		return st.Write(t.Context(), func(q *pg.Q) error { return outbox.DeleteEntries(t.Context(), q, []int64{1}) })
	}
	for name, write := range map[string]func(st *pg.Store) error{
		"in a transaction": remove,
		"by itself":        func(st *pg.Store) error { return outbox.DeleteEntries(t.Context(), st.Q, []int64{1}) },
		"through GORM": func(st *pg.Store) error {
			return tenancy.CreateTenant(t.Context(), st.Q, models.Tenant{ID: ids.New(ids.Tenant), Name: "Bank", CreatedAt: storetest.Epoch})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := testenv.Store(t)
			demote(t, st)
			err := write(st)
			require.ErrorContains(t, err, "25006")
			require.True(t, pg.IsUnavailable(err), "%v", err)
			for range connections {
				require.NoError(t, remove(st), "every connection is new")
			}
		})
	}
}

// connections is how many connections of a pool a test turns read-only.
const connections = 4

// demote makes every connection of the pool read-only, as the demotion of a primary that keeps its sessions would.
func demote(t *testing.T, st *pg.Store) {
	t.Helper()
	var release []func()
	for range connections {
		c, err := st.Pool().Acquire(t.Context())
		require.NoError(t, err)
		_, err = c.Exec(t.Context(), "set session characteristics as transaction read only")
		require.NoError(t, err)
		release = append(release, c.Release)
	}
	for _, f := range release {
		f()
	}
}

// A commit that waits for a synchronous standby when its request's deadline passes stays invisible. If the service cancelled the
// statement, Postgres would make the commit visible on a primary that may be cut off, and a repeated request would be returned
// a decision that the next primary does not have.
func TestACommitWithoutItsStandbyStaysInvisible(t *testing.T) {
	t.Parallel()
	server, admin := privateServer(t)
	const statementTimeout = 500 * time.Millisecond
	st, err := pg.Open(t.Context(), server.URL("postgres"), pg.Options{Keys: testenv.Keys(), StatementTimeout: statementTimeout})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	exec := func(query string) {
		_, err := admin.Exec(t.Context(), query)
		require.NoError(t, err)
	}
	exec("create table decided (id text)")
	exec("alter system set synchronous_standby_names = 'missing'")
	exec("select pg_reload_conf()")
	require.Eventually(t, func() bool { return scan[string](t, admin, "show synchronous_standby_names") == "missing" }, patience, tick)
	exec("checkpoint") // the checkpointer makes commits wait, once it has read the setting too

	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	ended := make(chan error, 1)
	go func() {
		_, err := st.Pool().Exec(ctx, "insert into decided values ('one')")
		ended <- err
	}()
	waits := func() bool {
		return scan[int](t, admin, "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") == 1
	}
	require.Eventually(t, waits, patience, tick)
	giveUp()
	require.Error(t, <-ended)
	visible := func() bool { // require.Never may leave one running when it returns, which may not fail the test
		var n int
		return admin.QueryRow(t.Context(), "select count(*) from decided").Scan(&n) == nil && n > 0
	}
	require.Never(t, visible, 2*statementTimeout, tick)
	require.True(t, waits(), "neither the service nor the statement timeout ends the commit")
	require.Eventually(t, func() bool { return st.Pool().Stat().TotalConns() == 0 }, patience, tick, "its slot in the pool is free")

	exec("alter system reset synchronous_standby_names")
	exec("select pg_reload_conf()")
	require.Eventually(t, visible, patience, tick, "the transaction was committed all the time")
}

const (
	patience = 20 * time.Second
	tick     = 10 * time.Millisecond
)

// scan returns the one value of a query.
func scan[T any](t *testing.T, pool *pgxpool.Pool, query string) (v T) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&v))
	return v
}

// privateServer starts a Postgres whose settings a test may change. The conditions of require.Never and require.Eventually may run
// beside the test: they need connections of their own.
func privateServer(t testing.TB) (*localpg.Server, *pgxpool.Pool) {
	t.Helper()
	dir, err := os.MkdirTemp("", "countersign-store-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // #nosec G302 -- the user that Postgres runs as passes through
	server, err := localpg.Start(t.Context(), localpg.Options{Dir: filepath.Join(dir, "postgres")})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	pool, err := pgxpool.New(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return server, pool
}

// The server ends idle connections when it restarts, and a read that gets one of them runs on another: what many requests wait
// for together is not refused to all of them for one connection.
func TestAReadOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	address := testenv.Database(t)
	st, err := pg.Open(t.Context(), address, pg.Options{Keys: testenv.Keys(), MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	held := st.Pool().AcquireAllIdle(t.Context())
	for len(held) < 3 {
		c, err := st.Pool().Acquire(t.Context())
		require.NoError(t, err)
		held = append(held, c)
	}
	admin := connect(t, address)
	for _, c := range held {
		var ended bool
		pid := c.Conn().PgConn().PID()
		c.Release()
		require.NoError(t, admin.QueryRow(t.Context(), "select pg_terminate_backend($1, 5000)", pid).Scan(&ended))
		require.True(t, ended)
	}
	_, err = tenancy.GetEnvironment(t.Context(), st.Q, pg.Scope{Tenant: "tnt_none", Environment: "env_none"})
	require.ErrorIs(t, err, pg.ErrNotFound)
}
