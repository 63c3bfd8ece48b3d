package integration_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// onDatabase runs statements as the administrator of the shared database.
func onDatabase(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := shared.Store.Pool().Exec(context.WithoutCancel(t.Context()), s) // also when the test is over
		require.NoError(t, err, s)
	}
}

// A disk that is full refuses every decision with 503, stores none by half, and the same request is answered once there is
// room again. What only reads goes on. cmd/chaos fills a real disk, where root may mount a small one.
func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	before := w.authorize(t, subject, action, "allow")
	name := "full_" + unique()
	onDatabase(t, `create function `+name+`() returns trigger language plpgsql as $$
		begin raise exception 'could not extend file "base/1/2": No space left on device' using errcode = 'disk_full'; end $$`,
		`create trigger `+name+` before insert on events for each row when (new.environment_id = '`+w.ID+`') execute function `+name+`()`)
	room := func() { onDatabase(t, `drop trigger if exists `+name+` on events`, `drop function if exists `+name) }
	t.Cleanup(room)

	refused := request(subject, action)
	got := w.Server.post(t, "/api/v1/authorize", refused).is(http.StatusServiceUnavailable)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.NotContains(t, string(got.body), "base/1/2")
	require.Equal(t, map[int]int{http.StatusServiceUnavailable: 20}, tally(t, 20, func() (answer, error) {
		return w.Server.send("POST", "/api/v1/authorize", request(subject, action))
	}))
	w.Server.post(t, "/api/v1/subjects", object{"id": "late-" + unique()}).is(http.StatusServiceUnavailable)
	w.Server.get(t, "/api/v1/authorizations/"+before.string("id")).is(200)
	require.Len(t, w.Server.get(t, "/api/v1/authorizations").is(200).list(), 1, "nothing is stored by half")

	room()
	first := w.Server.post(t, "/api/v1/authorize", refused).is(200)
	again := w.Server.post(t, "/api/v1/authorize", refused).is(200)
	require.Equal(t, first.string("id"), again.string("id"))
	require.Len(t, w.Server.get(t, "/api/v1/authorizations").is(200).list(), 2)
}

// A server that gives no further connections costs the requests that would have needed them, and those alone.
func TestExhaustedConnectionsShedLoad(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	role := "few_" + unique()
	as, err := url.Parse(shared.database)
	require.NoError(t, err)
	onDatabase(t, `create role `+role+` login password 'few' in role `+pgx.Identifier{as.User.Username()}.Sanitize())
	t.Cleanup(func() { onDatabase(t, `drop role `+role) })
	as.User = url.UserPassword(role, "few")
	b := newBehindAs(t, as.String())
	caller := w.Server.at(b.url)
	// Some connections are left: with one, each request may lose it to another between its statements.
	require.Equal(t, 20, tally(t, 20, func() (answer, error) {
		return caller.send("POST", "/api/v1/authorize", request(subject, action))
	})[http.StatusOK])

	onDatabase(t, `alter role `+role+` connection limit 1`, `select pg_terminate_backend(pid) from (select pid, row_number() over (order by backend_start) n
		from pg_stat_activity where usename = '`+role+`' and query not ilike 'listen%') held where n > 4`)
	got := tally(t, 200, func() (answer, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
	require.Positive(t, got[http.StatusOK], "connections that are there go on: %v", got)
	require.Positive(t, got[http.StatusServiceUnavailable], "the rest come again: %v", got)
	require.Equal(t, 200, got[http.StatusOK]+got[http.StatusServiceUnavailable], "and nothing else happens: %v", got)

	onDatabase(t, `alter role `+role+` connection limit -1`)
	eventually(t, func() bool {
		got := tally(t, 20, func() (answer, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
		return got[http.StatusOK] == 20
	}, "it recovers")
}

// A Temporal that answers slowly delays what waits for it, and what cannot be waited for comes again: no decision does.
func TestSlowTemporalDelaysNoDecision(t *testing.T) {
	t.Parallel()
	h := newOnHold(t)
	h.temporal.Slow(300 * time.Millisecond)
	reviews, decisions := h.tally(t, 40)
	require.Equal(t, map[int]int{http.StatusOK: 40}, decisions)
	require.Equal(t, 40, reviews[http.StatusOK]+reviews[http.StatusServiceUnavailable], "nothing else happens: %v", reviews)

	h.temporal.Slow(0)
	h.reviewed(t)
	require.Equal(t, "approved", h.caller.get(t, "/api/v1/authorizations/"+h.hold).is(200).string("review_status"))
}
