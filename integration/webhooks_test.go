package integration_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// attempts lists those of an endpoint, newest first.
func (w world) attempts(t *testing.T, hook, query string) []map[string]any {
	t.Helper()
	return w.Admin.get(t, hook+"/attempts"+query).is(200).list()
}

// heard counts how often each message came.
func (r *relyingParty) heard(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, d := range r.got {
		if d.ID == id {
			n++
		}
	}
	return n
}

// An endpoint that fails five times in a row is told of and probed; the probe that succeeds is told of too, and what waited
// is there at once.
func TestWebhookEndpointRecoversAfterFailures(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	r, watcher := newRelyingParty(t), newRelyingParty(t)
	r.answer(http.StatusInternalServerError)
	hook := w.hook(t, r, "subject.*")
	w.hook(t, watcher, "webhook.*")
	for range 8 {
		w.subject(t)
	}
	notices := func() (types []string) {
		for _, e := range w.Server.get(t, "/api/v1/activity?type=webhook.*").is(200).list() {
			types = append([]string{e["type"].(string)}, types...)
		}
		return types
	}
	eventually(t, func() bool { return len(notices()) == 1 }, "five failures open the breaker")
	require.Equal(t, []string{"webhook.failing"}, notices())
	failed := w.attempts(t, hook, "?status=failed")
	require.NotEmpty(t, failed)
	require.Equal(t, "status_500", failed[0]["error"])
	require.EqualValues(t, 500, failed[0]["status_code"])

	r.answer(http.StatusOK)
	eventually(t, func() bool { return len(w.attempts(t, hook, "?status=succeeded")) == 8 }, "the probe brings everything")
	require.Equal(t, []string{"webhook.failing", "webhook.recovered"}, notices())
	eventually(t, func() bool { return len(watcher.types()) == 2 }, "another endpoint hears of it")
	for _, a := range w.attempts(t, hook, "?status=succeeded") {
		require.EqualValues(t, 200, a["status_code"])
		require.Regexp(t, "^sha256:", a["response_digest"])
		require.GreaterOrEqual(t, a["latency_ms"], float64(0))
		require.Nil(t, a["error"])
	}
	require.NoError(t, r.fault)
}

// One message is sent again by its id, a range by its times, and everything that failed by one call; each under its own id.
func TestWebhookReplaySelectsEvents(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	r := newRelyingParty(t)
	hook := w.hook(t, r, "subject.created")
	w.subject(t)
	between := time.Now().UTC().Add(time.Millisecond)
	<-time.After(5 * time.Millisecond)
	w.subject(t)
	eventually(t, func() bool { return len(r.types()) == 2 }, "both arrive")
	list := w.Server.get(t, "/api/v1/activity?type=subject.created").is(200).list()
	second, first := list[0]["id"].(string), list[1]["id"].(string)
	eventually(t, func() bool { return len(w.attempts(t, hook, "?status=succeeded")) == 2 }, "both are recorded")

	replay := func(body object, scheduled int) {
		require.EqualValues(t, scheduled, w.Admin.post(t, hook+"/replay", body).is(202).value("scheduled"))
	}
	replay(object{"event": first}, 1)
	eventually(t, func() bool { return r.heard(first) == 2 }, "one again")
	eventually(t, func() bool { return len(w.attempts(t, hook, "?status=succeeded")) == 3 }, "and recorded")
	replay(object{"since": between.Format(time.RFC3339Nano), "status": "all"}, 1)
	eventually(t, func() bool { return r.heard(second) == 2 }, "a range again")
	require.Equal(t, 2, r.heard(first))
	replay(object{}, 0)

	refuses := newRelyingParty(t)
	broken := w.hook(t, refuses, "subject.created")
	refuses.mu.Lock()
	refuses.header = http.Header{"Webhook-Delivery": {"abort-message"}}
	refuses.status = http.StatusInternalServerError
	refuses.mu.Unlock()
	w.subject(t)
	w.subject(t)
	eventually(t, func() bool { return len(w.attempts(t, broken, "?status=failed")) == 2 }, "failed for good")
	refuses.mu.Lock()
	refuses.header, refuses.status = nil, http.StatusOK
	refuses.mu.Unlock()
	require.EqualValues(t, 2, w.Admin.post(t, broken+"/replay", nil).is(202).value("scheduled"))
	eventually(t, func() bool { return len(w.attempts(t, broken, "?status=succeeded")) == 2 }, "all that failed again")
}

func TestEventStreamsAreLimitedPerEnvironment(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for range 100 {
		w.follow(t, "?type=webhook.*", "")
	}
	a := w.Server.get(t, "/api/v1/events/stream").problem(429, "too_many_streams")
	require.NotEmpty(t, a.header.Get("Retry-After"))
}
