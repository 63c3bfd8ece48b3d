package integration_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// execByHand runs a statement on the shared database and returns the number of rows that it changed.
func execByHand(t *testing.T, query string, args ...any) int64 {
	t.Helper()
	var tag pgconn.CommandTag
	require.NoError(t, testenv.Repeat(func() (err error) {
		tag, err = shared.Store.Pool().Exec(context.WithoutCancel(t.Context()), query, args...) // cleanups run after the test's context has ended
		return err
	}), query)
	return tag.RowsAffected()
}

// execSQL runs statements on the shared database.
func execSQL(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		execByHand(t, s)
	}
}

// exec runs a statement that changes rows of the environment that decide, and makes them valid.
func (w world) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	execByHand(t, query, args...)
	testenv.Attest(t, shared.Core.Store, pg.Scope{Tenant: w.TenantID, Environment: w.ID})
}

// With a full disk every decision is refused with 503 and none is stored partially. The same request succeeds once there is
// space. Reads are unaffected. make chaos fills a real disk.
func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	onePostgres(t, "Citus has no triggers on distributed tables")
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	before := w.authorize(t, subject, action, "allow")
	name := "full_" + unique()
	execSQL(t, `create function `+name+`() returns trigger language plpgsql as $$
		begin raise exception 'could not extend file "base/1/2": No space left on device' using errcode = 'disk_full'; end $$`,
		`create trigger `+name+` before insert on events for each row when (new.environment_id = '`+w.ID+`') execute function `+name+`()`)
	room := func() { execSQL(t, `drop trigger if exists `+name+` on events`, `drop function if exists `+name) }
	t.Cleanup(room)

	refused := request(subject, action)
	got := w.Server.post(t, "/api/v1/authorize", refused).is(http.StatusServiceUnavailable)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.NotContains(t, string(got.body), "base/1/2")
	require.Equal(t, map[int]int{http.StatusServiceUnavailable: 20}, countStatuses(t, 20, func() (response, error) {
		return w.Server.send("POST", "/api/v1/authorize", request(subject, action))
	}))
	w.Server.post(t, "/api/v1/subjects", object{"id": "late-" + unique()}).is(http.StatusServiceUnavailable)
	w.Server.get(t, "/api/v1/authorizations/"+before.string("id")).is(200)
	require.Len(t, w.Server.get(t, "/api/v1/authorizations").is(200).list(), 1, "nothing is stored partially")

	room()
	first := w.Server.post(t, "/api/v1/authorize", refused).is(200)
	again := w.Server.post(t, "/api/v1/authorize", refused).is(200)
	require.Equal(t, first.string("id"), again.string("id"))
	require.Len(t, w.Server.get(t, "/api/v1/authorizations").is(200).list(), 2)
}

// If Postgres grants no more connections, only the requests that need one are refused.
func TestExhaustedConnectionsShedLoad(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	role := "few_" + unique()
	as, err := url.Parse(shared.database)
	require.NoError(t, err)
	execSQL(t, `create role `+role+` login password 'few' in role `+pgx.Identifier{as.User.Username()}.Sanitize())
	t.Cleanup(func() { execSQL(t, `drop role `+role) })
	as.User = url.UserPassword(role, "few")
	b := newProxiedDatabase(t, as.String())
	caller := w.Server.at(b.url)
	// Leaves a few connections: with only one, a request may lose it to another between its statements.
	require.Equal(t, 20, countStatuses(t, 20, func() (response, error) {
		return caller.send("POST", "/api/v1/authorize", request(subject, action))
	})[http.StatusOK])

	execSQL(t, `alter role `+role+` connection limit 1`, `select pg_terminate_backend(pid) from (select pid, row_number() over (order by backend_start) n
		from pg_stat_activity where usename = '`+role+`' and query not ilike 'listen%') held where n > 4`)
	// Decisions share the connections that are open; a subject is created in a transaction with a connection of its own.
	got := countStatuses(t, 200, func() (response, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
	require.Positive(t, got[http.StatusOK], "open connections are used: %v", got)
	require.Equal(t, 200, got[http.StatusOK]+got[http.StatusServiceUnavailable], "there is no other status: %v", got)
	eventually(t, func() bool {
		got := countStatuses(t, 200, func() (response, error) { return caller.send("POST", "/api/v1/subjects", object{}) })
		require.Equal(t, 200, got[http.StatusCreated]+got[http.StatusServiceUnavailable], "there is no other status: %v", got)
		return got[http.StatusServiceUnavailable] > 0
	}, "the rest are refused with 503")

	execSQL(t, `alter role `+role+` connection limit -1`)
	eventually(t, func() bool {
		got := countStatuses(t, 20, func() (response, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
		return got[http.StatusOK] == 20
	}, "the service recovers")
}

// A slow Temporal delays reviews or makes them unavailable. Decisions are unaffected.
func TestSlowTemporalDelaysNoDecision(t *testing.T) {
	t.Parallel()
	h := newPendingHold(t)
	h.temporal.Slow(300 * time.Millisecond)
	reviews, decisions := h.countStatuses(t, 40)
	require.Equal(t, map[int]int{http.StatusOK: atOnce}, decisions)
	require.Equal(t, 40, reviews[http.StatusOK]+reviews[http.StatusServiceUnavailable], "there is no other status: %v", reviews)

	h.temporal.Slow(0)
	h.requireReviewed(t)
	require.Equal(t, "approved", h.caller.get(t, "/api/v1/authorizations/"+h.hold).is(200).string("review_status"))
}
