package sse

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// open connects for an environment and returns the status and a function that closes the connection.
func (b *streamBundle) open(environment string) (status int, hangUp func()) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url, nil)
	require.NoError(b.t, err)
	req.Header.Set("X-Environment", environment)
	res, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	hangUp = sync.OnceFunc(func() { _ = res.Body.Close() })
	b.t.Cleanup(hangUp)
	return res.StatusCode, hangUp
}

func TestServeLimitsStreamsOfAnEnvironmentAndOfTheProcess(t *testing.T) {
	t.Parallel()
	b := setupStreams(t, &Server{Heartbeat: 20 * time.Millisecond}, stream.Options{Every: 5 * time.Millisecond, MaxEach: 3, Max: 5})
	var hangUp func()
	for range 3 {
		var status int
		status, hangUp = b.open("env_1")
		require.Equal(t, http.StatusOK, status)
	}
	status, _ := b.open("env_1")
	require.Equal(t, http.StatusTeapot, status, "the environment has used up its share")
	_, err := b.hub.Subscribe(t.Context(), b.scope, "crd_1", stream.Filter{}, "")
	require.ErrorIs(t, err, stream.ErrShare)
	require.Equal(t, http.StatusTooManyRequests, problem.Of(problem.TooManyStreams).Status)
	for range 2 {
		status, _ = b.open("env_2")
		require.Equal(t, http.StatusOK, status, "another environment has a share of its own")
	}
	status, _ = b.open("env_3")
	require.Equal(t, http.StatusTeapot, status, "the process is full")
	hangUp()
	require.Eventually(t, func() bool {
		status, _ := b.open("env_1")
		return status == http.StatusOK
	}, 20*time.Second, 10*time.Millisecond, "a stream that ends frees its slot")
}

// The client's connection is cut once the socket buffers are full; until then the server buffers nothing for it.
func TestServeCutsAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	b := setupStreams(t, &Server{Heartbeat: 20 * time.Millisecond, Patience: 200 * time.Millisecond}, stream.Options{Every: 5 * time.Millisecond})
	at, err := url.Parse(b.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", at.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", at.Path, at.Host)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.hub.Count() == 1 }, 20*time.Second, time.Millisecond)
	_, err = b.st.Pool().Exec(t.Context(), `insert into events (id, tenant_id, environment_id, type, at, actor, data, salt, digest)
		select 'evt_' || lpad(n::text, 6, '0'), 'tnt_1', 'env_1', 'subject.created', now(), 'cli:test', jsonb_build_object('padding', repeat('a', 100000)), '', ''
		from generate_series(1, 200) n`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.hub.Count() == 0 }, 20*time.Second, 10*time.Millisecond)
}

// Proxies speak HTTP/1.0 or close the connection after each request; the stream must not end with its header.
func TestServeStreamsToAClientThatClosesTheConnection(t *testing.T) {
	t.Parallel()
	b := setupStream(t, time.Minute)
	at, err := url.Parse(b.url)
	require.NoError(t, err)
	for name, first := range map[string]string{
		"HTTP/1.0": "GET " + at.Path + " HTTP/1.0\r\n\r\n",
		"HTTP/1.1": "GET " + at.Path + " HTTP/1.1\r\nHost: " + at.Host + "\r\nConnection: close\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", at.Host)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
			_, err = conn.Write([]byte(first))
			require.NoError(t, err)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			t.Cleanup(func() { _ = res.Body.Close() })
			require.Equal(t, http.StatusOK, res.StatusCode)
			lines := bufio.NewScanner(res.Body)
			require.True(t, lines.Scan())
			require.Regexp(t, "^id: pos_", lines.Text())
			require.True(t, lines.Scan())
			require.Equal(t, "retry: 2000", lines.Text())
			id := b.append("one")
			require.True(t, lines.Scan())
			require.True(t, lines.Scan())
			require.Equal(t, "id: "+id, lines.Text())
		})
	}
}

func TestServeNeedsAServerThatKeepsConnections(t *testing.T) {
	t.Parallel()
	b := setupStream(t, time.Minute)
	app := fiber.New()
	app.Get("/", func(c *fiber.Ctx) error {
		return (&Server{Hub: b.hub}).Serve(c, Subscription{Principal: identity.Principal{TenantID: "tnt_1", EnvironmentID: "env_1"}, Check: b.check, Life: MaxLife})
	})
	res, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil))
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)
	require.Zero(t, b.hub.Count())
}

// BenchmarkServe measures 1,000 streams on real connections at 20 events a second: the time from an event's transaction to
// the line at each client, and the memory of server and clients, which share the process. One iteration is one event.
func BenchmarkServe(b *testing.B) {
	const streams = 1000
	s := setupStreams(b, &Server{Heartbeat: time.Minute}, stream.Options{MaxEach: streams})
	var mu sync.Mutex
	due := map[string]time.Time{}
	var took []time.Duration
	var all sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: streams, DisableCompression: true}}
	for range streams {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.url, nil)
		require.NoError(b, err)
		res, err := client.Do(req)
		require.NoError(b, err)
		b.Cleanup(func() { _ = res.Body.Close() })
		lines := bufio.NewScanner(res.Body)
		all.Go(func() {
			mine := make([]time.Duration, 0, b.N)
			for len(mine) < b.N && lines.Scan() {
				id, ok := strings.CutPrefix(lines.Text(), "id: ")
				if !ok {
					continue
				}
				mu.Lock()
				mine = append(mine, time.Since(due[id]))
				mu.Unlock()
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	require.Eventually(b, func() bool { return s.hub.Count() == streams }, 20*time.Second, 10*time.Millisecond)
	b.ResetTimer()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := range b.N {
		<-tick.C
		mu.Lock()
		at := time.Now()
		due[s.append(fmt.Sprint(i))] = at
		mu.Unlock()
	}
	all.Wait()
	b.StopTimer()
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	slices.Sort(took)
	require.Len(b, took, streams*b.N)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(memory.HeapInuse+memory.StackInuse)/1e6, "MB")
}

// BenchmarkOpenStreams measures the memory of a silent stream whose connection is taken over, and of one that the HTTP server writes.
func BenchmarkOpenStreams(b *testing.B) {
	const streams = 1000
	written := func(b *testing.B) string {
		b.Helper()
		app, open := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true}), make(chan struct{})
		app.Get("/stream", func(c *fiber.Ctx) error {
			c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = w.WriteString(retryHint)
				_ = w.Flush()
				<-open
			})
			return nil
		})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		go func() { _ = app.Listener(l) }()
		b.Cleanup(func() { close(open); _ = app.ShutdownWithTimeout(time.Second) })
		return l.Addr().String()
	}
	takenOver := func(b *testing.B) string {
		b.Helper()
		u, err := url.Parse(setupStreams(b, &Server{Heartbeat: time.Hour}, stream.Options{MaxEach: streams}).url)
		require.NoError(b, err)
		return u.Host
	}
	used := func() float64 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		return float64(memory.HeapInuse + memory.StackInuse)
	}
	for name, serve := range map[string]func(*testing.B) string{"taken over": takenOver, "written by the server": written} {
		b.Run(name, func(b *testing.B) {
			address := serve(b)
			before := used()
			for range streams {
				conn, err := net.Dial("tcp", address)
				require.NoError(b, err)
				b.Cleanup(func() { _ = conn.Close() })
				_, err = conn.Write([]byte("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"))
				require.NoError(b, err)
				_, err = conn.Read(make([]byte, 1))
				require.NoError(b, err)
			}
			b.ReportMetric((used()-before)/streams/1000, "kB/stream")
		})
	}
}
