package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// comesAndGoes is a shared counter that can be made unavailable.
type comesAndGoes struct {
	ratelimit.Source
	away atomic.Bool
}

func (s *comesAndGoes) Take(ctx context.Context, bucket string, window time.Time, n, limit int) (bool, int, error) {
	if s.away.Load() {
		return false, 0, errors.New("unavailable")
	}
	return s.Source.Take(ctx, bucket, window, n, limit)
}

// While the shared counter is unavailable, requests pass without quota headers and are counted. Afterwards the quota applies
// again.
func TestQuotaFailsOpen(t *testing.T) {
	t.Parallel()
	st := testenv.Store(t)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	c := clock.NewFake(runsNow)
	world := fixture.New(t, st, runsNow)
	callers := identity.New(st, keys, c)
	limit := 2
	issued, err := callers.Issue(t.Context(), world.Scope, identity.Issue{Scope: models.ScopeServer, Name: "test", RateLimit: &limit}, "cli:test", "")
	require.NoError(t, err)

	source := &comesAndGoes{Source: st.Quotas()}
	source.away.Store(true)
	metrics := prometheus.NewRegistry()
	app, err := New(t.Context(), Config{BaseURL: "http://localhost:8080"}, Deps{
		Log: slog.New(slog.DiscardHandler), Clock: c, Store: st, Keys: keys, Identity: callers,
		Limiter: ratelimit.New(source, c), Metrics: NewMetrics(metrics),
		Services: Services{Proofs: signing.New(st, keys, c, "http://localhost:8080")},
	})
	require.NoError(t, err)
	whoami := func() *http.Response {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/credential", nil)
		req.Header.Set("Authorization", "Bearer "+issued.Key)
		res, err := app.Test(req, -1)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res
	}

	for range 2 * limit {
		res := whoami()
		require.Equal(t, 200, res.StatusCode)
		require.Empty(t, res.Header.Get("X-RateLimit-Remaining"))
	}
	require.InDelta(t, 2*limit, counted(t, metrics, "countersign_rate_limiter_unavailable_total"), 0)

	source.away.Store(false)
	for left := limit - 1; left >= 0; left-- {
		res := whoami()
		require.Equal(t, 200, res.StatusCode)
		require.Equal(t, []string{"1", "0"}[limit-1-left], res.Header.Get("X-RateLimit-Remaining"))
	}
	res := whoami()
	require.Equal(t, 429, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
	require.InDelta(t, 2*limit, counted(t, metrics, "countersign_rate_limiter_unavailable_total"), 0)
}

// counted returns the value of a counter.
func counted(t *testing.T, from prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Fail(t, "no such metric", name)
	return 0
}
