package ratelimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

func TestQuotasRefillContinuously(t *testing.T) {
	t.Parallel()
	q := testenv.Store(t)
	at := time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC)
	take := func(n int) (taken bool, full time.Duration, nearly bool) {
		use, err := takeFromQuota(t.Context(), q.Q, "env_1/servers", at, n, 7)
		require.NoError(t, err)
		return use.Taken, use.FullAt.Sub(at).Round(time.Second), use.Nearly
	}
	for _, step := range []struct {
		after  time.Duration
		n      int
		taken  bool
		full   time.Duration
		nearly bool
	}{
		{n: 8, full: time.Hour}, // more than there ever is
		{n: 5, taken: true, full: 5 * time.Hour / 7},
		{n: 3, full: 5 * time.Hour / 7},
		{n: 1, taken: true, full: 6 * time.Hour / 7, nearly: true},
		{n: 1, taken: true, full: time.Hour},
		{n: 1, full: time.Hour},
		{after: time.Hour / 7, n: 1, taken: true, full: time.Hour},
		{after: 3 * time.Hour / 7, n: 2, taken: true, full: 6 * time.Hour / 7}, // reported already
		{after: 4 * time.Hour / 7, n: 1, taken: true, full: 3 * time.Hour / 7},
		{n: 3, taken: true, full: 6 * time.Hour / 7, nearly: true},
		{after: 24 * time.Hour, n: 7, taken: true, full: time.Hour, nearly: false}, // reported, and not taken from since
	} {
		at = at.Add(step.after)
		taken, full, nearly := take(step.n)
		require.Equal(t, step.taken, taken, step)
		require.Equal(t, step.full.Round(time.Second), full, step)
		require.Equal(t, step.nearly, nearly, step)
	}
	found, err := NearlyUsedQuotas(t.Context(), q.Q, "env_1/", at)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, returnToQuota(t.Context(), q.Q, "env_1/servers", 4, 7))
	found, err = NearlyUsedQuotas(t.Context(), q.Q, "env_1/", at)
	require.NoError(t, err)
	require.Empty(t, found, "most of it is free again")
	other, err := NearlyUsedQuotas(t.Context(), q.Q, "env_/", at)
	require.NoError(t, err)
	require.Empty(t, other)
}

// The database's clock was ahead while requests were counted and is right again: what was counted stays counted, and nothing else is refused.
func TestQuotasOutlastAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"minutes": 20 * time.Minute, "an hour": time.Hour, "hours": 3 * time.Hour, "days": 72 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := testenv.Store(t)
			at := time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC)
			take := func(at time.Time, n int) QuotaUse {
				use, err := takeFromQuota(t.Context(), q.Q, "env_1/servers", at, n, 10)
				require.NoError(t, err)
				return use
			}
			require.True(t, take(at, 2).Taken)
			require.True(t, take(at.Add(ahead), 6).Taken)
			counted := take(at, 3)
			require.True(t, counted.Taken)
			require.LessOrEqual(t, counted.FullAt.Sub(at), Window+time.Millisecond)
			found, err := NearlyUsedQuotas(t.Context(), q.Q, "env_1/", at)
			require.NoError(t, err)
			for _, f := range found {
				require.LessOrEqual(t, f.FullAt.Sub(at), Window+time.Millisecond)
			}
			require.False(t, take(at, 10).Taken)
			require.True(t, take(at.Add(time.Hour), 10).Taken)
		})
	}
}
