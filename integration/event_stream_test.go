package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/models"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// follow opens an event stream. The returned function waits for its next event.
func (w world) follow(t *testing.T, query, last string) func() delivered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shared.baseURL+"/api/v1/events/stream"+query, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+w.Server.key)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	lines := bufio.NewScanner(res.Body)
	return func() delivered {
		var d delivered
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "id":
				d.ID = value
			case name == "event":
				d.Type = value
			case lines.Text() == "" && d.Type != "":
				return d
			}
		}
		require.NoError(t, lines.Err())
		require.Fail(t, "the stream has ended")
		return d
	}
}

// stream opens an event stream with a key. The returned function waits for its end and returns its last non-empty line.
func (w world) stream(t *testing.T, base, key string) (end func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/events/stream", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	lines := bufio.NewScanner(res.Body)
	require.True(t, lines.Scan(), "the stream sends its first line")
	return func() string {
		last := ""
		for lines.Scan() {
			if lines.Text() != "" {
				last = lines.Text()
			}
		}
		require.NoError(t, lines.Err(), "the stream ends cleanly")
		return last
	}
}

func (w world) serverKey(t *testing.T, expires *time.Time) identity.Issued {
	t.Helper()
	limit := plenty
	issued, err := shared.Identity.Issue(t.Context(), w.scope(),
		identity.Issue{Scope: models.ScopeServer, Name: "follower", RateLimit: &limit, ExpiresAt: expires}, "cli:test", "")
	require.NoError(t, err)
	return issued
}

// A stream ends with the key that opened it, and asks its client to reconnect.
func TestEventStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	refused := func(t *testing.T, key string) {
		t.Helper()
		caller{base: shared.baseURL, key: key}.get(t, "/api/v1/events/stream").problem(401, "unauthenticated")
	}
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		soon := time.Now().Add(3 * time.Second)
		issued := w.serverKey(t, &soon)
		require.Equal(t, "retry: 2000", w.stream(t, shared.baseURL, issued.Key)())
		refused(t, issued.Key)
	})
	t.Run("overlap ended", func(t *testing.T) {
		t.Parallel()
		issued := w.serverKey(t, nil)
		before := w.stream(t, shared.baseURL, issued.Key)
		rotated, err := shared.Identity.Rotate(t.Context(), w.scope(), identity.Rotation{ID: issued.ID, Overlap: 4 * time.Second}, "cli:test", "")
		require.NoError(t, err)
		require.Equal(t, "retry: 2000", before(), "the stream ends when its key is rotated")
		fresh := w.stream(t, shared.baseURL, rotated.Key)
		require.Equal(t, "retry: 2000", w.stream(t, shared.baseURL, issued.Key)(), "a stream of the old key ends with the overlap")
		refused(t, issued.Key)
		w.Admin.delete(t, "/api/v1/credentials/"+issued.ID).is(204)
		require.Equal(t, "retry: 2000", fresh())
	})
	t.Run("revoked while notifications are lost", func(t *testing.T) {
		t.Parallel()
		issued := w.serverKey(t, nil)
		end := w.stream(t, shared.baseURL, issued.Key)
		// Revokes the key without a notification, as if the listener had been disconnected, and makes every listener reconnect.
		w.exec(t, "update credentials set revoked_at = now() where id = $1", issued.ID)
		_, err := shared.Core.Store.Pool().Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and query like 'listen %'`)
		require.NoError(t, err)
		require.Equal(t, "retry: 2000", end())
	})
}

// A notification about credentials ends only the streams of invalid keys.
func TestEventStreamSurvivesARecovery(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	next := w.follow(t, "?type=recovery.*", "")
	subject := w.subject(t)
	w.page(t, subject, nil)
	w.recover(t, subject)
	require.Equal(t, "recovery.started", next().Type)
	require.Equal(t, "recovery.ready", next().Type)
}

func TestEventStreamsAreLimitedPerEnvironment(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for range 100 {
		w.follow(t, "?type=webhook.*", "")
	}
	a := w.Server.get(t, "/api/v1/events/stream").problem(429, "too_many_streams")
	require.NotEmpty(t, a.header.Get("Retry-After"))
}

// What happens while a client is disconnected follows, also if its stream was cut before the first event.
func TestEventStreamContinuesBehindAProxyThatCuts(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	target, err := url.Parse(shared.baseURL)
	require.NoError(t, err)
	const cuts = 3
	streams := 0
	proxied := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if streams++; streams <= cuts {
				r.Body = &cutBody{ReadCloser: r.Body}
			}
			return nil
		},
	})
	t.Cleanup(proxied.Close)
	client, err := countersign.New(proxied.URL, w.Server.key)
	require.NoError(t, err)
	var want, got []string
	last := ""
	read := func(e countersign.StreamedEvent) {
		var entry countersign.ActivityEntry
		require.NoError(t, json.Unmarshal(e.Data, &entry))
		got = append(got, entry.Subject)
	}
	for range cuts {
		for e, err := range client.StreamEvents(t.Context(), countersign.StreamParams{Type: "subject.created", LastEventID: last}) {
			if last = e.ID; err == nil { // it arrived in the piece before the cut
				read(e)
				continue
			}
			require.True(t, countersign.Unavailable(err), "the stream is cut: %v", err)
		}
		want = append(want, w.subject(t)) // while no stream is open
	}
	for e, err := range client.StreamEvents(t.Context(), countersign.StreamParams{Type: "subject.created", LastEventID: last}) {
		require.NoError(t, err)
		if read(e); len(got) == cuts {
			break
		}
	}
	require.Equal(t, want, got)
}

// cutBody ends after its first bytes, as a connection does that is cut.
type cutBody struct {
	io.ReadCloser
	read bool
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.read {
		return 0, io.ErrUnexpectedEOF
	}
	b.read = true
	return b.ReadCloser.Read(p)
}
