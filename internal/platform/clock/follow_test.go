package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
)

func TestFollowing(t *testing.T) {
	t.Parallel()
	truth := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		off   time.Duration
		after time.Duration // how far off the clock is once it has been measured
	}{
		"right":            {0, 0},
		"kept by NTP":      {80 * time.Millisecond, 80 * time.Millisecond},
		"five minutes on":  {5 * time.Minute, 0},
		"five minutes off": {-5 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := clock.NewFake(truth.Add(c.off))
			f := clock.Follow(own)
			require.Equal(t, own.Now(), f.Now(), "before a measurement it runs by its own")
			require.NoError(t, f.Measure(t.Context(), func(context.Context) (time.Time, error) { return truth, nil }))
			require.Equal(t, truth.Add(c.after), f.Now())
			own.Advance(time.Hour)
			require.Equal(t, truth.Add(c.after+time.Hour), f.Now())
		})
	}
}

// A failed or slow measurement changes nothing.
func TestFollowingIgnoresFailedAndSlowMeasurements(t *testing.T) {
	t.Parallel()
	truth := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	own := clock.NewFake(truth.Add(time.Minute))
	f := clock.Follow(own)
	require.NoError(t, f.Measure(t.Context(), func(context.Context) (time.Time, error) { return truth, nil }))
	away := errors.New("unavailable")
	require.ErrorIs(t, f.Measure(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, away }), away)
	require.NoError(t, f.Measure(t.Context(), func(context.Context) (time.Time, error) {
		own.Advance(3 * time.Second)
		return truth.Add(time.Hour), nil
	}))
	require.Equal(t, time.Minute, f.Ahead())
	require.Equal(t, truth.Add(3*time.Second), f.Now())
}

func TestFollowingAllowsForHalfTheRoundTrip(t *testing.T) {
	t.Parallel()
	truth := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	own := clock.NewFake(truth.Add(10 * time.Second))
	f := clock.Follow(own)
	require.NoError(t, f.Measure(t.Context(), func(context.Context) (time.Time, error) {
		own.Advance(200 * time.Millisecond)
		return truth.Add(100 * time.Millisecond), nil
	}))
	require.Equal(t, 10*time.Second, f.Ahead())
}
