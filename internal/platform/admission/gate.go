// Package admission limits the requests served at once and shares the capacity fairly among tenants. However many requests one
// tenant sends, requests of the others are admitted.
//
// It may not know HTTP or credentials: a tenant is any string. Its memory is bounded by the requests admitted or waiting.
package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Errors of Enter.
var (
	// ErrShare refuses a request at once: the tenant has used up its share of the queue.
	ErrShare = errors.New("admission: the tenant's share of the queue is used up")
	// ErrFull refuses a request that waited for as long as it may.
	ErrFull = errors.New("admission: no place became free in time")
)

// Gate is a semaphore with a queue per tenant. Places that become free go to the waiting tenants in turn, one each, so a long
// queue of one tenant delays no other. It is safe for concurrent use.
type Gate struct {
	places int // at once, of all tenants
	each   int // at once, of one tenant
	// That may wait; shared equally by the tenants that have requests here.
	queue int

	mu     sync.Mutex
	inside int
	// Those with a request inside or waiting.
	tenants map[string]*tenant
	// Those with a request waiting; the first is served next.
	turns []*tenant
}

// tenant is a tenant with a request inside or waiting.
type tenant struct {
	name   string
	inside int
	// Closed when the place is given.
	waiting []chan struct{}
}

// New returns a gate that admits places requests at once, at most each of one tenant. Up to queue requests may wait; every
// tenant may have at least one waiting, so the queue can exceed its limit by the number of tenants.
func New(places, each, queue int) *Gate {
	return &Gate{places: places, each: each, queue: queue, tenants: map[string]*tenant{}}
}

// Enter takes a place for the tenant. It waits up to patience and no longer than ctx, and returns ErrShare or ErrFull if it gets
// no place. After nil the caller must call Leave.
func (g *Gate) Enter(ctx context.Context, name string, patience time.Duration) error {
	turn, err := g.ask(name)
	if turn == nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-turn:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if g.giveUp(name, turn) {
		return ErrFull
	}
	return nil // the place was given at the last moment
}

// ask takes a place, or a position in the queue: then it returns a channel that is closed when the place is given. It returns
// nil and no error if the place was taken at once.
func (g *Gate) ask(name string) (chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenants[name]
	if t == nil {
		t = &tenant{name: name}
		g.tenants[name] = t
	}
	if g.inside < g.places && t.inside < g.each {
		g.inside++
		t.inside++
		return nil, nil
	}
	if len(t.waiting) >= max(g.queue/len(g.tenants), 1) {
		return nil, ErrShare // t has a request inside or waiting, so it stays in the map
	}
	turn := make(chan struct{})
	if t.waiting = append(t.waiting, turn); len(t.waiting) == 1 {
		g.turns = append(g.turns, t)
	}
	return turn, nil
}

// giveUp leaves the queue. It reports false if the place was given in the meantime; the caller then owns it.
func (g *Gate) giveUp(name string, turn chan struct{}) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenants[name]
	if t == nil {
		return false
	}
	i := slices.Index(t.waiting, turn)
	if i < 0 {
		return false
	}
	if t.waiting = slices.Delete(t.waiting, i, i+1); len(t.waiting) == 0 {
		g.turns = slices.DeleteFunc(g.turns, func(other *tenant) bool { return other == t })
	}
	g.forget(t)
	return true
}

// Leave gives the place back, to the tenant whose turn it is.
func (g *Gate) Leave(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenants[name]
	g.inside--
	t.inside--
	for g.inside < g.places && g.admit() {
	}
	g.forget(t)
}

// admit gives a place to the next waiting tenant that is below its limit, and moves that tenant to the end of the turns. It
// reports false if no tenant can be admitted. The caller holds the lock.
func (g *Gate) admit() bool {
	i := slices.IndexFunc(g.turns, func(t *tenant) bool { return t.inside < g.each })
	if i < 0 {
		return false
	}
	t := g.turns[i]
	g.turns = slices.Delete(g.turns, i, i+1)
	close(t.waiting[0])
	t.waiting = slices.Delete(t.waiting, 0, 1)
	if len(t.waiting) > 0 {
		g.turns = append(g.turns, t)
	}
	g.inside++
	t.inside++
	return true
}

// forget removes a tenant without requests. The caller holds the lock.
func (g *Gate) forget(t *tenant) {
	if t.inside == 0 && len(t.waiting) == 0 {
		delete(g.tenants, t.name)
	}
}
