package integration_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

// A server that only reads, such as a primary that was demoted, is a 503 and is left: the next request uses a new connection. While
// every server only reads, each decision is a 503 with Retry-After, and decisions are back when one takes writes.
func TestReadOnlyPostgresIsUnavailableAndLeft(t *testing.T) {
	t.Parallel()
	database := testenv.Database(t)
	address, namespace := temporaltest.Namespace(t)
	p, w := separateService(t, database, address, namespace)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/authorize", request(subject, action)).is(http.StatusOK)

	demoteSessions(t, p.Store.Pool())
	refused := 0
	eventually(t, func() bool {
		a := w.Server.post(t, "/api/v1/authorize", request(subject, action))
		if a.status == http.StatusOK {
			return true
		}
		refused++
		require.NotEmpty(t, a.problem(http.StatusServiceUnavailable, "unavailable").header.Get("Retry-After"))
		return false
	}, "a new connection is used")
	require.LessOrEqual(t, refused, sessions)

	admin, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close(context.WithoutCancel(t.Context())) })
	demote := func(setting string) {
		name := pgx.Identifier{admin.Config().Database}.Sanitize()
		_, err := admin.Exec(t.Context(), "alter database "+name+" set default_transaction_read_only = "+setting)
		require.NoError(t, err)
		_, err = admin.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
		require.NoError(t, err)
	}
	demote("on")
	eventually(t, func() bool {
		return w.Server.post(t, "/api/v1/authorize", request(subject, action)).status == http.StatusServiceUnavailable
	}, "no server takes writes")
	a := w.Server.post(t, "/api/v1/authorize", request(subject, action)).problem(http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	demote("off")
	eventually(t, func() bool {
		return w.Server.post(t, "/api/v1/authorize", request(subject, action)).status == http.StatusOK
	}, "the server takes writes again")
}

// sessions is how many connections of the pool are made read-only.
const sessions = 3

// demoteSessions makes connections of the pool read-only, as the demotion of a primary that keeps its sessions would.
func demoteSessions(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var taken []*pgxpool.Conn
	for range sessions {
		c, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		_, err = c.Exec(t.Context(), "set session characteristics as transaction read only")
		require.NoError(t, err)
		taken = append(taken, c)
	}
	for _, c := range taken {
		c.Release()
	}
}
