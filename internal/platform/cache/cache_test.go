package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/cache"
)

var until = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// put stores a value.
func put[T any](t *testing.T, c *cache.Cache[T], key string, value T) {
	t.Helper()
	got, err := c.Refresh(key, until, func() (T, error) { return value, nil })
	require.NoError(t, err)
	require.Equal(t, value, got)
}

// has reports whether the cache has a value of a key.
func has[T any](c *cache.Cache[T], key string) bool {
	_, until := c.Get(key)
	return !until.IsZero()
}

func TestAValueIsKeptUntilItsTime(t *testing.T) {
	t.Parallel()
	var c cache.Cache[string]
	got, ends := c.Get("key")
	require.Zero(t, got)
	require.Zero(t, ends)
	put(t, &c, "key", "first")
	got, ends = c.Get("key")
	require.Equal(t, "first", got)
	require.Equal(t, until, ends)
	got, err := c.Fetch(t.Context(), "key", until.Add(time.Second), func(context.Context) (string, error) { return "second", nil })
	require.NoError(t, err)
	require.Equal(t, "second", got, "it is read again even if it has not expired")
	got, ends = c.Get("key")
	require.Equal(t, "second", got)
	require.Equal(t, until.Add(time.Second), ends)
}

func TestConcurrentCallersFetchOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c cache.Cache[int]
		var fetched atomic.Int32
		fetch := func(context.Context) (int, error) {
			<-time.After(time.Second)
			return int(fetched.Add(1)), nil
		}
		for range 10 {
			go func() {
				got, err := c.Fetch(t.Context(), "key", until, fetch)
				require.NoError(t, err)
				require.Equal(t, 1, got)
			}()
		}
		synctest.Wait()
		other, err := c.Fetch(t.Context(), "other", until, func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, other)
		<-time.After(2 * time.Second)
		again, err := c.Fetch(t.Context(), "key", until, fetch)
		require.NoError(t, err)
		require.Equal(t, 2, again, "only concurrent callers share a result")
	})
}

func TestACallerThatLeavesDoesNotEndTheFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c cache.Cache[string]
		fetch := func(ctx context.Context) (string, error) {
			<-time.After(time.Second)
			return "fetched", ctx.Err()
		}
		first, leave := context.WithCancel(t.Context())
		go func() {
			_, err := c.Fetch(first, "key", until, fetch)
			require.ErrorIs(t, err, context.Canceled)
		}()
		synctest.Wait()
		leave()
		got, err := c.Fetch(t.Context(), "key", until, fetch)
		require.NoError(t, err)
		require.Equal(t, "fetched", got)
	})
}

func TestAFetchIsLimitedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c cache.Cache[string]
		began := time.Now()
		_, err := c.Fetch(t.Context(), "key", until, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestAFailureIsSharedAndNotKept(t *testing.T) {
	t.Parallel()
	var c cache.Cache[*int]
	failure := errors.New("unavailable")
	got, err := c.Fetch(t.Context(), "key", until, func(context.Context) (*int, error) { return nil, failure })
	require.ErrorIs(t, err, failure)
	require.Nil(t, got)
	require.False(t, has(&c, "key"))
	n := 1
	got, err = c.Fetch(t.Context(), "key", until, func(context.Context) (*int, error) { return &n, nil })
	require.NoError(t, err)
	require.Equal(t, &n, got)
}

// A read that fails does not take the stored value from other callers.
func TestAFailureDoesNotReplaceTheStoredValue(t *testing.T) {
	t.Parallel()
	var c cache.Cache[int]
	put(t, &c, "key", 1)
	_, err := c.Refresh("key", until, func() (int, error) { return 2, errors.New("unavailable") })
	require.Error(t, err)
	got, _ := c.Get("key")
	require.Equal(t, 1, got)
}

// changes are the ways to invalidate values.
var changes = map[string]func(c *cache.Cache[string]){
	"this key":           func(c *cache.Cache[string]) { c.Forget("key") },
	"a different key":    func(c *cache.Cache[string]) { c.Forget("other") },
	"every key":          func(c *cache.Cache[string]) { c.Forget("") },
	"some of the values": func(c *cache.Cache[string]) { c.ForgetIf(func(string) bool { return false }) },
}

func TestAValueReadBeforeAChangeIsNotKept(t *testing.T) {
	t.Parallel()
	for name, change := range changes {
		var c cache.Cache[string]
		got, err := c.Refresh("key", until, func() (string, error) {
			change(&c)
			return "before", nil
		})
		require.NoError(t, err, name)
		require.Equal(t, "before", got, name)
		require.False(t, has(&c, "key"), name)
		put(t, &c, "key", "after")
		require.True(t, has(&c, "key"), name)
	}
}

func TestAFetchBeforeAChangeIsNotSharedAfterIt(t *testing.T) {
	t.Parallel()
	for name, change := range changes {
		synctest.Test(t, func(t *testing.T) {
			var c cache.Cache[string]
			go func() {
				got, err := c.Fetch(t.Context(), "key", until, func(context.Context) (string, error) {
					<-time.After(time.Second)
					return "before", nil
				})
				require.NoError(t, err, name)
				require.Equal(t, "before", got, name)
			}()
			synctest.Wait()
			change(&c)
			got, err := c.Fetch(t.Context(), "key", until, func(context.Context) (string, error) { return "after", nil })
			require.NoError(t, err, name)
			require.Equal(t, "after", got, name)
			<-time.After(2 * time.Second)
			got, _ = c.Get("key")
			require.Equal(t, "after", got, name)
		})
	}
}

func TestForgetDropsWhatItNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		forget func(c *cache.Cache[int])
		a, b   bool
	}{
		"a key":             {func(c *cache.Cache[int]) { c.Forget("a") }, false, true},
		"an unknown key":    {func(c *cache.Cache[int]) { c.Forget("c") }, true, true},
		"all":               {func(c *cache.Cache[int]) { c.Forget("") }, false, false},
		"values that match": {func(c *cache.Cache[int]) { c.ForgetIf(func(n int) bool { return n == 2 }) }, true, false},
	} {
		var c cache.Cache[int]
		put(t, &c, "a", 1)
		put(t, &c, "b", 2)
		tc.forget(&c)
		require.Equal(t, tc.a, has(&c, "a"), name)
		require.Equal(t, tc.b, has(&c, "b"), name)
	}
}

func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	weigh := func(n int) int { return n }
	for name, tc := range map[string]struct {
		cache        *cache.Cache[int]
		value, holds int
	}{
		"by the number of values": {&cache.Cache[int]{Max: 10}, 100, 10},
		"by their weight":         {&cache.Cache[int]{Max: 10, Weigh: weigh}, 3, 3},
		"by less than one value":  {&cache.Cache[int]{Max: 10, Weigh: weigh}, 11, 1},
	} {
		most := 0
		for i := range 100 {
			put(t, tc.cache, fmt.Sprint(i), tc.value)
			held := 0
			for j := range i + 1 {
				if has(tc.cache, fmt.Sprint(j)) {
					held++
				}
			}
			most = max(most, held)
		}
		require.Equal(t, tc.holds, most, name)
	}
	var unbounded cache.Cache[int]
	for i := range 1000 {
		put(t, &unbounded, fmt.Sprint(i), i)
	}
	require.True(t, has(&unbounded, "0"))
}

func TestAValueThatIsReplacedOrDroppedWeighsOnce(t *testing.T) {
	t.Parallel()
	c := cache.Cache[int]{Max: 10, Weigh: func(n int) int { return n }}
	put(t, &c, "a", 5)
	for range 10 {
		put(t, &c, "b", 5)
	}
	for range 10 {
		c.Forget("b")
		put(t, &c, "b", 5)
	}
	for range 10 {
		c.ForgetIf(func(n int) bool { return n == 4 })
		put(t, &c, "b", 4)
	}
	require.True(t, has(&c, "a"), "the cache was not full")
	c.Forget("")
	put(t, &c, "a", 5)
	put(t, &c, "b", 5)
	require.True(t, has(&c, "a"), "the weight is zero after all were dropped")
}

func TestAHitDoesNotAllocate(t *testing.T) {
	var c cache.Cache[[64]int]
	put(t, &c, "key", [64]int{1})
	key := []byte("key")
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.Get(string(key)) }))
}
