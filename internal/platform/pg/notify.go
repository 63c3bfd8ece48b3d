package pg

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Channels of LISTEN and NOTIFY.
const (
	ChannelOutbox      = "cs_outbox"
	ChannelEvents      = "cs_events"
	ChannelDesk        = "cs_desk"        // payload: environment id; who has a hold, or has it open, has changed
	ChannelPolicy      = "cs_policy"      // payload: environment id and action key, separated by a space
	ChannelCredential  = "cs_credential"  // payload: credential id
	ChannelEnvironment = "cs_environment" // payload: environment id
	ChannelBackground  = "cs_background"  // payload: version of a background, or empty
	ChannelSigningKey  = "cs_signing_key" // payload: environment id
)

// wakeEvery is the shortest time between two wake-ups on one channel by one process. Wake-ups are sent after the commit,
// and not inside the transaction, because Postgres serialises the commits of transactions with a NOTIFY.
const wakeEvery = 20 * time.Millisecond

type waker struct {
	mu     sync.Mutex
	due    map[[2]string]bool // by channel and payload
	signal chan struct{}
}

func newWaker() *waker { return &waker{due: map[[2]string]bool{}, signal: make(chan struct{}, 1)} }

// Wake notifies the listeners of a channel within wakeEvery. It does not wait, and the notification is lost if the
// process ends before: listeners poll as well.
func (s *Store) Wake(channel, payload string) {
	s.waker.mu.Lock()
	s.waker.due[[2]string{channel, payload}] = true
	s.waker.mu.Unlock()
	select {
	case s.waker.signal <- struct{}{}:
	default:
	}
}

// run sends the requested wake-ups until ctx ends.
func (w *waker) run(ctx context.Context, s *Store) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.signal:
		}
		w.mu.Lock()
		due := w.due
		w.due = map[[2]string]bool{}
		w.mu.Unlock()
		for to := range due {
			_ = s.Notify(ctx, to[0], to[1])
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wakeEvery):
		}
	}
}

// Notify notifies every process that listens on the channel. In a transaction it is sent at the commit.
func (q *Q) Notify(ctx context.Context, channel, payload string) error {
	_, err := q.Exec(ctx, "select pg_notify($1, $2)", channel, payload)
	return err
}

// Listen passes every notification on the channels to f until ctx ends, and reconnects as needed. After each connection
// it calls f with an empty channel: notifications may have been missed, and caches may be stale.
func (s *Store) Listen(ctx context.Context, channels []string, f func(channel, payload string)) {
	for ctx.Err() == nil {
		_ = s.listenOnce(ctx, channels, f)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, channels []string, f func(channel, payload string)) error {
	// A listener uses a connection of its own, because it would take one from the pool for as long as it runs.
	conn, err := pgx.ConnectConfig(ctx, s.direct.Copy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, c := range channels {
		if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{c}.Sanitize()); err != nil {
			return err
		}
	}
	f("", "")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		f(n.Channel, n.Payload)
	}
}
