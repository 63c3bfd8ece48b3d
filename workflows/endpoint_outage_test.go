package workflows_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/worker"
	"github.com/countersign-dev/countersign/workflows"
)

// runTime is the clock of a run whose time is skipped.
type runTime struct {
	env *testsuite.TestWorkflowEnvironment
}

func (c *runTime) Now() time.Time { return c.env.Now().UTC().Truncate(time.Microsecond) }

// outage is a receiver that is down until a time, and what each message met at it.
type outage struct {
	clock *runTime
	until time.Time
	mu    sync.Mutex
	tries map[string][]time.Duration // by webhook-id, since the start
	got   map[string]time.Duration
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	now, id := o.clock.Now(), r.Header.Get("webhook-id")
	o.tries[id] = append(o.tries[id], now.Sub(start))
	if now.Before(o.until) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	o.got[id] = now.Sub(start)
}

// down is the webhook side on a real database, in a run whose time is skipped, before a receiver that is down for a while.
type down struct {
	*fixture.World
	t        *testing.T
	env      *testsuite.TestWorkflowEnvironment
	receiver *outage
	endpoint models.WebhookEndpoint
	fan      *webhook.FanOut
	manage   *webhook.Endpoints
}

func setupDown(t *testing.T, length time.Duration) *down {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	log, sender := slog.New(slog.DiscardHandler), webhook.NewSender(webhook.Policy{AllowLoopback: true})
	t.Cleanup(sender.Close)
	clock, d := &runTime{}, &down{t: t, World: fixture.New(t, testenv.Store(t), start)}
	deps := webhook.Deps{Store: d.Store, Clock: clock, Keyring: keys, Sender: sender, Waker: noWaker{}, Log: log}
	deliverer := webhook.NewDeliverer(deps, webhook.DeliverOptions{Linger: time.Nanosecond, Poll: time.Millisecond})
	d.env = environment(t, worker.Services{Endpoints: deliverer})
	d.env.SetTestTimeout(2 * time.Minute)
	clock.env = d.env
	d.receiver = &outage{clock: clock, until: start.Add(length), tries: map[string][]time.Duration{}, got: map[string]time.Duration{}}
	srv := httptest.NewServer(d.receiver)
	t.Cleanup(srv.Close)
	d.fan, d.manage = webhook.NewFanOut(deps), webhook.NewEndpoints(deps)
	d.endpoint, _, err = d.manage.Create(t.Context(), d.Principal("crd_1"), change.Endpoint{URL: &srv.URL, Events: &[]string{"subject.*"}})
	require.NoError(t, err)
	return d
}

// happen logs an event, fans it out and wakes the run, as the relay would.
func (d *down) happen() string {
	d.t.Helper()
	row, err := events.Row(events.Entry{Scope: d.Scope, Data: events.SubjectCreatedData{}, At: d.receiver.clock.Now(), Subject: "user-4711",
		SubjectUID: d.Subject.UID, Actor: "credential:crd_1"})
	require.NoError(d.t, err)
	require.NoError(d.t, d.Store.Write(d.t.Context(), func(q *pg.Q) error { return events.InsertEvent(d.t.Context(), q, row, true) }))
	require.NoError(d.t, d.fan.Handle(d.t.Context(), models.Outbox{EnvironmentID: d.Scope.Environment, Ref: row.ID}))
	d.env.SignalWorkflow(workflows.SignalWake, workflows.EndpointWake{})
	return row.ID
}

func (d *down) run() {
	d.t.Helper()
	d.env.ExecuteWorkflow(workflows.NameEndpoint, workflows.EndpointInput{Endpoint: d.endpoint.ID, Environment: d.Scope.Environment})
	require.True(d.t, d.env.IsWorkflowCompleted())
	require.NoError(d.t, d.env.GetWorkflowError(), "with nothing owed any more the run ends")
}

// A receiver that is down for a day gets everything, what was logged before and during the day, within minutes of its
// return; the schedule of a delivery is kept while it is the only one.
func TestEndpointDeliversEverythingAfterOutageOfADay(t *testing.T) {
	t.Parallel()
	const length = 24 * time.Hour
	d := setupDown(t, length)
	first := ""
	var ids []string
	d.env.RegisterDelayedCallback(func() { first = d.happen(); ids = append(ids, first) }, 0)
	for hour := 3; hour < 24; hour++ {
		d.env.RegisterDelayedCallback(func() { ids = append(ids, d.happen()) }, time.Duration(hour)*time.Hour)
	}
	d.run()

	at := d.receiver.tries[first]
	pauses := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}
	require.Greater(t, len(at), len(pauses))
	for i, want := range pauses {
		require.InEpsilon(t, want, at[i+1]-at[i], 0.11, "pause %d", i+1)
	}
	for _, id := range ids {
		require.Contains(t, d.receiver.got, id)
		require.Less(t, d.receiver.got[id], length+6*time.Minute, "a probe finds it back within five minutes, and the rest follows at once")
	}
	require.Len(t, d.receiver.got, len(ids))
	require.Equal(t, len(ids), d.Count("select count(*) from webhook_deliveries where status = 'succeeded'"))
	require.Equal(t, 1, d.Events("webhook.failing"))
	require.Equal(t, 1, d.Events("webhook.recovered"))
}

// noWaker is a waker that starts no workflow: the test does.
type noWaker struct{}

func (noWaker) WakeEndpoint(context.Context, string, string, bool) error { return nil }
