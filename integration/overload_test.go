package integration_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/bench/harness"
	"github.com/countersign-dev/countersign/workflows"
)

// behind is an API on the shared data that reaches Postgres and Temporal through proxies.
type behind struct {
	url                string
	database, temporal *harness.Proxy
}

func newBehind(t *testing.T) behind {
	t.Helper()
	return newBehindAs(t, shared.database)
}

// newBehindAs is for an API that is another user of the database than the rest.
func newBehindAs(t *testing.T, database string) behind {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	b := behind{}
	b.database, err = harness.NewProxy(u.Host)
	require.NoError(t, err)
	t.Cleanup(b.database.Close)
	b.temporal, err = harness.NewProxy(shared.address)
	require.NoError(t, err)
	t.Cleanup(b.temporal.Close)
	core, err := wiring.Open(t.Context(), wiring.Settings{
		Log: shared.log, DatabaseURL: b.database.URL(database), Keys: shared.keys, BaseURL: shared.BaseURL,
	})
	require.NoError(t, err)
	p, err := wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: b.temporal.Address(), Namespace: shared.namespace}})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.url = "http://" + l.Addr().String()
	stop, err := p.StartAPI(context.WithoutCancel(t.Context()), make(chan error, 2), l)
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		p.Close()
		p.Core.Close()
	})
	return b
}

// tally sends n requests at once and counts the answers by status. Whoever is told to come again is told when.
func tally(t *testing.T, n int, send func() (answer, error)) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := map[int]int{}
	together(n, func(int) {
		a, err := send()
		mu.Lock()
		defer mu.Unlock()
		statuses[a.status]++
		if err != nil || (a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "") {
			t.Errorf("no answer, or 503 without Retry-After: %v %s", err, a.body)
		}
	})
	return statuses
}

func TestSlowPostgresShedsLoad(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	b := newBehind(t)
	caller := w.Server.at(b.url)
	caller.post(t, "/api/v1/authorize", request(subject, action)).is(200)

	b.database.Slow(60 * time.Millisecond)
	got := tally(t, 500, func() (answer, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
	require.Positive(t, got[http.StatusOK], "some are worked on: %v", got)
	require.Positive(t, got[http.StatusServiceUnavailable], "the rest come again: %v", got)
	require.Equal(t, 500, got[http.StatusOK]+got[http.StatusServiceUnavailable], "and nothing else happens: %v", got)

	b.database.Slow(0)
	eventually(t, func() bool {
		a, err := caller.send("POST", "/api/v1/authorize", request(subject, action))
		return err == nil && a.status == http.StatusOK
	}, "it recovers")
}

func TestUnresponsivePostgresIsUnavailable(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	b := newBehind(t)
	caller := w.Server.at(b.url)
	caller.post(t, "/api/v1/authorize", request(subject, action)).is(200)

	b.database.Set(harness.Silent)
	got := tally(t, 100, func() (answer, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
	require.Equal(t, map[int]int{http.StatusServiceUnavailable: 100}, got)

	b.database.Set(harness.Passing)
	eventually(t, func() bool {
		a, err := caller.send("POST", "/api/v1/authorize", request(subject, action))
		return err == nil && a.status == http.StatusOK
	}, "it recovers")
}

// onHold is an API behind proxies with a hold that waits for its review, and with an action that is allowed.
type onHold struct {
	behind
	caller         caller
	subject        string
	hold, allowing string
}

func newOnHold(t *testing.T) onHold {
	t.Helper()
	w := newSandbox(t)
	_, held := w.action(t, "enforce", holding)
	_, allowed := w.action(t, "enforce", allowing)
	h := onHold{behind: newBehind(t), subject: w.subject(t), allowing: allowed}
	h.caller = w.Server.at(h.url)
	h.hold = h.caller.post(t, "/api/v1/authorize", request(h.subject, held)).is(200).string("id")
	return h
}

func (h onHold) review() (answer, error) {
	return h.caller.send("POST", "/api/v1/authorizations/"+h.hold+"/review", object{"resolution": "approve"})
}

// tally asks for n reviews of the hold and for forty decisions, all at once, and counts the answers by status.
func (h onHold) tally(t *testing.T, n int) (reviews, decisions map[int]int) {
	t.Helper()
	together(2, func(i int) {
		if i == 0 {
			reviews = tally(t, n, h.review)
			return
		}
		decisions = tally(t, 40, func() (answer, error) {
			return h.caller.send("POST", "/api/v1/authorize", request(h.subject, h.allowing))
		})
	})
	return reviews, decisions
}

func (h onHold) reviewed(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		a, err := h.review()
		return err == nil && a.status == http.StatusOK
	}, "the review is made once Temporal answers")
}

func TestUnresponsiveTemporalDelaysNoDecision(t *testing.T) {
	t.Parallel()
	h := newOnHold(t)
	h.temporal.Set(harness.Silent)
	reviews, decisions := h.tally(t, 80)
	require.Equal(t, map[int]int{http.StatusServiceUnavailable: 80}, reviews)
	require.Equal(t, map[int]int{http.StatusOK: 40}, decisions)

	h.temporal.Set(harness.Passing)
	h.reviewed(t)
}
