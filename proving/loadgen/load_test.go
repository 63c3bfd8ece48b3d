package loadgen_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/loadgen"
)

func TestOpen_KeepsItsRateAndChargesAStallToAllWhoWereDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := loadgen.Open(t.Context(), 100, 1, time.Second, func(_ context.Context, i int) error {
			if i == 0 {
				<-time.After(500 * time.Millisecond) // the only client is held up
			}
			return nil
		})
		require.Equal(t, 100, r.Done())
		require.Equal(t, 500*time.Millisecond, r.Quantile(1))
		// What was due during the stall waited for it: 10 ms less for each that came 10 ms later.
		require.Equal(t, 250*time.Millisecond, r.Quantile(.75))
		require.Zero(t, r.Quantile(.5))
		require.InDelta(t, 101, r.PerSecond(), .1) // the last of them is due 990 ms after the first
	})
}

func TestOpenEachSaysWhenWorkWasDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen [][2]time.Duration
		loadgen.OpenEach(t.Context(), loadgen.Schedule{Rate: 10, Clients: 1, Lasts: 300 * time.Millisecond}, func(_ context.Context, i int) error {
			if i == 1 {
				return errors.New("fails")
			}
			<-time.After(150 * time.Millisecond)
			return nil
		}, func(due, took time.Duration) { seen = append(seen, [2]time.Duration{due, took}) })
		require.Equal(t, [][2]time.Duration{{0, 150 * time.Millisecond}, {200 * time.Millisecond, 150 * time.Millisecond}}, seen, "a failure has no latency")
	})
}

func TestClosed_EachClientWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := loadgen.Closed(t.Context(), 4, time.Second, func(context.Context, int) error {
			<-time.After(10 * time.Millisecond)
			return nil
		})
		require.Equal(t, 400, r.Done())
		require.Equal(t, 10*time.Millisecond, r.Quantile(.99))
		require.InDelta(t, 400, r.PerSecond(), .1)
	})
}

func TestResult_FailuresAreCountedByTheirWordsAndHaveNoLatency(t *testing.T) {
	t.Parallel()
	r := loadgen.Open(t.Context(), 1000, 2, 10*time.Millisecond, func(_ context.Context, i int) error {
		if i%2 == 0 {
			return errors.New("refused")
		}
		return nil
	})
	require.Equal(t, 5, r.Done())
	require.Equal(t, 5, r.Failed)
	require.Equal(t, map[string]int{"refused": 5}, r.Why)
}

func TestResult_Quantile(t *testing.T) {
	t.Parallel()
	var r loadgen.Result
	require.Zero(t, r.Quantile(.99))
	for i := range 100 {
		r.Join(loadgen.Result{Latencies: []time.Duration{time.Duration(100-i) * time.Millisecond}, Elapsed: time.Millisecond})
	}
	for q, want := range map[float64]time.Duration{0: 1, .5: 50, .95: 95, .99: 99, 1: 100} {
		require.Equal(t, want*time.Millisecond, r.Quantile(q), "quantile %v", q)
	}
	require.Equal(t, 100*time.Millisecond, r.Elapsed)
}
