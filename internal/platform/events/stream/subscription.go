package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Filter narrows a stream. Empty fields filter nothing.
type Filter struct {
	Type    string // a type or a family such as hold.*
	Subject string
	Action  string
}

// ResyncType is the type of the message that says: what you missed cannot be sent, read the list instead.
const ResyncType = "resync"

// resyncMessage has no id: a client keeps the one it had, and asks the list.
var resyncMessage = Message{Type: ResyncType, Data: []byte(`{"reason":"the event to resume from is unknown here or too old; read GET /api/v1/activity"}`)}

// Subscription is one connected stream. Only one goroutine may call Next.
type Subscription struct {
	hub        *Hub
	scope      store.Scope
	credential string
	holder     Holder // set by Hold, under the hub's lock
	filter     Filter
	live       chan Message
	lagged     atomic.Bool
	done       chan struct{}

	cursor   store.Position // behind the last event handed out or passed over
	ready    []Message      // read from the database, not yet handed out
	catching bool           // the database has more than was read
}

// Holder is by whose right a stream is followed.
type Holder struct {
	// Key is the same for streams that one check answers for.
	Key string
	// Check reports whether the right still holds. If it is nil, the stream ends when the question arises.
	Check func(ctx context.Context) (bool, error)
}

// Hold says by whose right the stream is followed, and asks at once: what was taken back before the stream began was told to
// nobody who would have ended it. It reports false, and the stream has ended, if the right no longer holds.
func (s *Subscription) Hold(ctx context.Context, by Holder) bool {
	s.hub.mu.Lock()
	s.holder = by
	s.hub.mu.Unlock()
	s.hub.recheck(ctx, func(other *Subscription) bool { return other == s })
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Subscribe starts a stream behind the event lastID, or from now where lastID is empty. An id that is unknown in the
// environment, another tenant's, or too old starts from now with a resync message in front.
func (h *Hub) Subscribe(ctx context.Context, s store.Scope, credential string, f Filter, lastID string) (*Subscription, error) {
	now, err := h.store.Events().Horizon(ctx)
	if err != nil {
		return nil, err
	}
	sub := &Subscription{hub: h, scope: s, credential: credential, filter: f, live: make(chan Message, h.options.Buffer),
		done: make(chan struct{}), cursor: now, catching: true}
	if lastID != "" && !ids.Has(ids.Event, lastID) {
		sub.ready = []Message{resyncMessage}
	} else if lastID != "" {
		switch from, err := h.store.Events().Get(ctx, s, lastID); {
		case errors.Is(err, store.ErrNotFound), err == nil && from.At.Before(h.clock.Now().Add(-h.options.Window)):
			sub.ready = []Message{resyncMessage}
		case err != nil:
			return nil, err
		default:
			sub.cursor = store.PositionOf(from)
		}
	}
	return sub, h.add(sub, now)
}

// add registers the subscription. A hub that followed nobody starts at now, which was taken before this subscription reads
// anything: what becomes readable later is handed out live, what is readable already is read from the database.
func (h *Hub) add(sub *Subscription, now store.Position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return ErrEnded
	case len(h.subs) >= h.options.Max:
		return ErrFull
	case h.share[sub.scope.Environment] >= h.options.MaxEach:
		return ErrShare
	}
	if !h.active {
		h.active, h.position = true, now
	}
	h.subs[sub] = struct{}{}
	h.share[sub.scope.Environment]++
	return nil
}

// Close ends the stream.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s)
}

// Next waits at most d for the next message. It answers false where nothing came (time for a heartbeat) and ErrEnded
// once the stream is over.
func (s *Subscription) Next(ctx context.Context, d time.Duration) (Message, bool, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-s.done: // before what is ready: a stream whose right has ended shows no more
			return Message{}, false, ErrEnded
		default:
		}
		if len(s.ready) > 0 {
			m := s.ready[0]
			s.ready = s.ready[1:]
			return m, true, nil
		}
		if s.catching {
			if err := s.read(ctx); err != nil {
				return Message{}, false, err
			}
			continue
		}
		if len(s.live) == 0 && s.lagged.CompareAndSwap(true, false) {
			s.catching = true
			continue
		}
		select {
		case m := <-s.live:
			if s.cursor.Before(m.at) {
				s.cursor = m.at
				return m, true, nil
			}
		case <-s.done:
			return Message{}, false, ErrEnded
		case <-timer.C:
			return Message{}, false, nil
		}
	}
}

// readBatch bounds what one stream takes from the database at once.
const readBatch = 200

// read takes the next batch behind the cursor from the database.
func (s *Subscription) read(ctx context.Context) error {
	select {
	case <-s.done:
		return ErrEnded
	default:
	}
	rows, err := s.hub.store.Events().After(ctx, []string{s.scope.Environment}, s.cursor, readBatch)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s.cursor = store.PositionOf(row)
		if !events.Type(row.Type).Public() || !s.wants(row) {
			continue
		}
		m, err := render(row)
		if err != nil {
			return err
		}
		s.ready = append(s.ready, m)
	}
	s.catching = len(rows) == readBatch
	return nil
}

// wants reports whether the row is one that this stream shows. The environment is checked here and in every query.
func (s *Subscription) wants(row models.Event) bool {
	return row.EnvironmentID == s.scope.Environment && row.TenantID == s.scope.Tenant &&
		(s.filter.Type == "" || events.Matches([]string{s.filter.Type}, events.Type(row.Type))) &&
		(s.filter.Subject == "" || row.Subject != nil && *row.Subject == s.filter.Subject) &&
		(s.filter.Action == "" || row.Action != nil && *row.Action == s.filter.Action)
}

// offer hands a live message over without waiting. A reader whose buffer is full gets no more until it has read the
// database from its cursor on.
func (s *Subscription) offer(m Message) {
	if s.lagged.Load() {
		return
	}
	select {
	case s.live <- m:
	default:
		s.lagged.Store(true)
	}
}
