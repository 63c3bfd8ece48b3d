package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNextTryFollowsTheSchedule(t *testing.T) {
	t.Parallel()
	for i, want := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour} {
		at, final := nextTry(i+1, AttemptResult{}, noon, 0.5)
		require.False(t, final)
		require.WithinDuration(t, noon.Add(want), at, time.Millisecond, "after attempt %d", i+1)
	}
	_, final := nextTry(MaxAttempts, AttemptResult{}, noon, 0.5)
	require.True(t, final)
	require.Equal(t, MaxAttempts, len(delays)+1)

	for name, c := range map[string]struct {
		o     AttemptResult
		want  time.Duration
		final bool
	}{
		"longer retry-after":  {AttemptResult{RetryAfter: time.Hour}, time.Hour, false},
		"shorter retry-after": {AttemptResult{RetryAfter: time.Second}, 5 * time.Second, false},
		"absurd retry-after":  {AttemptResult{RetryAfter: 1000 * time.Hour}, 24 * time.Hour, false},
		"abort":               {AttemptResult{Abort: true}, 0, true},
	} {
		at, final := nextTry(1, c.o, noon, 0.5)
		require.Equal(t, c.final, final, name)
		if !final {
			require.WithinDuration(t, noon.Add(c.want), at, time.Millisecond, name)
		}
	}
}

func TestNextTryProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxAttempts-1).Draw(t, "attempts")
		j := rapid.Float64Range(0, 0.999999).Draw(t, "jitter")
		after := time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "retry after"))
		at, final := nextTry(n, AttemptResult{RetryAfter: after}, noon, j)
		require.False(t, final)
		d := at.Sub(noon)
		require.GreaterOrEqual(t, d, delays[n-1]*9/10-1)
		require.LessOrEqual(t, d, max(delays[n-1]*11/10+1, maxRetryAfter))
	})
}

// Whatever a receiver sends, the pause is one that the schedule takes, and a longer number is no shorter pause.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "90", "-1", "1e9", "4294967296", "99999999999999999999", "Wed, 21 Oct 2099 07:28:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "9, 9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := RetryAfter(value, noon)
		require.True(t, got >= 0 && got <= maxRetryAfter, "%q: %v", value, got)
		if value != "" && strings.Trim(value, "0123456789") == "" {
			require.GreaterOrEqual(t, RetryAfter(value+"0", noon), got, "%q", value)
		}
	})
}
