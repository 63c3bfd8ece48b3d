// Package singleflight deduplicates concurrent fetches of the same key. When a cache entry expires under load, one request
// queries the database and the others share its result.
//
// It may not cache: a result is shared only with the callers that waited for it.
package singleflight

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
)

// within limits a fetch. A fetch does not inherit the deadline of the caller that happened to start it.
const within = 5 * time.Second

// Group deduplicates fetches of one kind. The zero value is ready to use; it is safe for concurrent use.
type Group[T any] struct{ group singleflight.Group }

// Do calls fetch, or waits for the call under way for the same key, and returns its result. If ctx ends, Do returns its error
// and the fetch goes on for the other callers.
func (g *Group[T]) Do(ctx context.Context, key string, fetch func(ctx context.Context) (T, error)) (T, error) {
	done := g.group.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		return fetch(ctx)
	})
	select {
	case r := <-done:
		got, _ := r.Val.(T) // the zero value if fetch returned an error
		return got, r.Err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Forget makes later callers fetch again, even if a fetch is under way: it may have read data that has changed since.
func (g *Group[T]) Forget(key string) { g.group.Forget(key) }
