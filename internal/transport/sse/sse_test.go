package sse

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// streamBundle is a server of streams behind a real connection, for a fixed caller.
type streamBundle struct {
	t     testing.TB
	st    *pg.Store
	scope pg.Scope
	url   string
	stop  context.CancelFunc
	hub   *stream.Hub
	as    identity.Principal // the caller; one without a key unless the test sets it before it connects
	check func(context.Context) (bool, error)
	sent  atomic.Int64
}

func setupStream(t testing.TB, beat time.Duration) *streamBundle {
	t.Helper()
	return setupStreams(t, &Server{Heartbeat: beat}, stream.Options{Every: 5 * time.Millisecond})
}

func setupStreams(t testing.TB, s *Server, o stream.Options) *streamBundle {
	t.Helper()
	b := &streamBundle{t: t, st: testenv.Store(t), scope: pg.Scope{Tenant: "tnt_1", Environment: "env_1"}}
	b.as = identity.Principal{CredentialID: "crd_1", TenantID: "tnt_1", EnvironmentID: "env_1"}
	_, err := b.st.Pool().Exec(t.Context(), `with t as (insert into tenants (id, name, created_at) values ('tnt_1', 'n', now()) returning id)
		insert into environments (id, tenant_id, kind, rp_id, rp_name, rp_origins, created_at) select 'env_1', id, 'sandbox', 'localhost', 'n', '{}', now() from t`)
	require.NoError(t, err)
	b.check = func(context.Context) (bool, error) { return true, nil }
	hub := stream.NewHub(b.st, clock.System(), slog.New(slog.DiscardHandler), o)
	b.hub, s.Hub = hub, hub
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); hub.Run(ctx) }()
	b.stop = func() { cancel(); <-ended }
	t.Cleanup(b.stop)

	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true, ErrorHandler: func(c *fiber.Ctx, err error) error {
		return c.Status(http.StatusTeapot).SendString(err.Error())
	}})
	app.Server().KeepHijackedConns = true
	app.Get("/stream", func(c *fiber.Ctx) error {
		as := b.as
		as.EnvironmentID = c.Get("X-Environment", as.EnvironmentID)
		return s.Serve(c, Subscription{
			Principal: as, Key: "crd_1", Check: b.check, Life: MaxLife, Sent: func() { b.sent.Add(1) },
			Filter: stream.Filter{Type: c.Query("type"), Subject: c.Query("subject"), Action: c.Query("action")},
		})
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = app.Listener(l) }()
	t.Cleanup(func() { _ = app.ShutdownWithTimeout(time.Second) })
	b.url = "http://" + l.Addr().String() + "/stream"
	return b
}

func (b *streamBundle) append(subject string) string {
	b.t.Helper()
	row, err := events.Row(events.Entry{Scope: b.scope, Data: events.SubjectCreatedData{}, At: clock.System().Now(), Subject: subject, SubjectUID: "sub_1",
		Actor: "credential:crd_1"})
	require.NoError(b.t, err)
	require.NoError(b.t, events.InsertEvent(b.t.Context(), b.st.Q, row, false))
	return row.ID
}

// connect opens a stream and returns a reader of its blocks, which blank lines separate; "end" after the last.
func (b *streamBundle) connect(query, last string) (next func() string, res *http.Response) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+query, nil)
	require.NoError(b.t, err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err = http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	return func() string {
		var block []string
		for lines.Scan() {
			if lines.Text() == "" {
				return strings.Join(block, "\n")
			}
			block = append(block, lines.Text())
		}
		return "end"
	}, res
}

// begins matches the first and the last message of a stream.
const begins = `id: pos_\d+_[0-9a-f]{16}\nretry: 2000`

func TestServeWritesAndResumesServerSentEvents(t *testing.T) {
	t.Parallel()
	b := setupStream(t, time.Minute)
	next, res := b.connect("?type=subject.*&subject=one", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	require.Contains(t, res.Header.Get("Cache-Control"), "no-transform")
	require.Regexp(t, "^"+begins+"$", next())
	b.append("two")
	id := b.append("one")
	block := strings.Split(next(), "\n")
	require.Len(t, block, 3)
	require.Equal(t, "id: "+id, block[0])
	require.Equal(t, "event: subject.created", block[1])
	var shown events.Activity
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(block[2], "data: ")), &shown))
	require.Equal(t, id, shown.ID)

	later := b.append("one")
	resumed, _ := b.connect("?subject=one", id)
	resumed()
	require.Contains(t, resumed(), "id: "+later)
	require.Eventually(t, func() bool { return b.sent.Load() == 3 }, 20*time.Second, time.Millisecond, "every event is counted, positions are not")
}

func TestServeWritesHeartbeatsAndEndsWithTheHub(t *testing.T) {
	t.Parallel()
	b := setupStream(t, 20*time.Millisecond)
	next, _ := b.connect("", "")
	next()
	require.Equal(t, ": heartbeat", next())
	require.Equal(t, ": heartbeat", next())
	b.stop()
	require.Eventually(t, func() bool { return next() == "end" }, 20*time.Second, time.Millisecond, "a hub that stops ends its streams")
	_, res := b.connect("", "")
	require.Equal(t, http.StatusTeapot, res.StatusCode, "a stopped hub opens no streams")
}

// A key that cannot be checked is not refused: clients give up after 401 and connect again after 503.
func TestServeIsUnavailableIfTheKeyCannotBeChecked(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	broken := testenv.Store(t)
	b := setupStreams(t, &Server{Identity: identity.New(broken, keys, clock.System())}, stream.Options{Every: 5 * time.Millisecond})
	env := storetest.Environment(t, b.st, models.Sandbox)
	service := identity.New(b.st, keys, clock.System())
	issued, err := service.Issue(t.Context(), storetest.Scope(env), identity.Issue{Scope: models.ScopeServer}, "cli:test", "")
	require.NoError(t, err)
	b.as, err = service.Authenticate(t.Context(), issued.Key)
	require.NoError(t, err)
	broken.Close()
	_, res := b.connect("", "")
	said, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(said), "unavailable: ")
	require.Zero(t, b.hub.Count(), "the stream has ended")
}

// What ends before the subscription begins is notified to no stream.
func TestServeChecksTheSessionAfterItSubscribed(t *testing.T) {
	t.Parallel()
	b := setupStream(t, time.Minute)
	for name, c := range map[string]struct {
		check func(context.Context) (bool, error)
		says  string
	}{
		"ended":             {func(context.Context) (bool, error) { return false, nil }, "unauthenticated: "},
		"cannot be checked": {func(context.Context) (bool, error) { return false, io.ErrUnexpectedEOF }, "unavailable: "},
		"nothing checks it": {nil, "unauthenticated: "},
	} {
		var subscribed atomic.Bool
		if b.check = c.check; c.check != nil {
			b.check = func(ctx context.Context) (bool, error) {
				if b.hub.Count() == 1 {
					subscribed.Store(true)
				}
				return c.check(ctx)
			}
		}
		_, res := b.connect("", "")
		said, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Contains(t, string(said), c.says, name)
		require.Equal(t, c.check != nil, subscribed.Load(), name)
		require.Zero(t, b.hub.Count(), name)
	}
}

// A notification of the session checks it again and does not end a stream whose session remains.
func TestServeEndsWithTheSessionOnly(t *testing.T) {
	t.Parallel()
	b := setupStream(t, 20*time.Millisecond)
	var ended atomic.Bool
	var asked atomic.Int64
	b.check = func(context.Context) (bool, error) {
		asked.Add(1)
		return !ended.Load(), nil
	}
	next, _ := b.connect("", "")
	require.Regexp(t, "^"+begins+"$", next())
	// Until the hub listens, a notification is lost; it is sent until it is heard.
	notified := func(until func() bool) {
		require.Eventually(t, func() bool {
			require.NoError(t, b.st.Notify(t.Context(), pg.ChannelCredential, "crd_1"))
			return until()
		}, 20*time.Second, 10*time.Millisecond)
	}
	before := asked.Load() + 1 // the hub checks once when it begins to listen
	notified(func() bool { return asked.Load() > before })
	require.Equal(t, ": heartbeat", next())
	require.Equal(t, 1, b.hub.Count())
	ended.Store(true)
	notified(func() bool { return b.hub.Count() == 0 })
}

func TestServeSendsResyncForAnUnknownLastEventID(t *testing.T) {
	t.Parallel()
	b := setupStream(t, time.Minute)
	next, _ := b.connect("", "evt_01jqx3k5v8e2sbyk0c4m7t9wzd")
	require.Equal(t, "retry: 2000", next(), "without an id: a client that is cut here has to ask again")
	require.Regexp(t, `^id: pos_\S+\nevent: resync\ndata: `, next())
}

func TestServeEndsAStreamAfterItsLifeWithARetryHint(t *testing.T) {
	t.Parallel()
	b := setupStreams(t, &Server{Heartbeat: time.Minute, Life: 50 * time.Millisecond}, stream.Options{Every: 5 * time.Millisecond})
	next, res := b.connect("", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	first, last := next(), next()
	require.Regexp(t, "^"+begins+"$", first)
	require.Equal(t, first, last, "before the end")
	require.Equal(t, "end", next())
	missed := b.append("one")
	resumed, _ := b.connect("", strings.TrimSuffix(strings.TrimPrefix(last, "id: "), "\nretry: 2000"))
	resumed()
	require.Contains(t, resumed(), "id: "+missed)
	require.Equal(t, time.Hour, MaxLife)
}
