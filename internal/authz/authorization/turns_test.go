package authorization

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTurnsExcludeEachOther(t *testing.T) {
	t.Parallel()
	var all turns
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for i := range 64 {
		keys := [][]string{{"a"}, {"a", "b"}, {"b"}}[i%3]
		wg.Go(func() {
			pass, err := all.take(t.Context(), keys, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			if len(keys) == 2 { // has both accounts: no one else is inside
				most.Store(max(most.Load(), inside.Add(2)))
				inside.Add(-2)
			} else {
				most.Store(max(most.Load(), inside.Add(1)))
				inside.Add(-1)
			}
			pass()
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int32(2))
	require.Empty(t, all.all, "turns that no one uses are dropped")
}

func TestTurnsEndTheirWait(t *testing.T) {
	t.Parallel()
	var all turns
	pass, err := all.take(t.Context(), []string{"a"}, time.Minute)
	require.NoError(t, err)

	_, err = all.take(t.Context(), []string{"0", "a"}, time.Nanosecond)
	require.ErrorIs(t, err, errTurn)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = all.take(ended, []string{"a"}, time.Minute)
	require.ErrorIs(t, err, context.Canceled)

	other, err := all.take(t.Context(), []string{"0"}, time.Minute)
	require.NoError(t, err, "what a wait that ended had taken is free")
	other()
	pass()
	require.Empty(t, all.all)
}
