// Package stream delivers the event log to connected clients. One reader per process (Hub) follows the log and passes each event
// to the subscriptions that it concerns. A subscription receives every event of its environment exactly once and in order from
// its start, because both ways of reading (from the database behind a position, and live) follow the sealed chain, in which an event
// whose transaction ends late is late as well.
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

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
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
	store   *pg.Store
	sealer  *audit.Sealer
	clock   clock.Clock
	log     *slog.Logger
	options Options
	wake    chan struct{}

	// Of the goroutine in Run.
	rounds int

	// The hub has listened to notifications before.
	listening atomic.Bool

	mu    sync.Mutex
	subs  map[*Subscription]struct{}
	share map[share]int
	// The position in the log of each environment with streams, taken before any of them began to read.
	positions map[string]int64
	desks     map[string]bool // environments whose desk has changed since the last tick
	ended     bool
}

// share names streams that are limited together: those of one environment, blank or not.
type share struct {
	environment string
	blank       bool
}

// NewHub returns a hub. Subscriptions receive live events only while Run is running.
func NewHub(st *pg.Store, c clock.Clock, log *slog.Logger, o Options) *Hub {
	return &Hub{store: st, sealer: &audit.Sealer{Store: st, Clock: c, Log: log}, clock: c, log: log, options: o.withDefaults(),
		wake: make(chan struct{}, 1), subs: map[*Subscription]struct{}{}, share: map[share]int{}, positions: map[string]int64{}, desks: map[string]bool{}}
}

// Run follows the log until ctx ends, then ends every stream.
func (h *Hub) Run(ctx context.Context) {
	defer h.Stop()
	go h.store.Listen(ctx, []string{pg.ChannelEvents, pg.ChannelCredential, pg.ChannelDesk}, func(channel, payload string) { h.heard(ctx, channel, payload) })
	tick := time.NewTicker(h.options.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.deliverDesks()
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
	case pg.ChannelDesk:
		h.mu.Lock()
		h.desks[payload] = h.share[share{environment: payload}] > 0
		h.mu.Unlock()
		return
	case pg.ChannelCredential:
		go h.recheck(ctx, func(s *Subscription) bool { return s.credential == payload })
	case "":
		// The first connection can have missed little, so streams without a check continue.
		again := h.listening.Swap(true)
		go h.recheck(ctx, func(s *Subscription) bool { return again || s.holder.Check != nil })
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
		if holds, err := by.holds(ctx); err == nil && holds {
			continue
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
		if h.share[s.share()]--; h.share[s.share()] == 0 {
			delete(h.share, s.share())
		}
		if h.share[share{s.scope.Environment, false}]+h.share[share{s.scope.Environment, true}] == 0 {
			delete(h.positions, s.scope.Environment)
		}
		close(s.done)
	}
}

// roundBatch limits the events of an environment in one query of the log.
const roundBatch = 500

// openEvery is about how often transactions that were open when later events were sealed are looked for.
const openEvery = time.Second

// round seals the new events of the environments with streams, reads them and passes them to the subscriptions. Streams do not wait
// for the sealer of a worker.
func (h *Hub) round(ctx context.Context) error {
	for sealed := false; ; {
		from := h.following()
		if len(from) == 0 {
			return nil
		}
		if !sealed {
			h.rounds++
			open := h.rounds%max(1, int(openEvery/h.options.Every)) == 0
			if err := h.sealer.SealBehind(ctx, slices.Collect(maps.Keys(from)), open); err != nil {
				return err
			}
			sealed = true
		}
		rows, err := audit.EntriesAfter(ctx, h.store.Q, from, roundBatch)
		if err != nil {
			return err
		}
		h.deliver(rows)
		if len(rows) < roundBatch {
			return nil
		}
	}
}

// following returns the environments with streams, each with the position of the last event passed on.
func (h *Hub) following() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.positions)
}

// deliver offers events to the subscriptions that want them, and advances the positions. An environment whose last stream ended
// meanwhile has none.
func (h *Hub) deliver(rows []audit.Sealed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		if at, ok := h.positions[row.EnvironmentID]; !ok || row.Position <= at {
			continue
		}
		h.positions[row.EnvironmentID] = row.Position
		m, ok := render(row)
		if !ok {
			continue
		}
		for s := range h.subs {
			if s.wants(*row.Event) {
				s.offer(m)
			}
		}
	}
}

// deskChanged is the message of Filter.Desk. It is no event: it has no id, and a client that misses it reads the page later.
var deskChanged = &Message{Type: "desk", Data: []byte("{}")}

// deliverDesks passes a change of a desk on, once for all changes since the last tick.
func (h *Hub) deliverDesks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		if s.filter.Desk && h.desks[s.scope.Environment] {
			s.offer(deskChanged)
		}
	}
	clear(h.desks)
}

// Message is one event in the form in which it is sent.
type Message struct {
	ID   string // empty for a message that is no event
	Type string
	Data []byte // JSON of events.Activity

	at int64 // position; 0 of a message that is no event
}

// render marshals an event for the stream. It returns false for one that streams do not show: it is gone, or for the audit only.
func render(row audit.Sealed) (*Message, bool) {
	if row.Event == nil || !events.Type(row.Event.Type).Public() {
		return nil, false
	}
	view, err := events.View(*row.Event)
	if err != nil {
		return nil, false
	}
	data, err := json.Marshal(view)
	return &Message{ID: row.Event.ID, Type: row.Event.Type, Data: data, at: row.Position}, err == nil
}
