package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
)

// shared is an in-memory Source.
type shared struct {
	mu   sync.Mutex
	used map[string]int
	err  error
	asks int
}

func (s *shared) Take(_ context.Context, bucket string, window time.Time, n, limit int) (bool, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	key := bucket + window.String()
	if s.used[key]+n > limit {
		return false, s.used[key], s.err
	}
	s.used[key] += n
	return true, s.used[key], s.err
}

func (s *shared) Return(_ context.Context, bucket string, window time.Time, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[bucket+window.String()] -= n
	return s.err
}

func setup() (*shared, *clock.Fake) {
	return &shared{used: map[string]int{}}, clock.NewFake(time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC))
}

func TestTakeEnforcesTheLimitAndCountsDown(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	l := ratelimit.New(src, clk)
	for i := range 1000 {
		d, err := l.Take(t.Context(), "a", 1000)
		require.NoError(t, err)
		require.True(t, d.Allowed, i)
		require.Equal(t, 999-i, d.Remaining)
		require.Equal(t, 30*time.Minute, d.Reset)
	}
	d, err := l.Take(t.Context(), "a", 1000)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Zero(t, d.Remaining)
	require.LessOrEqual(t, src.asks, 120, "reservations save queries")

	d, err = l.Take(t.Context(), "b", 1000)
	require.NoError(t, err)
	require.True(t, d.Allowed, "buckets are independent")

	clk.Advance(30 * time.Minute)
	d, err = l.Take(t.Context(), "a", 1000)
	require.NoError(t, err)
	require.True(t, d.Allowed, "a new window")
}

func TestTakeEnforcesTheLimitAcrossReplicas(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	var wg sync.WaitGroup
	var mu sync.Mutex
	allowed := 0
	for range 4 {
		l := ratelimit.New(src, clk)
		for range 8 {
			wg.Go(func() {
				for range 50 {
					d, err := l.Take(t.Context(), "a", 500)
					if err == nil && d.Allowed {
						mu.Lock()
						allowed++
						mu.Unlock()
					}
				}
			})
		}
	}
	wg.Wait()
	require.LessOrEqual(t, allowed, 500)
	require.Greater(t, allowed, 480, "at most the reservations of other replicas are unavailable")
}

func TestSweepReturnsReservations(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	one, two := ratelimit.New(src, clk), ratelimit.New(src, clk)
	_, err := one.Take(t.Context(), "a", 300)
	require.NoError(t, err)
	clk.Advance(11 * time.Second)
	require.NoError(t, one.Sweep(t.Context()))
	d, err := two.Take(t.Context(), "a", 300)
	require.NoError(t, err)
	require.Equal(t, 298, d.Remaining)
}

func TestTakeReturnsTheErrorOfTheSource(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	src.err = errors.New("unavailable")
	_, err := ratelimit.New(src, clk).Take(t.Context(), "a", 10)
	require.Error(t, err)
}

func TestAUsedUpQuotaIsAskedForOnceASecond(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	one, two := ratelimit.New(src, clk), ratelimit.New(src, clk)
	for range 10 {
		d, err := one.Take(t.Context(), "a", 10)
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	before := src.asks
	for range 100 {
		d, err := two.Take(t.Context(), "a", 10)
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Zero(t, d.Remaining)
	}
	require.Equal(t, before+1, src.asks, "refusals cost no query each")
	require.NoError(t, src.Return(t.Context(), "a", clk.Now().Truncate(ratelimit.Window), 1))
	clk.Advance(time.Second)
	d, err := two.Take(t.Context(), "a", 10)
	require.NoError(t, err)
	require.True(t, d.Allowed, "what another replica has returned")
}
