package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func TestRotationSignsWithBothUntilTheOverlapEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, before := b.endpoint()
	_, after, err := b.endpoints.Rotate(t.Context(), b.admin, e.ID, time.Hour)
	require.NoError(t, err)
	_, _, err = b.endpoints.Rotate(t.Context(), b.admin, e.ID, time.Hour)
	require.True(t, problem.Is(err, problem.RotationInProgress))
	verify := func(secret string) error {
		_, err := b.endpoints.Test(t.Context(), b.admin, e.ID)
		require.NoError(t, err)
		got := b.receiver.take()
		require.Len(t, got, 1)
		wh, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		return wh.VerifyIgnoringTimestamp(got[0].body, got[0].header)
	}
	require.NoError(t, verify(before))
	require.NoError(t, verify(after))
	b.time.Advance(time.Hour)
	require.Error(t, verify(before))
	require.NoError(t, verify(after))
	_, _, err = b.endpoints.Rotate(t.Context(), b.admin, e.ID, 0)
	require.NoError(t, err)
	require.Error(t, verify(after), "an overlap of zero ends the old secret at once")
}

func TestReplaySchedulesSelectedDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	early := b.happen("before the endpoint")
	b.time.Advance(time.Minute)
	e, _ := b.endpoint("subject.*")
	good := b.happen("good")
	b.deliver(e, Breaker{})
	b.time.Advance(time.Minute)
	middle := b.time.Now()
	b.receiver.answer(400, http.Header{"Webhook-Delivery": {"abort-message"}})
	bad := b.happen("bad")
	b.deliver(e, Breaker{})
	b.receiver.take()
	b.receiver.answer(200, nil)

	for _, c := range []struct {
		name string
		r    Replay
		want []string
	}{
		{"failed deliveries", Replay{Status: "failed"}, []string{bad}},
		{"no failed delivery left", Replay{}, nil},
		{"an event by its id", Replay{Event: good}, []string{good}},
		{"an event from before the endpoint", Replay{Event: early}, []string{early}},
		{"a range", Replay{Status: "succeeded", Since: &middle}, []string{bad}},
		{"an empty range", Replay{Status: "all", Until: ptr(middle.Add(-time.Hour))}, nil},
		{"all", Replay{Status: "all"}, []string{good, bad, early}},
	} {
		n, err := b.endpoints.Replay(t.Context(), b.admin, e.ID, c.r)
		require.NoError(t, err, c.name)
		require.EqualValues(t, len(c.want), n, c.name)
		b.deliver(e, Breaker{})
		ids := []string{}
		for _, m := range b.receiver.take() {
			ids = append(ids, m.id)
		}
		require.ElementsMatch(t, c.want, ids, c.name)
	}
	_, err := b.endpoints.Replay(t.Context(), b.admin, e.ID, Replay{Event: "evt_nothing"})
	require.ErrorIs(t, err, pg.ErrNotFound)
}

// Calls of a replay of all reach what is missed and, one after the other, everything: what was sent again last comes last.
func TestReplayOfAllReachesEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	early := b.happen("before the endpoint")
	e, _ := b.endpoint("subject.*")
	const settled = `insert into webhook_deliveries (id, environment_id, endpoint_id, event_id, type, status, next_attempt_at, created_at, settled_at)
		select 'whd_' || n, 'env_1', $1, 'evt_' || n, 'subject.created', 'succeeded', $2, $2, $2 from generate_series(1, $3::int) n`
	_, err := b.st.Pool().Exec(t.Context(), settled, e.ID, b.time.Now(), MaxReplay)
	require.NoError(t, err)
	n, err := b.endpoints.Replay(t.Context(), b.admin, e.ID, Replay{Status: "all"})
	require.NoError(t, err)
	require.EqualValues(t, MaxReplay, n)
	missed := func() (n int) {
		require.NoError(t, b.st.Pool().QueryRow(t.Context(), "select count(*) from webhook_deliveries where event_id = $1 and status = 'pending'", early).Scan(&n))
		return n
	}
	require.Equal(t, 1, missed(), "the missed event is scheduled beside as many deliveries as fit")
	require.Equal(t, map[string]int{"pending": MaxReplay, "succeeded": 1}, b.status(e))
}

func ptr[T any](v T) *T { return &v }

func TestErasedEventsAreNotDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.happen("user-1")
	_, err := audit.EraseEvents(t.Context(), b.st.Q, b.admin.EnvironmentID, "sub_user-1", b.time.Now(), 10)
	require.NoError(t, err)
	b.deliver(e, Breaker{})
	require.Empty(t, b.receiver.take())
	require.Equal(t, map[string]int{"discarded": 1}, b.status(e))
	n, err := b.endpoints.Replay(t.Context(), b.admin, e.ID, Replay{Status: "all"})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	b.deliver(e, Breaker{})
	require.Empty(t, b.receiver.take())
}

// Deliveries are read ahead of a slow receiver: what is erased while they wait for it is not sent.
func TestEventsErasedBehindASlowReceiverAreNotDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.receiver.hold = make(chan struct{})
	for range concurrency {
		b.happen("user-1")
	}
	b.happen("user-2")
	done := make(chan DeliverResult, 1)
	go func() { done <- b.deliver(e, Breaker{}) }()
	require.Eventually(t, func() bool {
		b.receiver.mu.Lock()
		defer b.receiver.mu.Unlock()
		return len(b.receiver.got) == concurrency
	},
		20*time.Second, time.Millisecond)
	_, err := audit.EraseEvents(t.Context(), b.st.Q, b.admin.EnvironmentID, "sub_user-2", b.time.Now(), 10)
	require.NoError(t, err)
	b.time.Advance(time.Second)
	close(b.receiver.hold)
	<-done
	require.Len(t, b.receiver.take(), concurrency)
	require.Equal(t, map[string]int{"succeeded": concurrency, "discarded": 1}, b.status(e))
}

func TestSweepWakesOverdueEndpoints(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	b.waker.err = context.DeadlineExceeded
	b.happen("user-1")
	b.waker.take()
	b.waker.err = nil
	n, err := b.fan.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "not yet overdue")
	b.time.Advance(2 * overdueAfter)
	n, err = b.fan.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{e.ID}, b.waker.take())
	b.deliver(e, Breaker{})
	n, err = b.fan.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestEndpointsCreateUpdateAndDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	for _, d := range []change.Endpoint{{URL: ptr("http://hooks.example.com/")}, {URL: ptr("https://10.0.0.1/")}, {URL: &b.receiver.url, Events: &[]string{"no.such"}},
		{URL: &b.receiver.url, Events: &[]string{"action.created"}}, {URL: &b.receiver.url, Events: &[]string{"hold.*", "hold.*"}}} {
		_, _, err := b.endpoints.Create(ctx, b.admin, d)
		require.True(t, problem.Is(err, problem.Unprocessable), "%v", d)
	}
	e, _ := b.endpoint("subject.*")
	stranger := b.environment("tnt_2", "env_2")
	_, err := b.endpoints.Get(ctx, stranger, e.ID)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = b.endpoints.Update(ctx, stranger, e.ID, change.Endpoint{Status: ptr(Disabled)})
	require.ErrorIs(t, err, pg.ErrNotFound)
	require.ErrorIs(t, b.endpoints.Delete(ctx, stranger, e.ID), pg.ErrNotFound)
	_, _, err = b.endpoints.Rotate(ctx, stranger, e.ID, 0)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = b.endpoints.Test(ctx, stranger, e.ID)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = b.endpoints.Replay(ctx, stranger, e.ID, Replay{})
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = b.endpoints.Enable(ctx, stranger, e.ID)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, _, err = b.endpoints.Attempts(ctx, stranger, e.ID, AttemptFilter{}, pg.Page{Limit: 5})
	require.ErrorIs(t, err, pg.ErrNotFound)

	b.happen("user-1")
	changed, err := b.endpoints.Update(ctx, b.admin, e.ID, change.Endpoint{Status: ptr(Disabled), Description: ptr("off"), Events: &[]string{"*"}})
	require.NoError(t, err)
	require.Equal(t, "manual", *changed.DisabledReason)
	require.Equal(t, map[string]int{"discarded": 1}, b.status(e))
	changed, err = b.endpoints.Update(ctx, b.admin, e.ID, change.Endpoint{Status: ptr(Enabled)})
	require.NoError(t, err)
	require.Nil(t, changed.DisabledReason)
	require.Equal(t, models.Strings{"*"}, changed.Events)
	require.Equal(t, "off", changed.Description)
	require.Equal(t, map[string]int{"discarded": 1}, b.status(e), "a patch replays nothing")

	require.NoError(t, b.endpoints.Delete(ctx, b.admin, e.ID))
	require.ErrorIs(t, b.endpoints.Delete(ctx, b.admin, e.ID), pg.ErrNotFound)
	require.True(t, b.deliver(e, Breaker{}).Gone)
	list, _, err := b.endpoints.List(ctx, b.admin, pg.Page{Limit: 5})
	require.NoError(t, err)
	require.Empty(t, list)

	logged := []string{string(events.WebhookEndpointCreated), string(events.WebhookEndpointUpdated), string(events.WebhookEndpointDeleted)}
	rows, _, err := events.QueryActivity(ctx, b.st.Q, b.admin.Store(), events.ActivityFilter{Types: logged}, pg.Page{Limit: 50})
	require.NoError(t, err)
	require.Len(t, rows, 4, "one creation, two updates, one deletion")
	for _, r := range rows {
		require.NotContains(t, string(r.Data), "whsec_")
	}
}

func TestCreateLimitsTheNumberOfEndpoints(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range MaxEndpoints {
		b.endpoint()
	}
	_, _, err := b.endpoints.Create(t.Context(), b.admin, change.Endpoint{URL: ptr(b.receiver.url)})
	require.True(t, problem.Is(err, problem.Conflict))
}

func TestTestReturnsTheResponse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	r, err := b.endpoints.Test(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	require.True(t, r.Succeeded)
	got := b.receiver.take()
	require.Equal(t, r.Event, got[0].id)
	var m events.Message
	require.NoError(t, json.Unmarshal(got[0].body, &m))
	require.Equal(t, "webhook.test", m.Type)
	require.Equal(t, e.ID, m.Data["endpoint"])
	b.receiver.answer(500, nil)
	r, err = b.endpoints.Test(t.Context(), b.admin, e.ID)
	require.NoError(t, err)
	require.Equal(t, "status_500", r.Error)
	require.Len(t, b.receiver.take(), 1)

	attempts, _, err := b.endpoints.Attempts(t.Context(), b.admin, e.ID, AttemptFilter{}, pg.Page{Limit: 50})
	require.NoError(t, err)
	var listed []string
	for _, a := range attempts {
		require.Equal(t, "webhook.test", a.Type)
		require.Equal(t, 1, a.Attempt)
		listed = append(listed, a.Status)
	}
	require.ElementsMatch(t, []string{"failed", "succeeded"}, listed)
	for _, status := range []string{"failed", "all"} {
		again, err := b.endpoints.Replay(t.Context(), b.admin, e.ID, Replay{Status: status})
		require.NoError(t, err)
		require.Zero(t, again, "tests are not sent again: %s", status)
	}
}
