package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Filter selects the events of a stream. Empty fields select all.
type Filter struct {
	// A type or a family such as hold.*.
	Type    string
	Subject string
	Action  string
	// Authorization selects the events of one decision.
	Authorization string
	// Blank leaves the content out of every message: a reader who may not see the log learns that something has changed. Such streams have a limit
	// of their own, as high as that of the others of the environment.
	Blank bool
	// Desk also selects a message without an id whenever who has a hold of the environment, or has it open, may have changed.
	Desk bool
}

// blankType is the type of every message of Filter.Blank.
const blankType = "changed"

// ResyncType is the type of the message by which a client learns that missed events cannot be sent: it should read the activity list.
const ResyncType = "resync"

const resyncData = `{"reason":"the event to resume from is unknown here or too old; read GET /api/v1/activity"}`

// Subscription is one connected stream. Only one goroutine may call Next.
type Subscription struct {
	hub        *Hub
	scope      pg.Scope
	credential string
	// Set by Hold, under the hub's lock.
	holder Holder
	filter Filter
	live   chan *Message
	lagged atomic.Bool
	done   chan struct{}

	// The position behind the last event returned, skipped or in ready.
	cursor int64
	// Read from the database, not yet returned.
	ready []*Message
	// The database may have more events behind the cursor.
	catching bool
}

// Holder is the authorization under which a stream is read.
type Holder struct {
	// Key is equal for streams that share one check.
	Key string
	// Check reports whether the holder is still authorized. If it is nil, the stream ends when a check is due.
	Check func(ctx context.Context) (bool, error)
}

// Hold sets the holder of the stream and checks it at once, because a revocation before the subscription began was notified to no
// stream. It reports false if the holder is no longer authorized, and an error if that cannot be found out; the stream has then ended.
func (s *Subscription) Hold(ctx context.Context, by Holder) (bool, error) {
	s.hub.mu.Lock()
	s.holder = by
	s.hub.mu.Unlock()
	holds, err := by.holds(ctx)
	if err != nil || !holds {
		s.Close()
	}
	return holds, err
}

// holds reports whether the holder is still authorized.
func (by Holder) holds(ctx context.Context) (bool, error) {
	if by.Check == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, recheckWithin)
	defer cancel()
	return by.Check(ctx)
}

// Subscribe starts a stream behind the event or position lastID, or at the present if lastID is empty. If lastID is unknown in the
// environment or older than Options.Window, the stream starts at the present with a resync message. It returns ErrEnded, ErrFull
// or ErrShare if no stream can be added.
func (h *Hub) Subscribe(ctx context.Context, s pg.Scope, credential string, f Filter, lastID string) (*Subscription, error) {
	now, err := h.sealer.SealNow(ctx, s.Environment) // behind every event that was committed before
	if err != nil {
		return nil, err
	}
	sub := &Subscription{hub: h, scope: s, credential: credential, filter: f, live: make(chan *Message, h.options.Buffer),
		done: make(chan struct{}), cursor: now, catching: true}
	if lastID != "" {
		switch from, err := h.resume(ctx, s, lastID); {
		case err == nil:
			sub.cursor = from
		case !errors.Is(err, pg.ErrNotFound):
			return nil, err
		default:
			at, err := h.position(ctx, s, now)
			if err != nil {
				return nil, err
			}
			sub.ready = []*Message{{ID: at, Type: ResyncType, Data: []byte(resyncData)}}
		}
	}
	return sub, h.add(sub, now)
}

// Position returns the id to resume with behind every message that Next has returned, also if that was none. It is empty while a resync
// message waits: a client that resumed behind it would never learn that it missed events. Only the goroutine that calls Next may call it.
func (s *Subscription) Position(ctx context.Context) (string, error) {
	at := s.cursor
	if len(s.ready) > 0 {
		if at = s.ready[0].at - 1; at < 0 {
			return "", nil
		}
	}
	return s.hub.position(ctx, s.scope, at)
}

// add registers the subscription. A hub without streams of the environment starts at now, which was taken before this subscription reads: events
// that become visible later arrive live, and those visible already are read from the database.
func (h *Hub) add(sub *Subscription, now int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return ErrEnded
	case len(h.subs) >= h.options.Max:
		return ErrFull
	case h.share[sub.share()] >= h.options.MaxEach:
		return ErrShare
	}
	if _, followed := h.positions[sub.scope.Environment]; !followed {
		h.positions[sub.scope.Environment] = now
	}
	h.subs[sub] = struct{}{}
	h.share[sub.share()]++
	return nil
}

// share names the streams that are limited together.
func (s *Subscription) share() share { return share{s.scope.Environment, s.filter.Blank} }

// Close ends the stream.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s)
}

// Next waits at most d for the next message. It returns false if none arrived (time for a heartbeat), and ErrEnded once the
// stream has ended.
func (s *Subscription) Next(ctx context.Context, d time.Duration) (*Message, bool, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-s.done: // before ready messages: a stream that is no longer authorized returns no more
			return nil, false, ErrEnded
		default:
		}
		if len(s.ready) > 0 {
			m := s.ready[0]
			s.ready = s.ready[1:]
			return m, true, nil
		}
		if s.catching {
			if err := s.read(ctx); err != nil {
				return nil, false, err
			}
			// Many events may be skipped before one is selected, and a reader that hears nothing meanwhile would connect again and
			// begin anew.
			if len(s.ready) == 0 && clock.Fired(timer) {
				return nil, false, nil
			}
			continue
		}
		if len(s.live) == 0 && s.lagged.CompareAndSwap(true, false) {
			s.catching = true
			continue
		}
		select {
		case m := <-s.live:
			if m.at == 0 || s.cursor < m.at {
				s.cursor = max(s.cursor, m.at)
				return m, true, nil
			}
		case <-s.done:
			return nil, false, ErrEnded
		case <-timer.C:
			s.skip()
			return nil, false, nil
		}
	}
}

// skip moves the cursor past the events that were delivered live to others, so that a stream whose filter selects few does not
// read them again when it is resumed.
func (s *Subscription) skip() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if _, ok := s.hub.subs[s]; ok && len(s.live) == 0 && !s.lagged.Load() {
		s.cursor = max(s.cursor, s.hub.positions[s.scope.Environment])
	}
}

// readBatch limits the events that one stream reads from the database at once.
const readBatch = 200

// read appends the next batch behind the cursor to the ready messages.
func (s *Subscription) read(ctx context.Context) error {
	select {
	case <-s.done:
		return ErrEnded
	default:
	}
	rows, err := audit.EntriesAfter(ctx, s.hub.store.Q, map[string]int64{s.scope.Environment: s.cursor}, readBatch)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s.cursor = row.Position
		if row.Event == nil || !s.wants(*row.Event) {
			continue
		}
		if m, ok := render(row); ok {
			s.ready = append(s.ready, s.shown(m))
		}
	}
	s.catching = len(rows) == readBatch
	return nil
}

// wants reports whether the stream selects the row. The environment is checked here as well as in every query.
func (s *Subscription) wants(row models.Event) bool {
	return row.EnvironmentID == s.scope.Environment && row.TenantID == s.scope.Tenant &&
		(s.filter.Type == "" || events.Matches([]string{s.filter.Type}, events.Type(row.Type))) &&
		(s.filter.Authorization == "" || row.AuthorizationID != nil && *row.AuthorizationID == s.filter.Authorization) &&
		(s.filter.Subject == "" || row.Subject != nil && *row.Subject == s.filter.Subject) &&
		(s.filter.Action == "" || row.Action != nil && *row.Action == s.filter.Action)
}

// shown returns a message as the stream shows it.
func (s *Subscription) shown(m *Message) *Message {
	if !s.filter.Blank {
		return m
	}
	return &Message{ID: m.ID, Type: blankType, Data: []byte("{}"), at: m.at}
}

// offer passes a live message on without blocking. A reader whose buffer is full receives no live messages until it has read the
// database from its cursor.
func (s *Subscription) offer(m *Message) {
	if s.lagged.Load() {
		return
	}
	select {
	case s.live <- s.shown(m):
	default:
		s.lagged.Store(true)
	}
}
