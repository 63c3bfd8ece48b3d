package integration_test

import (
	"bufio"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// stream opens a stream with a key; the returned function waits for its end and answers its last line that is not empty.
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
	require.True(t, lines.Scan(), "the stream begins")
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
	issued, err := shared.Identity.Issue(t.Context(), store.Scope{Tenant: w.TenantID, Environment: w.ID},
		identity.Issue{Scope: models.ScopeServer, Name: "follower", RateLimit: &limit, ExpiresAt: expires}, "cli:test", "")
	require.NoError(t, err)
	return issued
}

// A stream lives as long as the key that opened it, and tells its client to connect again.
func TestEventStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	refused := func(t *testing.T, key string) {
		t.Helper()
		caller{base: shared.baseURL, key: key}.get(t, "/api/v1/events/stream").problem(401, "unauthenticated")
	}
	t.Run("that expires", func(t *testing.T) {
		t.Parallel()
		soon := time.Now().Add(3 * time.Second)
		issued := w.serverKey(t, &soon)
		require.Equal(t, "retry: 2000", w.stream(t, shared.baseURL, issued.Key)())
		refused(t, issued.Key)
	})
	t.Run("whose overlap ends", func(t *testing.T) {
		t.Parallel()
		issued := w.serverKey(t, nil)
		before := w.stream(t, shared.baseURL, issued.Key)
		rotated := w.Admin.post(t, "/api/v1/credentials/"+issued.ID+"/rotate", object{"overlap_seconds": 4}).is(200)
		require.Equal(t, "retry: 2000", before(), "the stream of a rotated key ends with the notice")
		fresh := w.stream(t, shared.baseURL, rotated.string("key"))
		require.Equal(t, "retry: 2000", w.stream(t, shared.baseURL, issued.Key)(), "and another one with the overlap")
		refused(t, issued.Key)
		w.Admin.delete(t, "/api/v1/credentials/"+issued.ID).is(204)
		require.Equal(t, "retry: 2000", fresh())
	})
	t.Run("that is revoked while notices are lost", func(t *testing.T) {
		t.Parallel()
		issued := w.serverKey(t, nil)
		end := w.stream(t, shared.baseURL, issued.Key)
		// Revoked without a notice, as if LISTEN had been away just then; then every listener has to connect again.
		_, err := shared.Core.Store.Pool().Exec(t.Context(), "update credentials set revoked_at = clock_timestamp() where id = $1", issued.ID)
		require.NoError(t, err)
		_, err = shared.Core.Store.Pool().Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and query like 'listen %'`)
		require.NoError(t, err)
		require.Equal(t, "retry: 2000", end())
	})
}

// A notice about a credential ends the streams of keys that no longer hold, and no others.
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
