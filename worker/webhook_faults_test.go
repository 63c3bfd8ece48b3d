package worker_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// troubled is a receiver that misbehaves at first: the n-th request, from 0, of each message goes to misbehave until that
// answers true, which is its word that the request was answered well.
type troubled struct {
	url       string
	mu        sync.Mutex
	tries     map[string]int
	done      map[string]bool
	bodies    map[string][]byte
	changed   bool // one message came with two bodies
	misbehave func(w http.ResponseWriter, n int) bool
}

func trouble(t testing.TB, misbehave func(w http.ResponseWriter, n int) bool) *troubled {
	r := &troubled{tries: map[string]int{}, done: map[string]bool{}, bodies: map[string][]byte{}, misbehave: misbehave}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *troubled) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	id := req.Header.Get("webhook-id")
	r.mu.Lock()
	n := r.tries[id]
	r.tries[id]++
	if before, again := r.bodies[id]; again && !bytes.Equal(before, body) {
		r.changed = true
	}
	r.bodies[id] = body
	r.mu.Unlock()
	if r.misbehave(w, n) {
		r.mu.Lock()
		r.done[id] = true
		r.mu.Unlock()
	}
}

func (r *troubled) got(ids []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if !r.done[id] {
			return false
		}
	}
	return len(r.done) == len(ids)
}

// reset ends the connection with an RST.
func reset(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

func endless(w http.ResponseWriter) {
	for {
		if _, err := w.Write(make([]byte, 32<<10)); err != nil {
			return
		}
	}
}

// Every kind of trouble gets every event, each under one id and with one body, while one endpoint that never answers holds
// its own and nobody else's.
func TestFaultyReceiversDelayNoOtherEndpoint(t *testing.T) {
	t.Parallel()
	h := setupHooks(t)
	h.process()
	release := make(chan struct{})
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 20<<20))
	require.NoError(t, z.Close())

	all := map[string]*troubled{
		"well": trouble(t, func(http.ResponseWriter, int) bool { return true }),
		"500 and then 200": trouble(t, func(w http.ResponseWriter, n int) bool {
			if n == 0 {
				w.WriteHeader(http.StatusInternalServerError)
			}
			return n > 0
		}),
		"resets and then answers": trouble(t, func(w http.ResponseWriter, n int) bool {
			if n == 0 {
				reset(w)
			}
			return n > 0
		}),
		"slow": trouble(t, func(http.ResponseWriter, int) bool {
			<-time.After(time.Second)
			return true
		}),
		"endless body": trouble(t, func(w http.ResponseWriter, _ int) bool {
			endless(w)
			return true
		}),
		"gzip bomb": trouble(t, func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
			return true
		}),
	}
	dead := trouble(t, func(http.ResponseWriter, int) bool {
		<-release
		return false
	})
	t.Cleanup(func() { close(release) }) // before the server waits for its requests
	h.endpoint(t, dead.url)
	for _, r := range all {
		h.endpoint(t, r.url)
	}
	var ids []string
	for i := range 4 { // fewer than open a breaker
		ids = append(ids, h.happen(t, i))
	}
	for name, r := range all {
		require.Eventually(t, func() bool { return r.got(ids) }, patience, 20*time.Millisecond, name)
		require.False(t, r.changed, "%s: one body a message", name)
	}
	h.eventually(t, len(ids)*len(all), "select count(*) from webhook_deliveries where status = 'succeeded'")
	dead.mu.Lock()
	defer dead.mu.Unlock()
	require.Empty(t, dead.done, "the dead one is still at its first")
	require.NotEmpty(t, dead.tries)
}

// While the database is away, with every connection cut, nothing is lost: what was under way is sent again under its id.
func TestPostgresOutageLosesNoDelivery(t *testing.T) {
	t.Parallel()
	h := setupHooks(t)
	h.process()
	gate := make(chan struct{})
	r := trouble(t, func(_ http.ResponseWriter, n int) bool {
		if n == 0 {
			<-gate
		}
		return true
	})
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	h.endpoint(t, r.url)
	ids := make([]string, 0, 12)
	for i := range 6 {
		ids = append(ids, h.happen(t, i))
	}
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.tries) == len(ids)
	}, patience, 10*time.Millisecond, "every request is under way")

	back := h.cutOff(t)
	open() // the receiver answers, and nobody can write it down
	require.Eventually(t, func() bool { return r.got(ids) }, patience, 10*time.Millisecond)
	back()
	after := h.reconnected(t)
	for i := range 6 {
		ids = append(ids, after.happen(t, 100+i))
	}
	require.Eventually(t, func() bool { return r.got(ids) }, patience, 20*time.Millisecond)
	h.eventually(t, len(ids), "select count(*) from webhook_deliveries where status = 'succeeded'")
	require.False(t, r.changed)
}

// reconnected writes through connections of its own; the worker has to find out by itself that its own are gone.
func (h *hooks) reconnected(t *testing.T) *hooks {
	t.Helper()
	st, err := store.Open(t.Context(), h.Store.Pool().Config().ConnString(), store.Options{MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	world, own, out := *h.World, *h.bundle, *h
	world.Store = st
	own.World = &world
	out.bundle = &own
	return &out
}

// cutOff takes the test's database away, every connection of it, until back is called.
func (h *hooks) cutOff(t *testing.T) (back func()) {
	t.Helper()
	server, err := testenv.Server()
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), server)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	name := h.Store.Pool().Config().ConnConfig.Database
	run := func(query string, args ...any) {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), query, args...)
		require.NoError(t, err)
	}
	run("alter database " + name + " allow_connections false")
	run("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
	back = sync.OnceFunc(func() { run("alter database " + name + " allow_connections true") })
	t.Cleanup(back)
	return back
}
