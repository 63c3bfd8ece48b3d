package integration_test

import (
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/testing/faultproxy"
	"github.com/countersign-dev/countersign/workflows"
)

// proxied is an API on the shared data that reaches Postgres and Temporal through proxies.
type proxied struct {
	url                string
	database, temporal *faultproxy.Proxy
}

func newProxied(t *testing.T) proxied {
	t.Helper()
	return newProxiedDatabase(t, shared.database)
}

// newProxiedDatabase starts an API that connects to the database by its own URL.
func newProxiedDatabase(t *testing.T, database string) proxied {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	b := proxied{}
	b.database, err = faultproxy.New(u.Host)
	require.NoError(t, err)
	t.Cleanup(b.database.Close)
	b.temporal, err = faultproxy.New(shared.address)
	require.NoError(t, err)
	t.Cleanup(b.temporal.Close)
	core := open(t, wiring.Settings{Log: shared.log, DatabaseURL: b.database.URL(database), Keys: shared.keys, BaseURL: shared.BaseURL})
	p, err := wiring.New(core, wiring.Options{Temporal: workflows.DialOptions{Address: b.temporal.Address(), Namespace: shared.namespace}})
	require.NoError(t, err)
	b.url = start(t, p, listen(t), false)
	return b
}

// countStatuses sends n requests at once and counts the responses by status. Each 503 must have a Retry-After.
func countStatuses(t *testing.T, n int, send func() (response, error)) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := map[int]int{}
	concurrently(n, func(int) {
		a, err := send()
		mu.Lock()
		defer mu.Unlock()
		statuses[a.status]++
		if err != nil || (a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "") {
			t.Errorf("no response, or 503 without Retry-After: %v %s", err, a.body)
		}
	})
	return statuses
}

func TestSlowPostgresShedsLoad(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	b := newProxied(t)
	caller := w.Server.at(b.url)
	caller.post(t, "/api/v1/authorize", request(subject, action)).is(200)

	b.database.Slow(60 * time.Millisecond)
	got := countStatuses(t, 500, func() (response, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
	require.Positive(t, got[http.StatusOK], "some succeed: %v", got)
	require.Positive(t, got[http.StatusServiceUnavailable], "the rest are refused with 503: %v", got)
	require.Equal(t, 500, got[http.StatusOK]+got[http.StatusServiceUnavailable], "there is no other status: %v", got)

	b.database.Slow(0)
	eventually(t, func() bool {
		a, err := caller.send("POST", "/api/v1/authorize", request(subject, action))
		return err == nil && a.status == http.StatusOK
	}, "the service recovers")
}

func TestUnresponsivePostgresIsUnavailable(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	b := newProxied(t)
	caller := w.Server.at(b.url)
	caller.post(t, "/api/v1/authorize", request(subject, action)).is(200)

	b.database.Set(faultproxy.Silent)
	got := countStatuses(t, 100, func() (response, error) { return caller.send("POST", "/api/v1/authorize", request(subject, action)) })
	require.Equal(t, map[int]int{http.StatusServiceUnavailable: 100}, got)

	b.database.Set(faultproxy.Passing)
	eventually(t, func() bool {
		a, err := caller.send("POST", "/api/v1/authorize", request(subject, action))
		return err == nil && a.status == http.StatusOK
	}, "the service recovers")
}

// pendingHold is an API behind proxies with a pending hold and an action that is allowed.
type pendingHold struct {
	proxied
	caller         caller
	subject        string
	hold, allowing string
}

func newPendingHold(t *testing.T) pendingHold {
	t.Helper()
	w := newSandbox(t)
	_, held := w.action(t, "enforce", holding)
	_, allowed := w.action(t, "enforce", allowing)
	h := pendingHold{proxied: newProxied(t), subject: w.subject(t), allowing: allowed}
	h.caller = w.Server.at(h.url)
	h.hold = h.caller.post(t, "/api/v1/authorize", request(h.subject, held)).is(200).string("id")
	return h
}

func (h pendingHold) review() (response, error) {
	return h.caller.send("POST", "/api/v1/authorizations/"+h.hold+"/review", object{"resolution": "approve"})
}

// atOnce is the number of decisions that are requested beside the reviews: fewer than a tenant's share of the slots, so that none of
// them queues, however slow the machine is.
const atOnce = 30

// countStatuses requests n reviews of the hold and some decisions at once and counts the responses by status.
func (h pendingHold) countStatuses(t *testing.T, n int) (reviews, decisions map[int]int) {
	t.Helper()
	concurrently(2, func(i int) {
		if i == 0 {
			reviews = countStatuses(t, n, h.review)
			return
		}
		decisions = countStatuses(t, atOnce, func() (response, error) {
			return h.caller.send("POST", "/api/v1/authorize", request(h.subject, h.allowing))
		})
	})
	return reviews, decisions
}

func (h pendingHold) requireReviewed(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		a, err := h.review()
		return err == nil && a.status == http.StatusOK
	}, "the review succeeds when Temporal is back")
}

func TestUnresponsiveTemporalDelaysNoDecision(t *testing.T) {
	t.Parallel()
	h := newPendingHold(t)
	h.temporal.Set(faultproxy.Silent)
	reviews, decisions := h.countStatuses(t, 80)
	require.Equal(t, map[int]int{http.StatusServiceUnavailable: 80}, reviews)
	require.Equal(t, map[int]int{http.StatusOK: atOnce}, decisions)

	h.temporal.Set(faultproxy.Passing)
	h.requireReviewed(t)
}
