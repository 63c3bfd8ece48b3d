package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBreakerOpensProbesAndCloses(t *testing.T) {
	t.Parallel()
	var b Breaker
	var change Change
	for i := range Threshold - 1 {
		b, change = b.Observe(AttemptResult{}, noon, 0.5)
		require.Equal(t, Unchanged, change, i)
		require.Equal(t, 8, b.Slots(8, 0, noon))
	}
	b, change = b.Observe(AttemptResult{}, noon, 0.5)
	require.Equal(t, Opened, change)
	require.True(t, b.Open)
	require.Equal(t, noon.Add(10*time.Second), b.ProbeAt)
	require.Zero(t, b.Slots(8, 0, noon.Add(9*time.Second)))
	require.Equal(t, 1, b.Slots(8, 0, b.ProbeAt), "one probe")
	require.Zero(t, b.Slots(8, 1, b.ProbeAt), "and only one at a time")

	late, change := b.Observe(AttemptResult{}, noon.Add(time.Second), 0.5)
	require.Equal(t, Unchanged, change)
	require.Equal(t, b.ProbeAt, late.ProbeAt, "deliveries under way when it opened do not delay the probe")

	at := b.ProbeAt
	for _, want := range []time.Duration{20, 40, 80, 160, 300, 300} {
		b, change = b.Observe(AttemptResult{}, at, 0.5)
		require.Equal(t, Unchanged, change)
		require.Equal(t, at.Add(want*time.Second), b.ProbeAt)
		at = b.ProbeAt
	}
	b, change = b.Observe(AttemptResult{Succeeded: true}, at, 0.5)
	require.Equal(t, Closed, change)
	require.Equal(t, 1, b.Slots(8, 0, at), "what has gathered is not sent at once")
	again, change := b.Observe(AttemptResult{}, at, 0.5)
	require.Equal(t, Opened, change, "a failure after a recovery opens it again")
	require.Equal(t, at.Add(maxBackoff), again.ProbeAt)
	for slots := range 7 {
		for range paceStep {
			require.Equal(t, slots+1, b.Slots(8, 0, at))
			b, change = b.Observe(AttemptResult{Succeeded: true}, at, 0.5)
			require.Equal(t, Unchanged, change)
		}
	}
	require.Equal(t, Breaker{}, b)

	b.Open, b.ProbeAt = true, noon.Add(48*time.Hour)
	require.Equal(t, 1, b.Slots(8, 0, noon), "a clock that was two days ahead set the time of the probe")
	b, _ = Breaker{Failures: Threshold - 1}.Observe(AttemptResult{}, noon.Add(3*time.Hour), 0.5)
	require.Equal(t, 1, b.Slots(8, 0, noon), "a clock that was three hours ahead set the time of the probe")

	b, _ = Breaker{Failures: Threshold - 1}.Observe(AttemptResult{Succeeded: true}, noon, 0.5)
	require.Zero(t, b.Failures, "only consecutive failures count")

	b, _ = Breaker{Failures: Threshold - 1}.Observe(AttemptResult{RetryAfter: time.Hour}, noon, 0.5)
	require.Equal(t, noon.Add(time.Hour), b.ProbeAt, "Retry-After delays the probe")
}

func TestBreakerSlotsNeverExceedTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, now, underWay := Breaker{}, noon, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			n := b.Slots(8, underWay, now)
			require.GreaterOrEqual(t, n, 0)
			require.LessOrEqual(t, n+underWay, 8)
			if b.Open {
				require.LessOrEqual(t, n, 1)
			}
			underWay += n
			if underWay > 0 {
				underWay--
				wasOpen := b.Open
				ok := rapid.Bool().Draw(t, "ok")
				var change Change
				b, change = b.Observe(AttemptResult{Succeeded: ok}, now, rapid.Float64Range(0, 0.99).Draw(t, "jitter"))
				require.Equal(t, !wasOpen && b.Open, change == Opened)
				require.Equal(t, wasOpen && !b.Open, change == Closed)
				require.False(t, ok && b.Open)
			}
			if b.Open {
				require.LessOrEqual(t, b.ProbeAt.Sub(now), maxBackoff*11/10)
			}
		}
	})
}
