// Package flight lets one of those who want the same thing at once fetch it, and gives the rest its answer: when what is
// cached runs out under load, one asks the database and not everybody. It keeps no answer longer than that.
package singleflight

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
)

// within bounds a fetch: it belongs to no caller in particular, so that no caller's deadline ends it.
const within = 5 * time.Second

// Group shares fetches of one kind. The zero value is ready.
type Group[T any] struct{ group singleflight.Group }

// Do answers what fetch answers to whoever came first under this key. It ends with ctx, and the fetch does not.
func (g *Group[T]) Do(ctx context.Context, key string, fetch func(ctx context.Context) (T, error)) (T, error) {
	done := g.group.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		return fetch(ctx)
	})
	select {
	case r := <-done:
		got, _ := r.Val.(T) // nil where T is an interface or a pointer and there was an error
		return got, r.Err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Forget has those who come from now on fetch anew: what is under way may have read what has changed since.
func (g *Group[T]) Forget(key string) { g.group.Forget(key) }
