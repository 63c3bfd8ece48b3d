package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// patience is how long a test waits for something that happens in milliseconds.
const patience = 20 * time.Second

// tries hears of every try.
type tries struct{ all chan error }

func (o tries) Relayed(_ string, _ time.Duration, err error) { o.all <- err }

// bundle is a relay at work with one lane and one handler.
type bundle struct {
	store *pg.Store
	clock *clock.Fake
	relay *outbox.Relay
	tries chan error
	stop  func()
}

func setup(t *testing.T, handle outbox.Handler) *bundle {
	t.Helper()
	b := &bundle{store: testenv.Store(t), clock: clock.NewFake(now), tries: make(chan error, 1000)}
	b.relay = &outbox.Relay{
		Store: b.store, Clock: b.clock, Log: slog.New(slog.DiscardHandler), Observer: tries{b.tries}, Poll: 5 * time.Millisecond,
		Lanes: []outbox.Lane{{Name: "test", Workers: 3, Handlers: map[string]outbox.Handler{"test": handle}}},
	}
	return b
}

func (b *bundle) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.relay.Run(ctx) })
	b.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(b.stop)
}

func (b *bundle) add(t *testing.T, ref string, at time.Time) {
	t.Helper()
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		return outbox.Add(t.Context(), q, outbox.Item{Topic: "test", Environment: "env_1", Ref: ref, At: at})
	}))
}

// next waits for the next try.
func (b *bundle) next(t *testing.T) error {
	t.Helper()
	select {
	case err := <-b.tries:
		return err
	case <-time.After(patience):
		require.Fail(t, "no row was tried")
		return nil
	}
}

func (b *bundle) left(t *testing.T) int {
	t.Helper()
	var n int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "select count(*) from outbox").Scan(&n))
	return n
}

func TestRelayDoesEveryRowAndDeletesIt(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	b := setup(t, func(_ context.Context, row models.Outbox) error {
		mu.Lock()
		defer mu.Unlock()
		seen[row.Ref]++
		return nil
	})
	for _, ref := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		b.add(t, ref, now)
	}
	b.run(t)
	for range 7 {
		require.NoError(t, b.next(t))
	}
	b.stop()
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}, seen)
	require.Zero(t, b.left(t))
}

// Two relays share the work; no row is done twice.
func TestRelaysDoNotShareARow(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	b := setup(t, func(_ context.Context, row models.Outbox) error {
		mu.Lock()
		defer mu.Unlock()
		seen[row.Ref]++
		return nil
	})
	const rows = 60
	for i := range rows {
		b.add(t, string(rune('A'+i)), now)
	}
	b.run(t)
	first := b.stop
	b.run(t)
	for range rows {
		require.NoError(t, b.next(t))
	}
	first()
	b.stop()
	require.Len(t, seen, rows)
	for ref, n := range seen {
		require.Equal(t, 1, n, ref)
	}
}

// A row that failed is put off, a little longer each time, and done when it can be.
func TestRelayBacksOff(t *testing.T) {
	t.Parallel()
	away := errors.New("Temporal is unavailable")
	failing := true
	b := setup(t, func(context.Context, models.Outbox) error {
		if failing {
			return away
		}
		return nil
	})
	b.add(t, "a", now)
	b.run(t)
	require.ErrorIs(t, b.next(t), away)
	b.clock.Advance(500 * time.Millisecond)
	require.ErrorIs(t, b.next(t), away)
	b.clock.Advance(999 * time.Millisecond)
	require.Never(t, func() bool { return len(b.tries) > 0 }, 200*time.Millisecond, 10*time.Millisecond, "not before it is due")
	failing = false
	b.clock.Advance(time.Millisecond)
	require.NoError(t, b.next(t))
	b.stop()
	require.Zero(t, b.left(t))
}

func TestRelayKeepsARowWhoseHandlerPanics(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ context.Context, row models.Outbox) error {
		if row.Ref == "bad" {
			panic("bad row")
		}
		return nil
	})
	b.add(t, "bad", now)
	b.add(t, "good", now)
	b.run(t)
	require.Equal(t, 1, countErrors(b.next(t), b.next(t)))
	b.stop()
	require.Equal(t, 1, b.left(t))
}

func countErrors(errs ...error) int {
	n := 0
	for _, err := range errs {
		if err != nil {
			n++
		}
	}
	return n
}

// A replica whose clock is five minutes ahead writes rows that are due at once all the same; a row that is meant for later
// waits.
func TestRelayDoesNotTrustTheWritersClock(t *testing.T) {
	t.Parallel()
	b := setup(t, func(context.Context, models.Outbox) error { return nil })
	b.add(t, "ahead", now.Add(5*time.Minute))
	require.NoError(t, outbox.Insert(t.Context(), b.store.Q, models.Outbox{
		Topic: "test", EnvironmentID: "env_1", Ref: "later", Payload: models.JSON("{}"), CreatedAt: now, AvailableAt: now.Add(time.Hour),
	}))
	b.run(t)
	require.NoError(t, b.next(t))
	require.Never(t, func() bool { return len(b.tries) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
	b.clock.Advance(time.Hour)
	require.NoError(t, b.next(t))
}

// The rows of a relay that dies are due again when their reservation ends.
// A lane that is always woken reads what is new, and all rows now and then: one whose transaction lasted long is handled too.
func TestBusyLaneFindsARowThatWasDueLongAgo(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var handled []string
	b := setup(t, func(_ context.Context, row models.Outbox) error {
		mu.Lock()
		defer mu.Unlock()
		handled = append(handled, row.Ref)
		return nil
	})
	b.relay.Poll = time.Hour
	b.add(t, "first", now)
	b.run(t)
	require.NoError(t, b.next(t))
	b.add(t, "late", now.Add(-time.Hour))
	const most = 40
	for n := range most {
		b.add(t, "new", now)
		require.NoError(t, b.next(t))
		mu.Lock()
		found := slices.Contains(handled, "late")
		mu.Unlock()
		if found {
			return
		}
		require.Less(t, n, most-1, "the row was not found")
	}
}

func TestALeaseEnds(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.add(t, "a", now)
	claim := func(at time.Duration) int {
		rows, err := outbox.Claim(t.Context(), b.store.Q, []string{"test"}, 10, time.Time{}, now.Add(at), time.Minute)
		require.NoError(t, err)
		return len(rows)
	}
	require.Equal(t, 1, claim(0))
	require.Equal(t, 0, claim(time.Minute-time.Microsecond))
	require.Equal(t, 1, claim(time.Minute))
	rows, err := outbox.Claim(t.Context(), b.store.Q, []string{"another"}, 10, time.Time{}, now.Add(time.Hour), time.Minute)
	require.NoError(t, err)
	require.Empty(t, rows, "a lane takes its own topics only")
}

// A row with a later time is claimed at that time and not before: a review that can be undone must not be taken while it can.
func TestADelayedRowWaits(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	due := now.Add(5 * time.Second)
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		return outbox.Add(t.Context(), q, outbox.Item{Topic: "test", Ref: "later", At: now, Due: due})
	}))
	for _, at := range []time.Time{now, due.Add(-time.Millisecond)} {
		rows, err := outbox.Claim(t.Context(), b.store.Q, []string{"test"}, 10, time.Time{}, at, time.Minute)
		require.NoError(t, err)
		require.Empty(t, rows)
	}
	rows, err := outbox.Claim(t.Context(), b.store.Q, []string{"test"}, 10, time.Time{}, due, time.Minute)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// The clock was ahead when a row was claimed, and is right again before its work is done.
func TestARowThatAClockStrandedIsDue(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.add(t, "a", now)
	for _, at := range []time.Duration{3 * time.Hour, 0} {
		rows, err := outbox.Claim(t.Context(), b.store.Q, []string{"test"}, 10, time.Time{}, now.Add(at), time.Minute)
		require.NoError(t, err)
		require.Len(t, rows, 1)
	}
}

// Handlers that are running when the relay stops are finished.
func TestRelayFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	b := setup(t, func(context.Context, models.Outbox) error {
		close(entered)
		<-release
		return nil
	})
	b.add(t, "a", now)
	b.run(t)
	<-entered
	stopped := make(chan struct{})
	go func() {
		b.stop()
		close(stopped)
	}()
	close(release)
	<-stopped
	require.NoError(t, b.next(t))
	require.Zero(t, b.left(t))
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.add(t, "a", now.Add(time.Minute))
	b.add(t, "b", now)
	queues, err := consolequery.QueryQueues(t.Context(), b.store.Q, now.Add(30*time.Second))
	require.NoError(t, err)
	i := slices.IndexFunc(queues, func(q consolequery.Queue) bool { return q.Kind == "outbox" })
	require.NotEqual(t, -1, i)
	require.EqualValues(t, 1, queues[i].Count, "what is not due yet does not wait")
	require.Equal(t, 30*time.Second, queues[i].Oldest)

	_, err = b.store.Pool().Exec(t.Context(), "update outbox set attempts = 7, available_at = $1", now.Add(time.Hour))
	require.NoError(t, err)
	queues, err = consolequery.QueryQueues(t.Context(), b.store.Q, now.Add(30*time.Second))
	require.NoError(t, err)
	i = slices.IndexFunc(queues, func(q consolequery.Queue) bool { return q.Kind == "outbox" })
	require.NotEqual(t, -1, i, "what fails again and again waits, although it is not due")
	require.Equal(t, 30*time.Second, queues[i].Oldest)
}

// While the system that a lane depends on starts, no row is tried and none backs off.
func TestLaneWaitsUntilItsSystemHasStarted(t *testing.T) {
	t.Parallel()
	b := setup(t, func(context.Context, models.Outbox) error { return nil })
	started, other := make(chan struct{}), make(chan error, 1)
	b.relay.Lanes[0].Started = started
	b.relay.Lanes = append(b.relay.Lanes, outbox.Lane{Name: "other", Handlers: map[string]outbox.Handler{
		"other": func(context.Context, models.Outbox) error { other <- nil; return nil },
	}})
	b.add(t, "a", now)
	require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error {
		return outbox.Add(t.Context(), q, outbox.Item{Topic: "other", Environment: "env_1", Ref: "b", At: now})
	}))
	b.run(t)
	require.NoError(t, <-other)
	require.NoError(t, b.next(t))
	require.Empty(t, b.tries, "the first lane waits")
	close(started)
	require.NoError(t, b.next(t))
}

func TestWaitingLaneStopsWithTheRelay(t *testing.T) {
	t.Parallel()
	b := setup(t, func(context.Context, models.Outbox) error { return nil })
	b.relay.Lanes[0].Started = make(chan struct{})
	b.add(t, "a", now)
	b.run(t)
	b.stop()
	require.Equal(t, 1, b.left(t))
}
