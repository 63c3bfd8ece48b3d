package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheHeapGrowsBySoMuch(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for live, want := range map[uint64]int{
		0: 300, 1: 300, 30 * mb: 300, headroom / 3: 300, headroom / 2: 200, headroom: 100, 2 * headroom: 100, 1 << 40: 100,
	} {
		require.Equal(t, want, percentFor(live), "%d bytes live", live)
	}
}

// Held memory lowers the percentage with the collection that finds it, and letting it go raises it again.
func TestTheHeapIsLookedAtAfterEachCollection(t *testing.T) { //nolint:paralleltest // the collector is the whole process's
	before := debug.SetGCPercent(gcPercent)
	defer debug.SetGCPercent(before)
	percent := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	collected := func() bool { runtime.GC(); return true }
	afterCollection(gcPercent)
	held := make([]byte, 2*headroom)
	require.Eventually(t, func() bool { return collected() && percent() == uint64(leastGCPercent) }, time.Minute, 10*time.Millisecond)
	runtime.KeepAlive(held)
	require.Eventually(t, func() bool { return collected() && percent() > uint64(leastGCPercent) }, time.Minute, 10*time.Millisecond)
}
