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
	mu     sync.Mutex
	fullAt map[string]time.Time
	err    error
	asks   int
}

func costs(n, limit int) time.Duration { return time.Duration(n) * time.Hour / time.Duration(limit) }

func (s *shared) Take(_ context.Context, bucket string, now time.Time, n, limit int) (ratelimit.QuotaUse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	before := max(s.fullAt[bucket].Sub(now), 0)
	after := before + costs(n, limit)
	if after > time.Hour {
		return ratelimit.QuotaUse{FullAt: s.fullAt[bucket]}, s.err
	}
	s.fullAt[bucket] = now.Add(after)
	const nearly = 48 * time.Minute
	return ratelimit.QuotaUse{Taken: true, FullAt: s.fullAt[bucket], Nearly: before < nearly && after >= nearly}, s.err
}

func (s *shared) Return(_ context.Context, bucket string, n, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fullAt[bucket] = s.fullAt[bucket].Add(-costs(n, limit))
	return s.err
}

func setup() (*shared, *clock.Fake) {
	return &shared{fullAt: map[string]time.Time{}}, clock.NewFake(time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC))
}

// of returns a bucket.
func of(name string, limit int) ratelimit.Bucket { return ratelimit.Bucket{Name: name, Limit: limit} }

func TestTakeEnforcesTheLimitAndCountsDown(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	l := ratelimit.New(src, clk)
	for i := range 1000 {
		d, err := l.Take(t.Context(), of("a", 1000))
		require.NoError(t, err)
		require.True(t, d.Allowed, i)
		require.Equal(t, 999-i, d.Remaining)
		require.Equal(t, time.Duration(i/10+1)*36*time.Second, d.Reset, "reservations of ten")
	}
	d, err := l.Take(t.Context(), of("a", 1000))
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Zero(t, d.Remaining)
	require.Equal(t, 3600*time.Millisecond, d.Reset, "seconds, not the rest of an hour")
	require.LessOrEqual(t, src.asks, 120, "reservations save queries")

	d, err = l.Take(t.Context(), of("b", 1000))
	require.NoError(t, err)
	require.True(t, d.Allowed, "buckets are independent")

	clk.Advance(d.Reset)
	for range 10 {
		d, err = l.Take(t.Context(), of("a", 1000))
		require.NoError(t, err)
		require.True(t, d.Allowed, "what was refilled meanwhile")
	}
	d, err = l.Take(t.Context(), of("a", 1000))
	require.NoError(t, err)
	require.False(t, d.Allowed)
}

// A request counts against all of its buckets or against none, and its figures are those of the bucket with the fewest left.
func TestTakeCountsAgainstSeveralBuckets(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	l := ratelimit.New(src, clk)
	for i := range 3 {
		d, err := l.Take(t.Context(), of("one", 5), of("all", 6))
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.Equal(t, of("one", 5), d.Bucket)
		require.Equal(t, 4-i, d.Remaining)
	}
	for i := range 3 {
		d, err := l.Take(t.Context(), of("two", 5), of("all", 6))
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.Equal(t, of("all", 6), d.Bucket)
		require.Equal(t, 2-i, d.Remaining)
	}
	for range 10 {
		d, err := l.Take(t.Context(), of("one", 5), of("all", 6))
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Equal(t, of("all", 6), d.Bucket)
	}
	d, err := l.Take(t.Context(), of("one", 5))
	require.NoError(t, err)
	require.Equal(t, 1, d.Remaining, "requests that another bucket refused are not counted")
}

func TestTakeReportsWhatIsNearlyUsed(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	l := ratelimit.New(src, clk)
	crossed := map[int][]ratelimit.Bucket{}
	for i := range 11 {
		d, err := l.Take(t.Context(), of("one", 20), of("all", 10))
		require.NoError(t, err)
		if len(d.Nearly) > 0 {
			crossed[i] = d.Nearly
		}
	}
	require.Equal(t, map[int][]ratelimit.Bucket{7: {of("all", 10)}}, crossed, "eight of ten")
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
					d, err := l.Take(t.Context(), of("a", 500))
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
	for range 2 { // the first of a reservation of three, and the next
		_, err := one.Take(t.Context(), of("a", 300))
		require.NoError(t, err)
	}
	clk.Advance(11 * time.Second)
	require.NoError(t, one.Sweep(t.Context()))
	d, err := two.Take(t.Context(), of("a", 300))
	require.NoError(t, err)
	require.Equal(t, 297, d.Remaining, "three used, and almost one refilled")
}

func TestTakeReturnsTheErrorOfTheSource(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	src.err = errors.New("unavailable")
	_, err := ratelimit.New(src, clk).Take(t.Context(), of("a", 10))
	require.Error(t, err)
}

func TestAUsedUpQuotaIsAskedForOnceASecond(t *testing.T) {
	t.Parallel()
	src, clk := setup()
	one, two := ratelimit.New(src, clk), ratelimit.New(src, clk)
	for range 10 {
		d, err := one.Take(t.Context(), of("a", 10))
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	before := src.asks
	for range 100 {
		d, err := two.Take(t.Context(), of("a", 10))
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Zero(t, d.Remaining)
	}
	require.Equal(t, before+1, src.asks, "refusals cost no query each")
	require.NoError(t, src.Return(t.Context(), "a", 1, 10))
	clk.Advance(time.Second)
	d, err := two.Take(t.Context(), of("a", 10))
	require.NoError(t, err)
	require.True(t, d.Allowed, "what another replica has returned")
}
