// Package stream sends the event log to whoever is connected: one reader a process follows the log and hands each event
// to the subscriptions it concerns. A subscription sees every event of its environment exactly once and in order from
// where it starts, because both ways of reading (behind a position, and live) use the log's own order and only what no
// running transaction can still precede.
//
// The package may not write, and may not hold more than a bounded number of events for a slow reader: one that falls
// behind reads from the database again.
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

// ErrFull says that the process has as many streams as it takes.
var ErrFull = errors.New("stream: too many streams on this process")

// ErrShare says that the environment has as many streams on this process as one environment may have.
var ErrShare = errors.New("stream: too many streams of this environment")

// ErrEnded says that the hub has stopped.
var ErrEnded = errors.New("stream: ended")

// Options of a hub. Zero values are the defaults.
type Options struct {
	Every   time.Duration // how often the log is read while somebody is connected; default 100 ms
	Window  time.Duration // how far back a stream may resume; default 7 days
	Max     int           // streams on this process; default 4096
	MaxEach int           // streams of one environment on this process; default 100
	Buffer  int           // events held for one slow reader; default 64
}

func (o Options) withDefaults() Options {
	if o.Every <= 0 {
		o.Every = 100 * time.Millisecond
	}
	if o.Window <= 0 {
		o.Window = 7 * 24 * time.Hour
	}
	if o.Max <= 0 {
		o.Max = 4096
	}
	if o.MaxEach <= 0 {
		o.MaxEach = 100
	}
	if o.Buffer <= 0 {
		o.Buffer = 64
	}
	return o
}

// Hub follows the log for all streams of one process.
type Hub struct {
	store   *store.Store
	clock   clock.Clock
	log     *slog.Logger
	options Options
	wake    chan struct{}

	listening atomic.Bool // notices have been listened to before

	mu       sync.Mutex
	subs     map[*Subscription]struct{}
	share    map[string]int // streams by environment
	active   bool           // position is good: it was taken before any present subscription began to read
	position store.Position
	ended    bool
}

// NewHub makes a hub; Run gives it life.
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

// Count is how many streams are connected.
func (h *Hub) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

// heard takes a notice. An empty channel means that notices may have been missed: every stream's right is asked for again.
func (h *Hub) heard(ctx context.Context, channel, payload string) {
	switch channel {
	case store.ChannelCredential:
		go h.recheck(ctx, func(s *Subscription) bool { return s.credential == payload })
	case "":
		// What has just begun to listen for the first time can have missed little: what cannot be asked lives on.
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

// endAll ends every stream; clients reconnect and go on behind their last event.
func (h *Hub) endAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		h.drop(s)
	}
}

// recheckWithin bounds the time in which a right is asked for; a stream whose right cannot be found out ends.
const recheckWithin = 5 * time.Second

// recheck ends those of the streams whose right no longer holds, such as that of a key that was revoked or rotated.
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

// rights are the streams concerned by whose right they are followed, one holder for those with the same key.
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

// Stop ends every stream and takes no more: a process that stops calls it before it waits for its requests.
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

// roundBatch bounds one reading of the log.
const roundBatch = 500

// round reads what is new for the environments that somebody follows and hands it on.
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

func (h *Hub) following() ([]string, store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.share)), h.position
}

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

// Message is one event, ready to be sent.
type Message struct {
	ID   string
	Type string
	Data []byte // JSON of events.Activity

	at store.Position
}

func render(row models.Event) (Message, error) {
	view, err := events.View(row)
	if err != nil {
		return Message{}, err
	}
	data, err := json.Marshal(view)
	return Message{ID: row.ID, Type: row.Type, Data: data, at: store.PositionOf(row)}, err
}
