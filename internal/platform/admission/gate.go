// Package gate bounds how many requests are under way at once, and gives each tenant a share: however many requests one tenant
// makes, a request of another finds a place. It knows no HTTP and no credentials: a tenant is any string. What it remembers is
// bounded by the requests that are under way or wait.
package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrShare is returned to a tenant that has its share of what may wait, and ErrFull if no place became free in time.
var (
	ErrShare = errors.New("gate: the tenant's share of the queue is used up")
	ErrFull  = errors.New("gate: no place became free in time")
)

// Gate lets so many in at once.
type Gate struct {
	places int // at once, of all tenants
	each   int // at once, of one tenant
	queue  int // that may wait; shared equally by the tenants that have requests here

	mu      sync.Mutex
	inside  int
	tenants map[string]*tenant // those with a request inside or waiting
	turns   []*tenant          // those with a request waiting; the first is served next
}

type tenant struct {
	name    string
	inside  int
	waiting []chan struct{} // closed when the place is given
}

// New makes a gate with so many places, of which one tenant has each at most; queue more may wait.
func New(places, each, queue int) *Gate {
	return &Gate{places: places, each: each, queue: queue, tenants: map[string]*tenant{}}
}

// Enter takes a place for the tenant, waiting up to patience and no longer than ctx. After nil the caller has to Leave.
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
	return nil // the place was given meanwhile
}

// ask takes a place or one in the queue. Without an error and without a channel the place is taken.
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
		return nil, ErrShare // t has somebody inside or waiting: it is not forgotten
	}
	turn := make(chan struct{})
	if t.waiting = append(t.waiting, turn); len(t.waiting) == 1 {
		g.turns = append(g.turns, t)
	}
	return turn, nil
}

// giveUp leaves the queue. It reports false if the place has been given.
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

// admit gives a place to the next tenant that has not all it may have, and puts it behind the others.
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

func (g *Gate) forget(t *tenant) {
	if t.inside == 0 && len(t.waiting) == 0 {
		delete(g.tenants, t.name)
	}
}
