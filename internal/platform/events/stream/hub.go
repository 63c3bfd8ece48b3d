// Package stream delivers the event log to connected clients. One reader per process (Hub) follows the log and passes each event
// to the subscriptions that it concerns. A subscription receives every event of its environment exactly once and in order from
// its start, because both ways of reading (from the database behind a position, and live) use the order of the log and return
// only events that no running transaction can still precede.
//
// The package may not write, and may buffer only a bounded number of events for a slow reader: a reader that falls behind reads
// from the database again.
package stream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// ErrFull means that the process has reached its limit of streams.
var ErrFull = errors.New("stream: too many streams on this process")

// ErrShare means that the environment has reached its limit of streams on this process.
var ErrShare = errors.New("stream: too many streams of this environment")

// ErrEnded means that the hub has stopped, or that the stream was ended.
var ErrEnded = errors.New("stream: ended")

// Options configure a hub. Zero values mean the defaults.
type Options struct {
	// How often the log is read while a client is connected; default 100 ms.
	Every time.Duration
	// How far back a stream may resume; default 7 days.
	Window time.Duration
	// Streams on this process; default 4096, or MaxEach if that is more.
	Max int
	// Streams of one environment on this process; default 100.
	MaxEach int
	// Events buffered for one slow reader; default 64.
	Buffer int
}

func (o Options) withDefaults() Options {
	if o.Every <= 0 {
		o.Every = 100 * time.Millisecond
	}
	if o.Window <= 0 {
		o.Window = 7 * 24 * time.Hour
	}
	if o.MaxEach <= 0 {
		o.MaxEach = 100
	}
	if o.Max <= 0 {
		o.Max = max(4096, o.MaxEach)
	}
	if o.Buffer <= 0 {
		o.Buffer = 64
	}
	return o
}

// Hub follows the log for all streams of one process. It is safe for concurrent use.
type Hub struct {
	store   *store.Store
	clock   clock.Clock
	log     *slog.Logger
	options Options
	wake    chan struct{}

	// The hub has listened to notifications before.
	listening atomic.Bool

	mu    sync.Mutex
	subs  map[*Subscription]struct{}
	share map[string]int // streams by environment
	// Position is valid: it was taken before any current subscription began to read.
	active   bool
	position store.Position
	ended    bool
}

// NewHub returns a hub. Subscriptions receive live events only while Run is running.
func NewHub(st *store.Store, c clock.Clock, log *slog.Logger, o Options) *Hub {
	return &Hub{store: st, clock: c, log: log, options: o.withDefaults(), wake: make(chan struct{}, 1),
		subs: map[*Subscription]struct{}{}, share: map[string]int{}}
}

// Run follows the log until ctx ends, then ends every stream.
func (h *Hub) Run(ctx context.Context) {
	defer h.Stop()
	go h.store.Listen(ctx, []string{store.ChannelEvents, store.ChannelCredential}, func(channel, payload string) { h.heard(ctx, channel, payload) })
	tick := time.NewTicker(h.options.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.wake:
		}
		if err := h.round(ctx); err != nil && ctx.Err() == nil {
			h.log.LogAttrs(ctx, slog.LevelWarn, "reading the event log failed", slog.String("error", err.Error()))
		}
	}
}

// Count returns the number of connected streams.
func (h *Hub) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

// heard handles a notification of the database. An empty channel means that notifications may have been missed (the listener
// reconnected): then every stream's authorization is checked again.
func (h *Hub) heard(ctx context.Context, channel, payload string) {
	switch channel {
	case store.ChannelCredential:
		go h.recheck(ctx, func(s *Subscription) bool { return s.credential == payload })
	case "":
		// The first connection can have missed little, so streams without a check continue.
		again := h.listening.Swap(true)
		go h.recheck(ctx, func(s *Subscription) bool { return again || s.holder.Check != nil })
	}
	if payload == store.Reanchored {
		h.endAll()
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// endAll ends every stream. Clients reconnect and resume behind their last event.
func (h *Hub) endAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		h.drop(s)
	}
}

// recheckWithin limits one check of an authorization. A stream whose authorization cannot be checked ends.
const recheckWithin = 5 * time.Second

// recheck ends the concerned streams that are no longer authorized, for example because their key was revoked or rotated.
func (h *Hub) recheck(ctx context.Context, concerned func(*Subscription) bool) {
	for by, subs := range h.rights(concerned) {
		if by.Check != nil {
			ctx, cancel := context.WithTimeout(ctx, recheckWithin)
			holds, err := by.Check(ctx)
			cancel()
			if err == nil && holds {
				continue
			}
		}
		h.mu.Lock()
		for _, s := range subs {
			h.drop(s)
		}
		h.mu.Unlock()
	}
}

// rights groups the concerned streams by their holder, one holder for streams with the same key, so that each authorization is
// checked once.
func (h *Hub) rights(concerned func(*Subscription) bool) map[*Holder][]*Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	first, out := map[string]*Holder{}, map[*Holder][]*Subscription{}
	for s := range h.subs {
		if !concerned(s) {
			continue
		}
		by := first[s.holder.Key]
		if by == nil || by.Check == nil || s.holder.Check == nil {
			holder := s.holder
			by = &holder
			first[holder.Key] = by
		}
		out[by] = append(out[by], s)
	}
	return out
}

// Stop ends every stream and refuses new ones. A stopping process calls it before it waits for its requests to end.
func (h *Hub) Stop() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.endAll()
}

// drop removes and ends a subscription. The caller holds the lock.
func (h *Hub) drop(s *Subscription) {
	if _, ok := h.subs[s]; ok {
		delete(h.subs, s)
		if h.share[s.scope.Environment]--; h.share[s.scope.Environment] == 0 {
			delete(h.share, s.scope.Environment)
		}
		close(s.done)
	}
	if len(h.subs) == 0 {
		h.active = false
	}
}

// roundBatch limits the events of one query of the log.
const roundBatch = 500

// round reads the new events of the environments with streams and passes them to the subscriptions.
func (h *Hub) round(ctx context.Context) error {
	for {
		environments, from := h.following()
		if len(environments) == 0 {
			return nil
		}
		rows, err := h.store.Events().After(ctx, environments, from, roundBatch)
		if err != nil {
			return err
		}
		h.deliver(rows)
		if len(rows) < roundBatch {
			return nil
		}
	}
}

// following returns the environments with streams, and the position of the last event passed on.
func (h *Hub) following() ([]string, store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.share)), h.position
}

// deliver offers events to the subscriptions that want them, and advances the position.
func (h *Hub) deliver(rows []models.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		h.position = store.PositionOf(row)
		m, err := render(row)
		if err != nil || !events.Type(row.Type).Public() {
			continue
		}
		for s := range h.subs {
			if s.wants(row) {
				s.offer(m)
			}
		}
	}
}

// Message is one event in the form in which it is sent.
type Message struct {
	ID   string
	Type string
	Data []byte // JSON of events.Activity

	at store.Position
}

// render marshals an event for the stream.
func render(row models.Event) (*Message, error) {
	view, err := events.View(row)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(view)
	return &Message{ID: row.ID, Type: row.Type, Data: data, at: store.PositionOf(row)}, err
}
