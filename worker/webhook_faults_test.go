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

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// faultyReceiver is a receiver that misbehaves. misbehave handles the n-th request, from 0, of each message and returns whether
// the message was accepted.
type faultyReceiver struct {
	url       string
	mu        sync.Mutex
	tries     map[string]int
	done      map[string]bool
	bodies    map[string][]byte
	changed   bool // a message was sent with two different bodies
	misbehave func(w http.ResponseWriter, n int) bool
}

func newFaultyReceiver(t testing.TB, misbehave func(w http.ResponseWriter, n int) bool) *faultyReceiver {
	r := &faultyReceiver{tries: map[string]int{}, done: map[string]bool{}, bodies: map[string][]byte{}, misbehave: misbehave}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *faultyReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
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

func (r *faultyReceiver) got(ids []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if !r.done[id] {
			return false
		}
	}
	return len(r.done) == len(ids)
}

// reset closes the connection with an RST.
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

// Every faulty receiver gets every event, each with one id and one body. An endpoint that never responds delays only its own
// events.
func TestFaultyReceiversDelayNoOtherEndpoint(t *testing.T) {
	t.Parallel()
	h := setupWebhooks(t)
	h.process()
	release := make(chan struct{})
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 20<<20))
	require.NoError(t, z.Close())

	all := map[string]*faultyReceiver{
		"well": newFaultyReceiver(t, func(http.ResponseWriter, int) bool { return true }),
		"500 and then 200": newFaultyReceiver(t, func(w http.ResponseWriter, n int) bool {
			if n == 0 {
				w.WriteHeader(http.StatusInternalServerError)
			}
			return n > 0
		}),
		"reset and then 200": newFaultyReceiver(t, func(w http.ResponseWriter, n int) bool {
			if n == 0 {
				reset(w)
			}
			return n > 0
		}),
		"slow": newFaultyReceiver(t, func(http.ResponseWriter, int) bool {
			<-time.After(time.Second)
			return true
		}),
		"endless body": newFaultyReceiver(t, func(w http.ResponseWriter, _ int) bool {
			endless(w)
			return true
		}),
		"gzip bomb": newFaultyReceiver(t, func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
			return true
		}),
	}
	dead := newFaultyReceiver(t, func(http.ResponseWriter, int) bool {
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
		ids = append(ids, h.logEvent(t, i))
	}
	for name, r := range all {
		require.Eventually(t, func() bool { return r.got(ids) }, patience, 20*time.Millisecond, name)
		require.False(t, r.changed, "%s: each message has one body", name)
	}
	h.eventually(t, len(ids)*len(all), "select count(*) from webhook_deliveries where status = 'succeeded'")
	dead.mu.Lock()
	defer dead.mu.Unlock()
	require.Empty(t, dead.done, "the endpoint that never responds has accepted nothing")
	require.NotEmpty(t, dead.tries)
}

// A database outage that closes every connection loses nothing: deliveries in flight are sent again with their ids.
func TestPostgresOutageLosesNoDelivery(t *testing.T) {
	t.Parallel()
	h := setupWebhooks(t)
	h.process()
	gate := make(chan struct{})
	r := newFaultyReceiver(t, func(_ http.ResponseWriter, n int) bool {
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
		ids = append(ids, h.logEvent(t, i))
	}
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.tries) == len(ids)
	}, patience, 10*time.Millisecond, "every request is in flight")

	back := h.disconnectPostgres(t)
	open() // the receiver responds, and the worker cannot record it
	require.Eventually(t, func() bool { return r.got(ids) }, patience, 10*time.Millisecond)
	back()
	after := h.reconnected(t)
	for i := range 6 {
		ids = append(ids, after.logEvent(t, 100+i))
	}
	require.Eventually(t, func() bool { return r.got(ids) }, patience, 20*time.Millisecond)
	h.eventually(t, len(ids), "select count(*) from webhook_deliveries where status = 'succeeded'")
	require.False(t, r.changed)
}

// reconnected writes through new connections. The worker has to notice that its own are closed.
func (h *webhooks) reconnected(t *testing.T) *webhooks {
	t.Helper()
	st, err := pg.Open(t.Context(), h.Store.Pool().Config().ConnString(), pg.Options{Keys: testenv.Keys(), MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	world, own, out := *h.World, *h.bundle, *h
	world.Store = st
	own.World = &world
	out.bundle = &own
	return &out
}

// disconnectPostgres closes every connection to the test's database and refuses new ones until back is called.
func (h *webhooks) disconnectPostgres(t *testing.T) (back func()) {
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
