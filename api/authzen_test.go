package api

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// A batch that ran out of quota is not stored for its Idempotency-Key: a repeat must not return its denials.
func TestABatchThatPartlyFailedIsNotStored(t *testing.T) {
	t.Parallel()
	st := testenv.Store(t)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	c := clock.NewFake(runsNow)
	callers := identity.New(st, keys, c)
	limit := 3
	issued, err := callers.Issue(t.Context(), fixture.New(t, st, runsNow).Scope,
		identity.Issue{Scope: models.ScopeServer, Name: "test", RateLimit: &limit}, "cli:test", "")
	require.NoError(t, err)
	app, err := New(t.Context(), Config{BaseURL: "http://localhost:8080"}, Deps{
		Log: slog.New(slog.DiscardHandler), Clock: c, Store: st, Keys: keys, Identity: callers,
		Limiter: ratelimit.New(st.Quotas(), c), Metrics: NewMetrics(prometheus.NewRegistry()),
		Services: Services{Proofs: signing.New(st, keys, c, "http://localhost:8080"), Actions: action.New(st, c)},
	})
	require.NoError(t, err)
	ask := func() (*http.Response, string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, pathAccessBatch, strings.NewReader(
			`{"subject":{"type":"user","id":"u"},"resource":{"type":"account","id":"a"},"evaluations":[{"action":{"name":"one"}},{"action":{"name":"two"}}]}`))
		req.Header.Set("Authorization", "Bearer "+issued.Key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(headerIdempotencyKey, "batch-1")
		res, err := app.Test(req, -1)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
		return res, string(body)
	}

	spend := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/credential", nil)
	spend.Header.Set("Authorization", "Bearer "+issued.Key)
	for range limit - 1 {
		res, err := app.Test(spend, -1)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	_, body := ask()
	require.Contains(t, body, `"status":429`)

	c.Advance(2 * time.Hour)
	res, body := ask()
	require.Empty(t, res.Header.Get(headerReplayed))
	require.Equal(t, 2, strings.Count(body, `"status":404`), "%s", body)
	res, again := ask()
	require.Equal(t, "true", res.Header.Get(headerReplayed), "a batch whose denials are final is stored")
	require.Equal(t, body, again)
}
