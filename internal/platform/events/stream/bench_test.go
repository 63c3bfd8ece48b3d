package stream_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// BenchmarkStreams measures the time from an event's transaction to each of 1,000 streams, at 20 events a second. One
// iteration is one event; every stream gets all of them.
func BenchmarkStreams(b *testing.B) {
	const streams = 1000
	s := setup(b, stream.Options{Every: 100 * time.Millisecond, MaxEach: streams})
	subs := make([]*stream.Subscription, streams)
	for i := range subs {
		subs[i] = s.subscribe(mine, stream.Filter{}, "")
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	var mu sync.Mutex
	due := map[string]time.Time{}
	var took []time.Duration
	var all sync.WaitGroup
	for _, sub := range subs {
		all.Go(func() {
			mine := make([]time.Duration, 0, b.N)
			for range b.N {
				m, ok, err := sub.Next(b.Context(), time.Minute)
				if err != nil || !ok {
					b.Error(ok, err)
					return
				}
				mu.Lock()
				at := due[m.ID]
				mu.Unlock()
				mine = append(mine, time.Since(at))
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	b.ResetTimer()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := range b.N {
		<-tick.C
		e := entry(mine, fmt.Sprint(i))
		e.At = clock.System().Now()
		row, err := events.Row(e)
		require.NoError(b, err)
		mu.Lock()
		due[row.ID] = time.Now()
		mu.Unlock()
		require.NoError(b, s.st.Write(b.Context(), func(q *pg.Q) error { return events.InsertEvent(b.Context(), q, row, false) }))
		s.st.Wake(pg.ChannelEvents, "")
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(memory.HeapAlloc)/1e6, "heap-MB")
}
