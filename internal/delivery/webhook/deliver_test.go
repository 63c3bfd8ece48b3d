package webhook

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

func TestDeliverSendsAnEventToItsSubscribers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all, secret := b.endpoint()
	some, _ := b.endpoint("recovery.*")
	other := b.admin
	b.admin = b.environment("tnt_2", "env_2")
	foreign, _ := b.endpoint()
	b.admin = other

	id := b.happen("user-1")
	require.Equal(t, []string{all.ID}, b.waker.take(), "woken once, and no other endpoint")
	r := b.deliver(all, Breaker{})
	require.Nil(t, r.Next)
	b.deliver(some, Breaker{})
	b.deliver(foreign, Breaker{})

	got := b.receiver.take()
	require.Len(t, got, 1)
	require.Equal(t, id, got[0].id)
	require.JSONEq(t, `{"type":"subject.created","timestamp":"`+b.time.Now().Format("2006-01-02T15:04:05.000Z")+`",
		"data":{"environment":"env_1","subject":"user-1"}}`, string(got[0].body))
	wh, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	require.NoError(t, wh.Verify(got[0].body, got[0].header))
	require.Equal(t, map[string]int{"succeeded": 1}, b.status(all))
	require.Empty(t, b.status(some))
	require.Empty(t, b.status(foreign))

	b.happen("user-2")
	require.Equal(t, []string{all.ID}, b.waker.take(), "an idle endpoint is woken again")
	b.happen("user-3")
	require.Empty(t, b.waker.take(), "an endpoint that was just woken is not")
}

func TestRetriesRepeatIDAndBodyAndFollowTheSchedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, secret := b.endpoint()
	b.receiver.answer(500, nil)
	id := b.happen("user-1")
	wh, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	var first []byte
	for attempt := 1; attempt <= MaxAttempts; attempt++ {
		r := b.deliver(e, Breaker{}) // the schedule by itself
		got := b.receiver.take()
		require.Len(t, got, 1, "attempt %d", attempt)
		require.Equal(t, id, got[0].id)
		require.NoError(t, wh.VerifyIgnoringTimestamp(got[0].body, got[0].header))
		if first == nil {
			first = got[0].body
		}
		require.Equal(t, string(first), string(got[0].body))
		if attempt == MaxAttempts {
			require.Nil(t, r.Next)
			break
		}
		require.NotNil(t, r.Next)
		b.deliver(e, Breaker{})
		require.Empty(t, b.receiver.take(), "nothing is sent before it is due")
		b.time.Set(*r.Next)
	}
	require.Equal(t, map[string]int{"failed": 1}, b.status(e))
	rows, _, err := b.endpoints.Attempts(t.Context(), b.admin, e.ID, AttemptFilter{Event: id}, pg.Page{Limit: 50})
	require.NoError(t, err)
	require.Len(t, rows, MaxAttempts)
	require.Equal(t, "status_500", *rows[0].Error)
	require.Equal(t, MaxAttempts, rows[0].Attempt)
}

// An attempt while the clock was three hours ahead delays the next one by its pause, not by three hours.
func TestAttemptOfAClockAheadIsRepeatedOnceItIsRight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.happen("user-1")
	right := b.time.Now()
	b.receiver.answer(500, nil)
	b.time.Set(right.Add(3 * time.Hour))
	b.deliver(e, Breaker{})
	require.Len(t, b.receiver.take(), 1)
	b.time.Set(right)
	r := b.deliver(e, Breaker{})
	require.Len(t, b.receiver.take(), 1, "repeated at once, and not again before its pause")
	require.WithinDuration(t, right.Add(delays[1]), *r.Next, delays[1]/5)
}

// A clock that is behind dates events before the endpoint that was there: the log's order decides.
func TestEndpointReceivesWhatWasLoggedAfterIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.occur("before")
	b.time.Advance(time.Hour)
	e, _ := b.endpoint("subject.*")
	b.time.Advance(-3 * time.Hour)
	after := b.happen("after")
	b.time.Advance(3 * time.Hour)
	b.receiver.answer(204, nil)
	b.deliver(e, Breaker{})
	got := b.receiver.take()
	require.Len(t, got, 1)
	require.Equal(t, after, got[0].id)
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.receiver.answer(429, http.Header{"Retry-After": {"3600"}})
	b.happen("user-1")
	r := b.deliver(e, Breaker{})
	require.WithinDuration(t, b.time.Now().Add(time.Hour), *r.Next, 0)
}

func TestFailingEndpointIsProbedAndCatchesUpOnRecovery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint("subject.*")
	b.receiver.answer(503, nil)
	var want []string
	for i := range 30 {
		want = append(want, b.happen(string(rune('a'+i))))
	}
	r := b.deliver(e, Breaker{})
	require.True(t, r.Breaker.Open)
	calls := len(b.receiver.take())
	require.LessOrEqual(t, calls, Threshold+concurrency, "only deliveries under way when the breaker opened")
	require.Equal(t, r.Breaker.ProbeAt, *r.Next)
	require.Equal(t, []string{"webhook.failing"}, b.notices())
	b.waker.take()
	b.happen("later")
	require.Empty(t, b.waker.take(), "no wake-up is needed before the probe")

	b.time.Set(r.Breaker.ProbeAt)
	r = b.deliver(e, r.Breaker)
	require.Len(t, b.receiver.take(), 1, "one probe")
	require.True(t, r.Breaker.Open)

	b.receiver.answer(204, nil)
	b.time.Set(r.Breaker.ProbeAt)
	r = b.deliver(e, r.Breaker)
	require.False(t, r.Breaker.Open)
	require.Nil(t, r.Next, "everything pending is sent at once")
	require.Equal(t, map[string]int{"succeeded": 31}, b.status(e))
	got := map[string]bool{}
	for _, m := range b.receiver.take() {
		got[m.id] = true
	}
	require.Len(t, got, 31)
	for _, id := range want {
		require.True(t, got[id])
	}
	require.Equal(t, []string{"webhook.failing", "webhook.recovered"}, b.notices())
}

// lags records the delays of first attempts that an observer receives.
type lags struct {
	mu   sync.Mutex
	seen []time.Duration
}

func (l *lags) Attempted(first bool, since time.Duration, _ AttemptResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first {
		l.seen = append(l.seen, since)
	}
}

// The delay that operators are alerted to must not include waiting for a receiver that is down.
func TestObserverExcludesDelaysOfAFailingReceiver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	heard := &lags{}
	b.deliverer.observer = heard
	e, _ := b.endpoint("subject.*")
	b.receiver.answer(503, nil)
	for i := range Threshold {
		b.happen(string(rune('a' + i)))
	}
	r := b.deliver(e, Breaker{})
	require.True(t, r.Breaker.Open)
	require.Len(t, heard.seen, Threshold)
	for range 3 {
		b.happen("while it is down " + b.time.Now().String())
		b.time.Set(r.Breaker.ProbeAt)
		r = b.deliver(e, r.Breaker)
	}
	b.receiver.answer(204, nil)
	b.time.Set(r.Breaker.ProbeAt)
	r = b.deliver(e, r.Breaker)
	require.False(t, r.Breaker.Open)
	require.Equal(t, map[string]int{"succeeded": Threshold + 3}, b.status(e))
	require.Len(t, heard.seen, Threshold, "neither probes nor the backlog count")
	b.time.Advance(time.Second)
	b.happen("after")
	b.time.Advance(2 * time.Second)
	b.deliver(e, r.Breaker)
	require.Equal(t, 2*time.Second, heard.seen[Threshold])
}

// A failing endpoint is probed even if nothing is due, and a probe does not count as an attempt of its delivery.
func TestEarlyProbesDoNotCountAsAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint("subject.*")
	b.receiver.answer(500, nil)
	id := b.happen("user-1")
	r := b.deliver(e, Breaker{Failures: Threshold - 1})
	require.True(t, r.Breaker.Open)
	b.receiver.take()
	for range 3 * MaxAttempts {
		b.time.Set(*r.Next)
		r = b.deliver(e, r.Breaker)
		got := b.receiver.take()
		require.Len(t, got, 1)
		require.Equal(t, id, got[0].id)
		require.Equal(t, r.Breaker.ProbeAt, *r.Next)
	}
	require.Equal(t, map[string]int{"pending": 1}, b.status(e), "still pending after hours of failures")
	b.receiver.answer(204, nil)
	b.time.Set(*r.Next)
	r = b.deliver(e, r.Breaker)
	require.Equal(t, map[string]int{"succeeded": 1}, b.status(e))
	require.Nil(t, r.Next)
}

func TestFiveDaysOfFailureDisableAndEnableReplaysTheGap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint("subject.*")
	watcher, _ := b.endpoint("webhook.*")
	b.receiver.answer(500, nil)
	b.happen("first")
	b.deliver(e, Breaker{})
	b.time.Advance(DisableAfter)
	b.happen("second")
	b.happen("third")
	r := b.deliver(e, Breaker{})
	require.True(t, r.Gone)
	require.True(t, b.deliver(e, Breaker{}).Gone, "a disabled endpoint is not called")
	require.Equal(t, []string{"webhook.disabled"}, b.notices())
	require.Equal(t, map[string]int{"discarded": 3}, b.status(e))
	shown, err := b.endpoints.Get(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	require.Equal(t, Disabled, shown.Status)
	require.Equal(t, "failing", *shown.DisabledReason)
	b.relay()
	require.Equal(t, map[string]int{"pending": 1}, b.status(watcher), "the other endpoints receive the event")

	b.time.Advance(time.Hour)
	b.happen("while disabled")
	b.receiver.take()
	b.receiver.answer(200, nil)
	_, err = b.endpoints.Replay(t.Context(), b.admin, e.ID, Replay{})
	require.True(t, problem.Is(err, problem.EndpointDisabled))
	b.waker.take()
	shown, err = b.endpoints.Enable(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	require.Equal(t, Enabled, shown.Status)
	require.Equal(t, []string{e.ID}, b.waker.take())
	b.deliver(e, Breaker{})
	require.Equal(t, map[string]int{"succeeded": 4}, b.status(e))
	require.Len(t, b.receiver.take(), 4)
	_, err = b.endpoints.Enable(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	b.deliver(e, Breaker{})
	require.Empty(t, b.receiver.take(), "enabling twice replays nothing twice")
}

// The outbox row of an event that was recorded before the endpoint was disabled can be handled afterwards, when the fan-out skips the endpoint.
func TestEnableReplaysWhatWasFannedOutTooLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.occur("before the endpoint")
	b.time.Advance(time.Minute)
	e, _ := b.endpoint("subject.*")
	b.receiver.answer(410, nil)
	gone := b.happen("user-1")
	late := b.occur("user-2")
	b.time.Advance(time.Minute)
	require.True(t, b.deliver(e, Breaker{}).Gone)
	b.relay()
	require.Equal(t, map[string]int{"failed": 1}, b.status(e))

	b.receiver.take()
	b.receiver.answer(204, nil)
	_, err := b.endpoints.Enable(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	b.deliver(e, Breaker{})
	ids := []string{}
	for _, m := range b.receiver.take() {
		ids = append(ids, m.id)
	}
	require.ElementsMatch(t, []string{gone, late}, ids, "and nothing from before the endpoint")
}

// A gap of more events than one replay schedules is replayed completely.
func TestEnableReplaysALongGap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint("subject.*")
	_, err := b.endpoints.Update(t.Context(), b.admin, e.ID, change.Endpoint{Status: ptr(Disabled)})
	require.NoError(t, err)
	row := b.happen("user-1")
	many := fmt.Sprintf("select r.* from events e, generate_series(1, %d) n, jsonb_populate_record(e, jsonb_build_object('id', e.id || n)) r where e.id = $1", MaxReplay)
	_, err = b.st.Pool().Exec(t.Context(), "insert into events overriding user value "+many, row)
	require.NoError(t, err)
	_, err = b.endpoints.Enable(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"pending": MaxReplay + 1}, b.status(e))
}

func TestGoneDisablesTheEndpointAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint("subject.*")
	b.receiver.answer(410, nil)
	b.happen("user-1")
	require.True(t, b.deliver(e, Breaker{}).Gone)
	shown, err := b.endpoints.Get(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	require.Equal(t, "gone", *shown.DisabledReason)

	b.receiver.take()
	b.receiver.answer(204, nil)
	_, err = b.endpoints.Enable(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	b.deliver(e, Breaker{})
	require.Equal(t, map[string]int{"succeeded": 1}, b.status(e), "the delivery that got a 410 is part of the gap")
}

func TestAbortMessageEndsOneDelivery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.receiver.answer(400, http.Header{"Webhook-Delivery": {"abort-message"}})
	b.happen("user-1")
	require.Nil(t, b.deliver(e, Breaker{}).Next)
	require.Equal(t, map[string]int{"failed": 1}, b.status(e))
}

// Overlapping calls (an activity and its retry after a timeout) may send twice, with the same id, but record once.
func TestOverlappingDeliversRecordOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.receiver.hold = make(chan struct{})
	b.happen("user-1")
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := b.deliverer.Deliver(t.Context(), DeliverJob{Endpoint: e.ID}, func() {}); err != nil {
				t.Error(err)
			}
		}()
	}
	require.Eventually(t, func() bool { b.receiver.mu.Lock(); defer b.receiver.mu.Unlock(); return len(b.receiver.got) == 2 },
		20*time.Second, time.Millisecond)
	close(b.receiver.hold)
	wg.Wait()
	got := b.receiver.take()
	require.Equal(t, got[0].id, got[1].id)
	require.Equal(t, map[string]int{"succeeded": 1}, b.status(e))
}

// A worker that stops within a batch leaves deliveries with an unknown outcome to the next worker.
func TestStoppedDeliverLeavesDeliveriesPending(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.receiver.hold = make(chan struct{})
	b.happen("user-1")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.deliverer.Deliver(ctx, DeliverJob{Endpoint: e.ID}, func() {})
		done <- err
	}()
	require.Eventually(t, func() bool { b.receiver.mu.Lock(); defer b.receiver.mu.Unlock(); return len(b.receiver.got) == 1 },
		20*time.Second, time.Millisecond)
	stop()
	require.Error(t, <-done)
	close(b.receiver.hold)
	require.Equal(t, map[string]int{"pending": 1}, b.status(e))
	b.deliver(e, Breaker{})
	got := b.receiver.take()
	require.Len(t, got, 2)
	require.Equal(t, got[0].id, got[1].id)
	require.Equal(t, string(got[0].body), string(got[1].body))
}

// What was received is recorded also if the next delivery cannot be started, and Deliver ends with the error.
func TestResultsAreRecordedWhenTheNextStartFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	for range concurrency {
		b.happen("user-1")
	}
	b.happen("user-2")
	_, err := audit.EraseEvents(t.Context(), b.st.Q, b.admin.EnvironmentID, "sub_user-2", b.time.Now(), 10)
	require.NoError(t, err)
	// The delivery of the erased event is next behind the first requests, and cannot be discarded.
	_, err = b.st.Pool().Exec(t.Context(), "alter table webhook_deliveries add constraint no_discards check (status <> 'discarded')")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := b.deliverer.Deliver(t.Context(), DeliverJob{Endpoint: e.ID}, func() {})
		done <- err
	}()
	require.Eventually(t, func() bool { return len(done) == 1 }, 20*time.Second, time.Millisecond, "Deliver ends")
	require.ErrorContains(t, <-done, "no_discards")
	require.Equal(t, map[string]int{"succeeded": concurrency, "pending": 1}, b.status(e))
}

// A success that is being recorded when the worker stops is recorded: otherwise its event would be sent again.
func TestASuccessIsRecordedWhileTheWorkerStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.happen("user-1")
	holder, err := b.st.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "select from webhook_deliveries for update")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.deliverer.Deliver(ctx, DeliverJob{Endpoint: e.ID}, func() {})
		done <- err
	}()
	require.Eventually(t, func() bool { return storetest.Waiting(t, b.st) > 0 }, 20*time.Second, time.Millisecond)
	stop()
	require.NoError(t, holder.Rollback(t.Context()))
	require.ErrorIs(t, <-done, context.Canceled)
	require.Equal(t, map[string]int{"succeeded": 1}, b.status(e))
}

// A Deliver that ends before it has lingered leaves its endpoint to the fan-out, which otherwise would not wake the workflow for the events of
// the next seconds.
func TestEndedDeliverLetsTheNextEventWakeItsWorkflow(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	close(stop)
	for name, end := range map[string]func(d *Deliverer, job *DeliverJob){
		"budget":  func(d *Deliverer, _ *DeliverJob) { d.budget = time.Nanosecond },
		"stopped": func(_ *Deliverer, job *DeliverJob) { job.Stop = stop },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			e, _ := b.endpoint("subject.*")
			job := DeliverJob{Endpoint: e.ID, Workflow: "endpoint/" + e.ID}
			b.deliverer.linger = time.Hour
			end(b.deliverer, &job)
			result, err := b.deliverer.Deliver(t.Context(), job, func() {})
			require.NoError(t, err)
			require.Nil(t, result.Next, "the workflow waits for a signal")
			b.happen("u1")
			require.Equal(t, []string{e.ID}, b.waker.take())
		})
	}
}
