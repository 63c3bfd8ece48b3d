package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// long is a patience that no test waits for.
const long = time.Minute

// enter takes n places at once that are free.
func enter(t *testing.T, g *Gate, tenant string, n int) {
	t.Helper()
	for range n {
		require.NoError(t, g.Enter(t.Context(), tenant, 0))
	}
}

// wait puts n requests into the queue and returns a channel that gets the tenant's name as each of them enters.
func wait(t *testing.T, g *Gate, tenant string, n int, entered chan<- string) {
	t.Helper()
	for range n {
		before := g.waits(tenant)
		go func() {
			if g.Enter(context.WithoutCancel(t.Context()), tenant, long) == nil {
				entered <- tenant
			}
		}()
		require.Eventually(t, func() bool { return g.waits(tenant) > before }, long, time.Millisecond)
	}
}

func (g *Gate) waits(tenant string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.tenants[tenant]; t != nil {
		return len(t.waiting)
	}
	return 0
}

func TestEnterLeavesPlacesToOtherTenants(t *testing.T) {
	t.Parallel()
	g := New(8, 4, 16)
	enter(t, g, "a", 4)
	require.ErrorIs(t, g.Enter(t.Context(), "a", 0), ErrFull, "a tenant has its share and no more, although places are free")
	enter(t, g, "b", 4)
	require.ErrorIs(t, g.Enter(t.Context(), "c", 0), ErrFull)
	g.Leave("a")
	enter(t, g, "c", 1)
}

func TestEnterServesTenantsInTurn(t *testing.T) {
	t.Parallel()
	g := New(2, 1, 100)
	enter(t, g, "a", 1)
	enter(t, g, "b", 1)
	entered := make(chan string, 10)
	wait(t, g, "a", 5, entered)
	wait(t, g, "c", 2, entered)
	g.Leave("b")
	require.Equal(t, "c", <-entered, "a has its share")
	g.Leave("a")
	require.Equal(t, "a", <-entered)
	g.Leave("c")
	require.Equal(t, "c", <-entered, "who flooded the queue first does not come first")
}

func TestEnterSharesTheQueue(t *testing.T) {
	t.Parallel()
	g := New(2, 1, 4)
	enter(t, g, "a", 1)
	entered := make(chan string, 10)
	wait(t, g, "a", 4, entered)
	require.ErrorIs(t, g.Enter(t.Context(), "a", long), ErrShare, "the queue is full")
	enter(t, g, "b", 1)
	wait(t, g, "b", 2, entered)
	require.ErrorIs(t, g.Enter(t.Context(), "b", long), ErrShare, "half of the queue is its share")
	wait(t, g, "c", 1, entered)
}

func TestEnterGivesUp(t *testing.T) {
	t.Parallel()
	g := New(1, 1, 4)
	enter(t, g, "a", 1)
	require.ErrorIs(t, g.Enter(t.Context(), "b", time.Millisecond), ErrFull)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.Enter(ctx, "b", long), ErrFull)
	g.Leave("a")
	require.Empty(t, g.tenants, "nothing is remembered of who is gone")
	require.Empty(t, g.turns)
}

func TestGateNeverHoldsMoreThanItMay(t *testing.T) {
	t.Parallel()
	const places, each = 6, 3
	g := New(places, each, 1000)
	var all atomic.Int32
	var running sync.WaitGroup
	for tenant := range 5 {
		name := fmt.Sprint(tenant)
		var own atomic.Int32
		for range 20 {
			running.Go(func() {
				for i := range 50 {
					patience := long
					if i%5 == 0 {
						patience = 0
					}
					if g.Enter(context.WithoutCancel(t.Context()), name, patience) != nil {
						continue
					}
					if all.Add(1) > places || own.Add(1) > each {
						t.Error("too many are inside")
					}
					own.Add(-1)
					all.Add(-1)
					g.Leave(name)
				}
			})
		}
	}
	running.Wait()
	require.Zero(t, g.inside)
	require.Empty(t, g.tenants)
	require.Empty(t, g.turns)
}
