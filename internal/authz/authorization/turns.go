package authorization

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// errTurn says that the decisions of this process under the same limit take too long.
var errTurn = errors.New("authorization: earlier decisions under the same limit are not written yet")

// turns lets the decisions of this process under one limit follow each other before they take a connection: one that waits for the lock of an
// account in the database holds one, and would keep it from decisions about other accounts. Between processes the database's lock decides.
type turns struct {
	mu  sync.Mutex
	all map[string]*turn
}

type turn struct {
	free  chan struct{} // holds one value while a decision has the turn
	users int           // decisions that have the turn or wait for it
}

// turnsOf returns the accounts whose turn a decision needs: its subject's, its resource's, or both, and that of its subject's standing approvals.
func turnsOf(environment string, w Wanted) []string {
	var out []string
	if w.Standing {
		out = append(out, environment+"\x00standing\x00"+w.Subject)
	}
	for _, l := range w.Locks {
		if !l.Resource {
			out = append(out, environment+"\x00subject\x00"+w.Subject)
			continue
		}
		for _, digest := range w.Resource {
			out = append(out, environment+"\x00resource\x00"+digest)
		}
	}
	slices.Sort(out) // every decision takes them in this order, so that no two wait for each other
	return slices.Compact(out)
}

// take waits for the turns of the keys, for at most limit, and returns the function that passes them on. It returns errTurn if the wait was
// too long.
func (t *turns) take(ctx context.Context, keys []string, limit time.Duration) (func(), error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var taken []string
	pass := func() {
		for _, key := range taken {
			<-t.of(key, 0).free
			t.of(key, -1)
		}
	}
	for _, key := range keys {
		mine := t.of(key, 1)
		var err error
		select {
		case mine.free <- struct{}{}:
			taken = append(taken, key)
			continue
		case <-timer.C:
			err = errTurn
		case <-ctx.Done():
			err = ctx.Err()
		}
		t.of(key, -1)
		pass()
		return nil, err
	}
	return pass, nil
}

// of returns the turn of a key, and adds to the number of its users. A turn that no one uses is dropped.
func (t *turns) of(key string, users int) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]*turn{}
	}
	one := t.all[key]
	if one == nil {
		one = &turn{free: make(chan struct{}, 1)}
		t.all[key] = one
	}
	if one.users += users; one.users == 0 {
		delete(t.all, key)
	}
	return one
}
