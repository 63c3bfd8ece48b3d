// Package cache stores values that were read from the database or another service, until they expire or are invalidated. When a
// value expires under load, one request reads it again and the others share its result.
//
// It may not keep or share a value that may have been read before an invalidation: each cache counts its invalidations, and a read
// under way during one returns its value only to the callers that already waited for it.
package cache

import (
	"context"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// within limits a shared read. It does not inherit the deadline of the caller that happened to start it.
const within = 5 * time.Second

// Cache stores values of one kind by key. The zero value is ready to use and has no bound. It is safe for concurrent use.
type Cache[T any] struct {
	// Max bounds the total weight of the values; 0 is no bound. A full cache is cleared: values in use are read again, once. A
	// value above Max is stored alone.
	Max int
	// Weigh returns the weight of a value, in the unit of Max. It must always return the same for a value. If it is nil, each
	// value weighs 1.
	Weigh func(T) int

	mu      sync.RWMutex
	entries map[string]entry[T]
	weight  int // total of entries
	changes int // number of invalidations; a value read before the latest one is neither stored nor shared
	reads   singleflight.Group
}

// entry is a value with the time until which it may be used.
type entry[T any] struct {
	value T
	until time.Time
}

// Get returns the value of a key and the time until which it may be used, which may be past. If there is no value, the time is
// zero.
func (c *Cache[T]) Get(key string) (value T, until time.Time) {
	c.mu.RLock()
	e := c.entries[key]
	c.mu.RUnlock()
	return e.value, e.until
}

// Fetch is Refresh, once for all callers that wait for the same key: they share the value or the error of read, which may take 5
// seconds. If ctx ends, Fetch returns its error and the read goes on for the other callers.
func (c *Cache[T]) Fetch(ctx context.Context, key string, until time.Time, read func(ctx context.Context) (T, error)) (T, error) {
	done := c.reads.DoChan(key+" "+strconv.Itoa(c.changesSoFar()), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		return c.Refresh(key, until, func() (T, error) { return read(ctx) })
	})
	select {
	case r := <-done:
		got, _ := r.Val.(T) // the zero value if T is an interface and the value nil
		return got, r.Err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Refresh reads a value even if the stored one has not expired, and stores it until the given time. It returns the error of read,
// which is not stored. Unlike Fetch it shares nothing, so that read may use a transaction of the caller.
func (c *Cache[T]) Refresh(key string, until time.Time, read func() (T, error)) (T, error) {
	changes := c.changesSoFar()
	value, err := read()
	if err == nil {
		c.store(key, entry[T]{value, until}, changes)
	}
	return value, err
}

// Forget drops the value of a key, or all values if the key is empty.
func (c *Cache[T]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	if key == "" {
		c.clear()
		return
	}
	c.drop(key)
}

// ForgetIf drops the values for which matches returns true. It must not use the cache.
func (c *Cache[T]) ForgetIf(matches func(T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for key, e := range c.entries {
		if matches(e.value) {
			c.drop(key)
		}
	}
}

// changesSoFar returns the number of invalidations.
func (c *Cache[T]) changesSoFar() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.changes
}

// store stores a value that was read after this number of invalidations, unless there has been a further one.
func (c *Cache[T]) store(key string, e entry[T], changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	c.drop(key)
	weight := c.weigh(e.value)
	if c.Max > 0 && c.weight+weight > c.Max {
		c.clear()
	}
	if c.entries == nil {
		c.entries = map[string]entry[T]{}
	}
	c.entries[key] = e
	c.weight += weight
}

// drop removes a value. The caller must have the lock.
func (c *Cache[T]) drop(key string) {
	if e, ok := c.entries[key]; ok {
		c.weight -= c.weigh(e.value)
		delete(c.entries, key)
	}
}

// clear removes all values. The caller must have the lock.
func (c *Cache[T]) clear() {
	clear(c.entries)
	c.weight = 0
}

func (c *Cache[T]) weigh(value T) int {
	if c.Weigh == nil {
		return 1
	}
	return c.Weigh(value)
}
