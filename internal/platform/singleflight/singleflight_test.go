package singleflight_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/singleflight"
)

func TestThoseWhoComeTogetherFetchOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g singleflight.Group[int]
		var fetched atomic.Int32
		fetch := func(context.Context) (int, error) {
			<-time.After(time.Second)
			return int(fetched.Add(1)), nil
		}
		for range 10 {
			go func() {
				got, err := g.Do(t.Context(), "key", fetch)
				require.NoError(t, err)
				require.Equal(t, 1, got)
			}()
		}
		synctest.Wait()
		other, err := g.Do(t.Context(), "another", func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, other)
		<-time.After(2 * time.Second)
		again, err := g.Do(t.Context(), "key", fetch)
		require.NoError(t, err)
		require.Equal(t, 2, again, "nothing is kept")
	})
}

func TestACallerWhoLeavesEndsNobodysFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g singleflight.Group[string]
		fetch := func(ctx context.Context) (string, error) {
			<-time.After(time.Second)
			return "fetched", ctx.Err()
		}
		first, leave := context.WithCancel(t.Context())
		go func() {
			_, err := g.Do(first, "key", fetch)
			require.ErrorIs(t, err, context.Canceled)
		}()
		synctest.Wait()
		leave()
		got, err := g.Do(t.Context(), "key", fetch)
		require.NoError(t, err)
		require.Equal(t, "fetched", got)
	})
}

func TestAFailureIsEverybodysAndIsNotKept(t *testing.T) {
	t.Parallel()
	var g singleflight.Group[*int]
	failure := errors.New("unavailable")
	got, err := g.Do(t.Context(), "key", func(context.Context) (*int, error) { return nil, failure })
	require.ErrorIs(t, err, failure)
	require.Nil(t, got)
	n := 1
	got, err = g.Do(t.Context(), "key", func(context.Context) (*int, error) { return &n, nil })
	require.NoError(t, err)
	require.Equal(t, &n, got)
}
