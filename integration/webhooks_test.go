package integration_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Five failures in a row are reported and the endpoint is probed. A successful probe is reported too, and the waiting messages
// are delivered at once.
func TestWebhookEndpointRecoversAfterFailures(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	r, watcher := newReceiver(t), newReceiver(t)
	r.respondWith(http.StatusInternalServerError)
	hook := w.subscribe(t, r, "subject.*")
	w.subscribe(t, watcher, "webhook.*")
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

	r.respondWith(http.StatusOK)
	eventually(t, func() bool { return len(w.attempts(t, hook, "?status=succeeded")) == 8 }, "the probe succeeds and every message is delivered")
	require.Equal(t, []string{"webhook.failing", "webhook.recovered"}, notices())
	eventually(t, func() bool { return len(watcher.types()) == 2 }, "another endpoint is notified")
	for _, a := range w.attempts(t, hook, "?status=succeeded") {
		require.EqualValues(t, 200, a["status_code"])
		require.Regexp(t, "^sha256:", a["response_digest"])
		require.GreaterOrEqual(t, a["latency_ms"], float64(0))
		require.Nil(t, a["error"])
	}
	require.NoError(t, r.fault)
}

// A replay selects one event by its id, a range by time, or every failed delivery. Each message keeps its id.
func TestWebhookReplaySelectsEvents(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	r := newReceiver(t)
	hook := w.subscribe(t, r, "subject.created")
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
	eventually(t, func() bool { return r.deliveries(first) == 2 }, "one message is replayed")
	eventually(t, func() bool { return len(w.attempts(t, hook, "?status=succeeded")) == 3 }, "and the attempt is recorded")
	replay(object{"since": between.Format(time.RFC3339Nano), "status": "all"}, 1)
	eventually(t, func() bool { return r.deliveries(second) == 2 }, "a range is replayed")
	require.Equal(t, 2, r.deliveries(first))
	replay(object{}, 0)

	refuses := newReceiver(t)
	broken := w.subscribe(t, refuses, "subject.created")
	refuses.mu.Lock()
	refuses.header = http.Header{"Webhook-Delivery": {"abort-message"}}
	refuses.status = http.StatusInternalServerError
	refuses.mu.Unlock()
	w.subject(t)
	w.subject(t)
	eventually(t, func() bool { return len(w.attempts(t, broken, "?status=failed")) == 2 }, "both have failed permanently")
	refuses.mu.Lock()
	refuses.header, refuses.status = nil, http.StatusOK
	refuses.mu.Unlock()
	require.EqualValues(t, 2, w.Admin.post(t, broken+"/replay", nil).is(202).value("scheduled"))
	eventually(t, func() bool { return len(w.attempts(t, broken, "?status=succeeded")) == 2 }, "every failed message is replayed")
}

func TestWebhookEndpointUpdateAndRotation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	made := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example.com/in", "events": []string{"hold.*"}}).is(201)
	require.True(t, strings.HasPrefix(made.string("secret"), "whsec_"))
	path := "/api/v1/webhook-endpoints/" + made.string("id")
	changed := w.Admin.patch(t, path, object{"events": []string{"*"}, "description": "All"}).is(200)
	require.Equal(t, []string{"*"}, changed.strings("events"))
	require.Len(t, w.Admin.get(t, "/api/v1/webhook-endpoints").is(200).list(), 1)
	rotated := w.Admin.post(t, path+"/rotate", object{"overlap_seconds": 60}).is(200)
	require.NotEqual(t, made.string("secret"), rotated.string("secret"))
	w.Admin.post(t, path+"/rotate", nil).problem(409, "rotation_in_progress")
	w.Admin.post(t, path+"/replay", object{"status": "all"}).is(202)
}

func TestWebhookEndpointIsDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	r := newReceiver(t)
	hook := w.subscribe(t, r, "subject.*")
	result := w.Admin.post(t, hook+"/test", nil).is(200)
	require.Equal(t, true, result.value("delivered"))
	r.respondWith(http.StatusGone)
	w.subject(t)
	require.Eventually(t, func() bool { return w.Admin.get(t, hook).is(200).string("status") == "disabled" }, patience, 20*time.Millisecond)
	require.Equal(t, "gone", w.Admin.get(t, hook).is(200).string("disabled_reason"))
	w.subject(t)
	w.Admin.post(t, hook+"/replay", nil).problem(409, "endpoint_disabled")
	r.respondWith(http.StatusOK)
	w.Admin.post(t, hook+"/enable", nil).is(200)
	require.Eventually(t, func() bool {
		var list []map[string]any
		w.Admin.get(t, hook+"/attempts?status=succeeded").is(200).into(&list)
		return len(list) == 3
	}, patience, 20*time.Millisecond, "the test was delivered, and both messages are replayed")
	require.NoError(t, r.fault)

	w.Server.get(t, hook).problem(403, "insufficient_scope")
	newSandbox(t).Admin.get(t, hook).problem(404, "not_found")
	w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://169.254.169.254/"}).is(422)
	w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": r.url, "events": []string{"credential.created"}}).is(422)
	w.Admin.delete(t, hook).is(204)
	w.Admin.get(t, hook).problem(404, "not_found")
}
