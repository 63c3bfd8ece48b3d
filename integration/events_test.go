package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// relyingParty is a receiver of webhooks that verifies each by the standard's own library.
type relyingParty struct {
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
}

func newRelyingParty(t *testing.T) *relyingParty {
	t.Helper()
	r := &relyingParty{status: http.StatusNoContent}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *relyingParty) ServeHTTP(w http.ResponseWriter, req *http.Request) {
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

// types are those of the messages that came, each once.
func (r *relyingParty) types() []string {
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

func (r *relyingParty) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// hook subscribes the receiver and returns the endpoint's path.
func (w world) hook(t *testing.T, r *relyingParty, events ...string) string {
	t.Helper()
	made := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": r.url, "events": events}).is(201)
	r.mu.Lock()
	r.secret = made.string("secret")
	r.mu.Unlock()
	return "/api/v1/webhook-endpoints/" + made.string("id")
}

func TestDecisionEventsReachEveryReader(t *testing.T) {
	t.Parallel()
	w, stranger := newSandbox(t), newSandbox(t)
	r := newRelyingParty(t)
	w.hook(t, r, "authorization.*", "challenge.*")
	next := w.follow(t, "?type=challenge.*", "")
	_, action := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	asked := w.authorize(t, subject, action, "challenge")
	w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)

	want := []string{"authorization.decided", "challenge.requested", "challenge.completed", "authorization.decided"}
	require.Eventually(t, func() bool { return len(r.types()) == len(want) }, patience, 20*time.Millisecond, "%v", r.types())
	require.ElementsMatch(t, want, r.types())
	require.NoError(t, r.fault)

	requested := next()
	require.Equal(t, "challenge.requested", requested.Type)
	require.Equal(t, "challenge.completed", next().Type)
	resumed := w.follow(t, "?type=challenge.*", requested.ID)
	require.Equal(t, "challenge.completed", resumed().Type, "a stream goes on behind the id it is given")

	var list []map[string]any
	w.Server.get(t, "/api/v1/activity?subject="+subject+"&type=authorization.decided").is(200).into(&list)
	require.Len(t, list, 2)
	require.Equal(t, "allow", list[0]["data"].(map[string]any)["decision"])
	list = nil
	w.Server.get(t, "/api/v1/activity?decision=challenge").is(200).into(&list)
	require.NotEmpty(t, list)

	require.Equal(t, "[]", string(stranger.Server.get(t, "/api/v1/activity").is(200).body))
	elsewhere := stranger.follow(t, "", requested.ID)
	require.Equal(t, "resync", elsewhere().Type, "another tenant's id is no place to resume from")
}

// follow opens a stream; the returned function waits for its next event.
func (w world) follow(t *testing.T, query, last string) func() delivered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shared.baseURL+"/api/v1/events/stream"+query, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+w.Server.key)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	lines := bufio.NewScanner(res.Body)
	return func() delivered {
		var d delivered
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "id":
				d.ID = value
			case name == "event":
				d.Type = value
			case lines.Text() == "" && d.Type != "":
				return d
			}
		}
		require.NoError(t, lines.Err())
		require.Fail(t, "the stream ended")
		return d
	}
}

func TestWebhookEndpointIsDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	r := newRelyingParty(t)
	hook := w.hook(t, r, "subject.*")
	result := w.Admin.post(t, hook+"/test", nil).is(200)
	require.Equal(t, true, result.value("delivered"))
	r.answer(http.StatusGone)
	w.subject(t)
	require.Eventually(t, func() bool { return w.Admin.get(t, hook).is(200).string("status") == "disabled" }, patience, 20*time.Millisecond)
	require.Equal(t, "gone", w.Admin.get(t, hook).is(200).string("disabled_reason"))
	w.subject(t)
	w.Admin.post(t, hook+"/replay", nil).problem(409, "endpoint_disabled")
	r.answer(http.StatusOK)
	w.Admin.post(t, hook+"/enable", nil).is(200)
	require.Eventually(t, func() bool {
		var list []map[string]any
		w.Admin.get(t, hook+"/attempts?status=succeeded").is(200).into(&list)
		return len(list) == 2
	}, patience, 20*time.Millisecond, "what it missed is replayed")
	require.NoError(t, r.fault)

	w.Server.get(t, hook).problem(403, "insufficient_scope")
	newSandbox(t).Admin.get(t, hook).problem(404, "not_found")
	w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://169.254.169.254/"}).is(422)
	w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": r.url, "events": []string{"credential.created"}}).is(422)
	w.Admin.delete(t, hook).is(204)
	w.Admin.get(t, hook).problem(404, "not_found")
}

func TestAuditLogRecordsChangesAndVerifies(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	subject := w.subject(t)
	held := w.authorize(t, subject, action, "hold").string("id")
	approved := w.Admin.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve", "note": "seen the papers"}).is(200)
	child := approved.string("decision.id")
	w.Server.post(t, "/api/v1/verify", object{"proof": approved.string("decision.proof"), "audience": audience, "consume": true}).is(200)

	var kinds []string
	require.Eventually(t, func() bool {
		var list []audit.Entry
		w.Admin.get(t, "/api/v1/audit?limit=200").is(200).into(&list)
		kinds = nil
		for _, e := range list {
			kinds = append(kinds, e.Kind)
		}
		return len(kinds) > 0 && kinds[0] == "proof.consumed"
	}, patience, 50*time.Millisecond, "entries are sealed soon: %v", kinds)
	require.Subset(t, kinds, []string{"credential.created", "action.created", "policy.created", "policy.activated", "action.updated", "subject.created",
		"authorization.decided", "hold.opened", "hold.approved", "proof.consumed"})

	scope := store.Scope{Tenant: w.TenantID, Environment: w.ID}
	var head audit.Head
	w.Admin.get(t, "/api/v1/audit/head").is(200).into(&head)
	require.NoError(t, audit.CheckHead(t.Context(), scope, shared.Signing, head))
	result, err := audit.Verify(t.Context(), shared.Store, scope, &head)
	require.NoError(t, err)
	require.True(t, result.Intact(), "%+v", result.Findings)

	trail, err := audit.TrailOf(t.Context(), shared.Store, scope, child, wiring.Histories{Client: shared.Temporal})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, trail.WriteText(&text))
	for _, want := range []string{"Decided HOLD", "Decided ALLOW", "Review: approved", "approve by credential:", "consumed", "Workflow hold/" + held, subject} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "seen the papers", "a note is kept as its digest")
}
