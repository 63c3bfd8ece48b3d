package integration_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver is a webhook receiver that verifies each message with the library of Standard Webhooks.
type receiver struct {
	url    string
	mu     sync.Mutex
	secret string
	status int
	header http.Header
	got    []delivered
	fault  error
}

type delivered struct {
	ID   string
	Type string         `json:"type"`
	Data map[string]any `json:"data"`

	Display any `json:"display"`
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	var wh *standardwebhooks.Webhook
	if err == nil {
		wh, err = standardwebhooks.NewWebhook(r.secret)
	}
	if err == nil {
		err = wh.Verify(body, req.Header)
	}
	d := delivered{ID: req.Header.Get("webhook-id")}
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	if err != nil && r.fault == nil {
		r.fault = err
	}
	r.got = append(r.got, d)
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	if r.status != http.StatusNoContent {
		_, _ = io.WriteString(w, "thank you")
	}
}

// types returns the types of the received messages, each message once.
func (r *receiver) types() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	seen := map[string]bool{}
	for _, d := range r.got {
		if !seen[d.ID] {
			seen[d.ID] = true
			out = append(out, d.Type)
		}
	}
	return out
}

func (r *receiver) respondWith(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// deliveries counts how often a message was received.
func (r *receiver) deliveries(id string) int {
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

// subscribe creates an endpoint for the receiver and returns its path.
func (w world) subscribe(t *testing.T, r *receiver, events ...string) string {
	t.Helper()
	made := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": r.url, "events": events}).is(201)
	r.mu.Lock()
	r.secret = made.string("secret")
	r.mu.Unlock()
	return "/api/v1/webhook-endpoints/" + made.string("id")
}

// attempts lists the delivery attempts of an endpoint, newest first.
func (w world) attempts(t *testing.T, hook, query string) []map[string]any {
	t.Helper()
	return w.Admin.get(t, hook+"/attempts"+query).is(200).list()
}
