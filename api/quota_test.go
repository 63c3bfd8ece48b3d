package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/middleware"
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

// comesAndGoes is a shared counter that can be made unavailable.
type comesAndGoes struct {
	ratelimit.Source
	away atomic.Bool
}

func (s *comesAndGoes) Take(ctx context.Context, bucket string, now time.Time, n, limit int) (ratelimit.QuotaUse, error) {
	if s.away.Load() {
		return ratelimit.QuotaUse{}, errors.New("unavailable")
	}
	return s.Source.Take(ctx, bucket, now, n, limit)
}

// limited is an API whose caller has a quota of a few requests an hour.
type limited struct {
	app     *fiber.App
	clock   *clock.Fake
	source  *comesAndGoes
	metrics *prometheus.Registry
	key     string
}

func newLimited(t *testing.T, limit int) *limited {
	t.Helper()
	st := testenv.Store(t)
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	l := &limited{clock: clock.NewFake(runsNow), source: &comesAndGoes{Source: ratelimit.Shared{Store: st}}, metrics: prometheus.NewRegistry()}
	callers := identity.New(st, keys, l.clock)
	issued, err := callers.Issue(t.Context(), fixture.New(t, st, runsNow).Scope,
		identity.Issue{Scope: models.ScopeServer, Name: "test", RateLimit: &limit}, "cli:test", "")
	require.NoError(t, err)
	l.key = issued.Key
	l.app, err = New(t.Context(), Config{Config: middleware.Config{BaseURL: "http://localhost:8080"}}, Deps{
		Deps: middleware.Deps{
			Log: slog.New(slog.DiscardHandler), Clock: l.clock, Store: st, Keys: keys, Identity: callers,
			Limiter: ratelimit.New(l.source, l.clock), Metrics: metrics.New(l.metrics),
		},
		Services: Services{Proofs: signing.New(st, keys, l.clock, "http://localhost:8080"), Actions: action.New(st, l.clock)},
	})
	require.NoError(t, err)
	return l
}

// send sends a request with the caller's key and returns the response with its body.
func (l *limited) send(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	req.Header.Set("Authorization", "Bearer "+l.key)
	res, err := l.app.Test(req, -1)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res, string(body)
}

// credential requests the caller's own credential, which spends one request of the quota.
func (l *limited) credential(t *testing.T) *http.Response {
	t.Helper()
	res, _ := l.send(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/credential", nil))
	return res
}

// While the shared counter is unavailable, requests pass without quota headers and are counted. Afterwards the quota applies
// again.
func TestQuotaFailsOpen(t *testing.T) {
	t.Parallel()
	const limit = 2
	l := newLimited(t, limit)
	l.source.away.Store(true)
	for range 2 * limit {
		res := l.credential(t)
		require.Equal(t, 200, res.StatusCode)
		require.Empty(t, res.Header.Get("X-RateLimit-Remaining"))
	}
	require.InDelta(t, 2*limit, counted(t, l.metrics, "countersign_rate_limiter_unavailable_total"), 0)

	l.source.away.Store(false)
	for left := limit - 1; left >= 0; left-- {
		res := l.credential(t)
		require.Equal(t, 200, res.StatusCode)
		require.Equal(t, []string{"1", "0"}[limit-1-left], res.Header.Get("X-RateLimit-Remaining"))
	}
	res := l.credential(t)
	require.Equal(t, 429, res.StatusCode)
	require.Equal(t, "1800", res.Header.Get("Retry-After"), "half of the hour in which two requests refill")
	require.InDelta(t, 2*limit, counted(t, l.metrics, "countersign_rate_limiter_unavailable_total"), 0)
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
