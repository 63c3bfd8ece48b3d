package stream_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mine = pg.Scope{Tenant: "tnt_1", Environment: "env_1"}
)

type bundle struct {
	t    testing.TB
	st   *pg.Store
	hub  *stream.Hub
	stop context.CancelFunc
	time *clock.Fake
}

func setup(t testing.TB, o stream.Options) *bundle {
	t.Helper()
	if o.Every == 0 {
		o.Every = 5 * time.Millisecond
	}
	b := &bundle{t: t, st: testenv.Store(t), time: clock.NewFake(noon)}
	b.hub = stream.NewHub(b.st, b.time, slog.New(slog.NewTextHandler(io.Discard, nil)), o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.hub.Run(ctx) }()
	b.stop = func() { cancel(); <-done }
	t.Cleanup(b.stop)
	return b
}

func entry(s pg.Scope, subject string) events.Entry {
	return events.Entry{Scope: s, Data: events.SubjectCreatedData{}, At: noon, Subject: subject, SubjectUID: "sub_" + subject, Actor: "credential:crd_1"}
}

// append writes an entry in a transaction of its own and returns its id.
func (b *bundle) append(e events.Entry) string {
	b.t.Helper()
	row, err := events.Row(e)
	require.NoError(b.t, err)
	require.NoError(b.t, events.InsertEvent(b.t.Context(), b.st.Q, row, false))
	return row.ID
}

func (b *bundle) subscribe(s pg.Scope, f stream.Filter, last string) *stream.Subscription {
	b.t.Helper()
	_, err := b.st.Pool().Exec(b.t.Context(), `with t as (insert into tenants (id, name, created_at) values ('of_' || $1, 'n', now()) on conflict do nothing returning id)
		insert into environments (id, tenant_id, kind, rp_id, rp_name, rp_origins, created_at) select $1, id, 'sandbox', 'localhost', 'n', '{}', now() from t`, s.Environment)
	require.NoError(b.t, err)
	sub, err := b.hub.Subscribe(b.t.Context(), s, "crd_1", f, last)
	require.NoError(b.t, err)
	b.t.Cleanup(sub.Close)
	return sub
}

// take reads n messages.
func take(t *testing.T, sub *stream.Subscription, n int) []*stream.Message {
	t.Helper()
	out := make([]*stream.Message, 0, n)
	for len(out) < n {
		m, ok, err := sub.Next(t.Context(), 20*time.Second)
		require.NoError(t, err)
		require.True(t, ok, "message %d of %d did not come", len(out)+1, n)
		out = append(out, m)
	}
	return out
}

func ids(ms []*stream.Message) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.ID
	}
	return out
}

func TestLiveEventsOfTheEnvironmentOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{})
	b.append(entry(mine, "before"))
	sub := b.subscribe(mine, stream.Filter{}, "")
	b.append(entry(pg.Scope{Tenant: "tnt_1", Environment: "env_2"}, "other-environment"))
	b.append(entry(pg.Scope{Tenant: "tnt_2", Environment: "env_3"}, "other-tenant"))
	e := entry(mine, "audit")
	e.Data, e.Subject, e.SubjectUID = events.ActionCreatedData{ActionID: "act_1", Mode: "test"}, "", ""
	b.append(e)
	id := b.append(entry(mine, "mine"))
	m := take(t, sub, 1)[0]
	require.Equal(t, id, m.ID)
	require.Equal(t, "subject.created", m.Type)
	require.JSONEq(t, `{"id":"`+id+`","type":"subject.created","at":"2026-03-01T12:00:00.000Z","subject":"mine","action":null,
		"authorization":null,"data":{"environment":"env_1","subject":"mine"}}`, string(m.Data))
}

func TestFilters(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{})
	for name, c := range map[string]struct {
		filter stream.Filter
		want   string
	}{
		"subject": {stream.Filter{Subject: "b"}, "b"},
		"type":    {stream.Filter{Type: "recovery.*"}, "r"},
		"action":  {stream.Filter{Action: "pay"}, "p"},
	} {
		t.Run(name, func(t *testing.T) {
			scope := pg.Scope{Tenant: "tnt_1", Environment: "env_" + name}
			sub := b.subscribe(scope, c.filter, "")
			b.append(entry(scope, "a"))
			b.append(entry(scope, "b"))
			r := entry(scope, "r")
			r.Data = events.RecoveryStartedData{Recovery: "rcv_1", Anchor: "none"}
			b.append(r)
			p := entry(scope, "p")
			p.Action, p.AuthorizationID, p.Decision = "pay", "azn_1", "deny"
			p.Data = events.AuthorizationDecidedData{Mode: "enforce", PolicyVersion: 1, ReasonCodes: []string{}}
			b.append(p)
			require.Contains(t, string(take(t, sub, 1)[0].Data), `"subject":"`+c.want+`"`)
		})
	}
}

func TestResumeMissesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{})
	var want []string
	for i := range 450 { // more than two batches
		want = append(want, b.append(entry(mine, fmt.Sprint(i))))
	}
	sub := b.subscribe(mine, stream.Filter{}, want[0])
	want = append(want, b.append(entry(mine, "live")))
	require.Equal(t, want[1:], ids(take(t, sub, len(want)-1)))
}

// A stream that has to read past many events it does not select says that it is alive meanwhile, and goes on from there.
func TestHeartbeatsAreDueWhileAStreamCatchesUp(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{})
	from := b.append(entry(mine, "from"))
	require.NoError(t, b.st.Write(t.Context(), func(q *pg.Q) error {
		for range 450 { // more than two batches
			row, err := events.Row(entry(mine, "other"))
			if err != nil {
				return err
			}
			if err := events.InsertEvent(t.Context(), q, row, false); err != nil {
				return err
			}
		}
		return nil
	}))
	want := b.append(entry(mine, "wanted"))
	sub := b.subscribe(mine, stream.Filter{Subject: "wanted"}, from)
	for range 2 {
		_, ok, err := sub.Next(t.Context(), time.Nanosecond)
		require.NoError(t, err)
		require.False(t, ok, "a heartbeat is due after each batch")
	}
	require.Equal(t, []string{want}, ids(take(t, sub, 1)))
}

func TestResyncWhereTheIDCannotBeResumedFrom(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{Window: time.Hour})
	theirs := pg.Scope{Tenant: "tnt_2", Environment: "env_2"}
	foreign := b.append(entry(theirs, "theirs"))
	old := b.append(entry(mine, "old"))
	for name, last := range map[string]string{"unknown": "evt_01jqx3k5v8e2sbyk0c4m7t9wzd", "no id at all": "\x00\xff", "another tenant's": foreign,
		"another environment's position": position(t, b.subscribe(theirs, stream.Filter{}, "")), "an unknown position": "pos_99_0000000000000000", "no position": "pos_-1_"} {
		m := take(t, b.subscribe(mine, stream.Filter{}, last), 1)[0]
		require.Equal(t, stream.ResyncType, m.Type, name)
		next := b.append(entry(mine, name))
		require.Equal(t, []string{next}, ids(take(t, b.subscribe(mine, stream.Filter{}, m.ID), 1)), "its id is where the stream goes on")
	}
	b.time.Advance(2 * time.Hour)
	sub := b.subscribe(mine, stream.Filter{}, old)
	require.Equal(t, stream.ResyncType, take(t, sub, 1)[0].Type, "too old")
	id := b.append(entry(mine, "new"))
	require.Equal(t, []string{id}, ids(take(t, sub, 1)), "the stream goes on after a resync")
}

func position(t *testing.T, sub *stream.Subscription) string {
	t.Helper()
	at, err := sub.Position(t.Context())
	require.NoError(t, err)
	return at
}

func TestAPositionResumesWhereNoEventWasReceived(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{Window: time.Hour})
	only := stream.Filter{Subject: "wanted"}
	resumed := func(at string, want ...string) {
		t.Helper()
		require.Equal(t, want, ids(take(t, b.subscribe(mine, only, at), len(want))))
	}
	empty := position(t, b.subscribe(mine, only, ""))
	b.append(entry(mine, "other"))
	start := position(t, b.subscribe(mine, only, ""))
	first := b.append(entry(mine, "wanted"))
	second := b.append(entry(mine, "wanted"))
	resumed(empty, first, second)
	resumed(start, first, second)

	read := b.subscribe(mine, only, start)
	require.Equal(t, start, position(t, read))
	take(t, read, 1)
	resumed(position(t, read), second) // the second is read from the database and not returned
	take(t, read, 1)
	end := position(t, read)
	_, err := b.hub.Subscribe(t.Context(), mine, "crd_1", only, end)
	require.NoError(t, err)
	b.append(entry(mine, "other"))
	require.Eventually(t, func() bool {
		_, _, err := read.Next(t.Context(), time.Millisecond)
		require.NoError(t, err)
		return position(t, read) != end
	}, 20*time.Second, time.Millisecond, "a stream moves past events that it does not select")

	missed := b.subscribe(mine, only, "pos_0_00")
	require.Empty(t, position(t, missed), "a stream that is cut before its resync is resumed with the same id")
	b.time.Advance(2 * time.Hour)
	require.Equal(t, stream.ResyncType, take(t, b.subscribe(mine, only, start), 1)[0].Type, "what follows is too old")
	quiet := position(t, b.subscribe(mine, only, ""))
	b.time.Advance(2 * time.Hour)
	third := b.append(entry(mine, "wanted"))
	resumed(quiet, third) // the position is old, and what follows is not
}

// A transaction that commits late must not be stepped over by a reader who has seen later ones, nor hold them up.
func TestALateCommitIsNotMissed(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{})
	sub := b.subscribe(mine, stream.Filter{}, "")
	early, err := events.Row(entry(mine, "early"))
	require.NoError(t, err)
	var late string
	require.NoError(t, b.st.Write(t.Context(), func(q *pg.Q) error {
		if err := events.InsertEvent(t.Context(), q, early, false); err != nil {
			return err
		}
		late = b.append(entry(mine, "late")) // commits first
		require.Equal(t, []string{late}, ids(take(t, sub, 1)))
		return nil
	}))
	require.Equal(t, []string{early.ID}, ids(take(t, sub, 1)))
	last := b.append(entry(mine, "last"))
	require.Equal(t, []string{last}, ids(take(t, sub, 1)))
	require.Equal(t, []string{early.ID, last}, ids(take(t, b.subscribe(mine, stream.Filter{}, late), 2)), "a stream that resumes has the same order")
}

// Streams of several processes seal the log by themselves, each event once, and show one order.
func TestStreamsOfTwoProcessesShowOneOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{})
	other := stream.NewHub(b.st, b.time, slog.New(slog.DiscardHandler), stream.Options{Every: 3 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); other.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	here := b.subscribe(mine, stream.Filter{}, "")
	there, err := other.Subscribe(t.Context(), mine, "crd_1", stream.Filter{}, "")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				row, err := events.Row(entry(mine, fmt.Sprintf("%d-%d", w, i)))
				if err == nil {
					err = b.st.Write(t.Context(), func(q *pg.Q) error { return events.InsertEvent(t.Context(), q, row, false) })
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	first := ids(take(t, here, 100))
	wg.Wait()
	require.Equal(t, first, ids(take(t, there, 100)))
}

func TestASlowReaderFallsBackToTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{Buffer: 3})
	slow, quick := b.subscribe(mine, stream.Filter{}, ""), b.subscribe(mine, stream.Filter{}, "")
	_, ok, err := slow.Next(t.Context(), time.Millisecond) // live from here on
	require.NoError(t, err)
	require.False(t, ok)
	var want []string
	for i := range 40 {
		want = append(want, b.append(entry(mine, fmt.Sprint(i))))
		require.Equal(t, want[i:], ids(take(t, quick, 1)))
	}
	require.Equal(t, want, ids(take(t, slow, len(want))))
}

func TestManyWritersAndReaders(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{Buffer: 4})
	const writers, each, readers = 4, 30, 20
	subs := make([]*stream.Subscription, readers)
	for i := range subs {
		subs[i] = b.subscribe(mine, stream.Filter{}, "")
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				row, err := events.Row(entry(mine, fmt.Sprintf("%d-%d", w, i)))
				if err == nil {
					err = b.st.Write(t.Context(), func(q *pg.Q) error { return events.InsertEvent(t.Context(), q, row, false) })
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	first := ids(take(t, subs[0], writers*each))
	wg.Wait()
	for _, sub := range subs[1:] {
		require.Equal(t, first, ids(take(t, sub, writers*each)), "all readers see the same order")
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{Max: 2})
	sub := b.subscribe(mine, stream.Filter{}, "")
	other, err := b.hub.Subscribe(t.Context(), mine, "crd_2", stream.Filter{}, "")
	require.NoError(t, err)
	_, err = b.hub.Subscribe(t.Context(), mine, "crd_3", stream.Filter{}, "")
	require.ErrorIs(t, err, stream.ErrFull)

	// Until the hub listens, a notification is lost; it is sent until it is heard.
	require.Eventually(t, func() bool {
		require.NoError(t, b.st.Notify(t.Context(), pg.ChannelCredential, "crd_2"))
		_, _, err := other.Next(t.Context(), 20*time.Millisecond)
		return err != nil
	}, 20*time.Second, time.Millisecond, "a revoked credential's stream ends")
	require.Equal(t, 1, b.hub.Count())

	b.stop()
	_, _, err = sub.Next(t.Context(), 20*time.Second)
	require.ErrorIs(t, err, stream.ErrEnded)
	_, err = b.hub.Subscribe(t.Context(), mine, "crd_1", stream.Filter{}, "")
	require.ErrorIs(t, err, stream.ErrEnded)
}

// A notice, and the loss of notices, end the streams whose right no longer holds and no others.
func TestHoldersAreAskedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, stream.Options{})
	var revoked atomic.Bool
	asked := map[string]*atomic.Int64{"crd_2": {}, "crd_3": {}}
	follow := func(credential string, holds func() (bool, error)) *stream.Subscription {
		sub, err := b.hub.Subscribe(t.Context(), mine, credential, stream.Filter{}, "")
		require.NoError(t, err)
		t.Cleanup(sub.Close)
		ok, err := sub.Hold(t.Context(), stream.Holder{Key: credential, Check: func(context.Context) (bool, error) {
			asked[credential].Add(1)
			return holds()
		}})
		require.NoError(t, err)
		require.True(t, ok)
		return sub
	}
	ends := func(sub *stream.Subscription) bool {
		_, _, err := sub.Next(t.Context(), time.Millisecond)
		return err != nil
	}
	held := follow("crd_2", func() (bool, error) { return true, nil })
	lost := follow("crd_3", func() (bool, error) { return !revoked.Load(), nil })
	revoked.Store(true)
	// Until the hub listens, a notification is lost; it is sent until it is heard.
	require.Eventually(t, func() bool {
		require.NoError(t, b.st.Notify(t.Context(), pg.ChannelCredential, "crd_3"))
		return ends(lost)
	}, 20*time.Second, time.Millisecond, "its key was revoked")
	require.False(t, ends(held))

	before := asked["crd_2"].Load()
	require.Eventually(t, func() bool {
		_, err := b.st.Pool().Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and query like 'listen %'`)
		require.NoError(t, err)
		return asked["crd_2"].Load() > before
	}, 20*time.Second, 100*time.Millisecond, "a reconnected listener asks about every stream")
	require.False(t, ends(held), "and ends none whose right holds")

	sub, err := b.hub.Subscribe(t.Context(), mine, "crd_4", stream.Filter{}, "")
	require.NoError(t, err)
	ok, err := sub.Hold(t.Context(), stream.Holder{Key: "crd_4", Check: func(context.Context) (bool, error) { return false, nil }})
	require.NoError(t, err)
	require.False(t, ok, "what was revoked between the request's authentication and the stream is seen")
	require.True(t, ends(sub))
	sub, err = b.hub.Subscribe(t.Context(), mine, "crd_5", stream.Filter{}, "")
	require.NoError(t, err)
	_, err = sub.Hold(t.Context(), stream.Holder{Key: "crd_5", Check: func(context.Context) (bool, error) { return true, io.ErrUnexpectedEOF }})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "what cannot be found out is not taken for a revocation")
	require.True(t, ends(sub), "and does not hold")
}
