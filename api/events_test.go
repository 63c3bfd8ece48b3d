package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// eventsBundle has the handlers of activity, webhooks and audit behind an application without the chain, for a fixed caller.
// Every response is checked against the contract.
type eventsBundle struct {
	t        *testing.T
	st       *pg.Store
	contract *openapi.Contract
	app      *fiber.App
	caller   identity.Principal
	receiver string
}

func setupEvents(t *testing.T) *eventsBundle {
	t.Helper()
	contract, err := openapi.Compile()
	require.NoError(t, err)
	b := &eventsBundle{t: t, st: testenv.Store(t), contract: contract, caller: identity.Principal{
		TenantID: "tnt_1", EnvironmentID: "env_1", CredentialID: "crd_1", Scope: models.ScopeAdmin, RequestID: "req_1"}}
	now := clock.System().Now()
	for _, n := range []string{"1", "2"} {
		_, err = b.st.Pool().Exec(t.Context(), "insert into tenants values ($1, 'Test', $2)", "tnt_"+n, now)
		require.NoError(t, err)
		require.NoError(t, tenancy.CreateEnvironment(t.Context(), b.st.Q, models.Environment{ID: "env_" + n, TenantID: "tnt_" + n, Kind: models.Sandbox,
			RPID: "localhost", Settings: models.Settings{RPName: "Test", ChallengeTTLSeconds: 300, HoldTTLSeconds: 259200}, CreatedAt: now}))
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(srv.Close)
	b.receiver = srv.URL
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	sender := webhook.NewSender(webhook.Policy{AllowLoopback: true})
	t.Cleanup(sender.Close)
	b.app = fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true, UnescapePath: true, ErrorHandler: func(c *fiber.Ctx, err error) error {
		if p := problem.As(err); p != nil {
			return c.Status(problem.Of(p.Code).Status).SendString(string(p.Code))
		}
		if errors.Is(err, pg.ErrNotFound) {
			return c.Status(http.StatusNotFound).SendString("absent")
		}
		return c.Status(http.StatusInternalServerError).SendString(err.Error())
	}})
	b.app.Use(func(c *fiber.Ctx) error {
		request.SetPrincipal(c, b.caller)
		return c.Next()
	})
	b.mount(webhook.NewEndpoints(webhook.Deps{
		Store: b.st, Clock: clock.System(), Keyring: keys, Sender: sender, Waker: noWaker{}, Log: slog.New(slog.DiscardHandler),
	}))
	return b
}

func (b *eventsBundle) mount(endpoints *webhook.Endpoints) {
	a, w := &activityHandlers{Store: b.st}, &webhookHandlers{
		Endpoints: endpoints, Changes: change.New(change.Deps{Store: b.st, Clock: clock.System(), Endpoints: endpoints}),
	}
	u := &auditHandlers{Store: b.st, Clock: clock.System(), Signer: noSigner{}}
	const hooks = "/api/v1/webhook-endpoints"
	b.app.Get("/api/v1/activity", a.list)
	b.app.Get("/api/v1/event-types", a.types)
	b.app.Get("/api/v1/audit", u.list)
	b.app.Get("/api/v1/audit/head", u.head)
	b.app.Get(hooks, w.list)
	b.app.Post(hooks, w.create)
	b.app.Get(hooks+"/:endpoint_id", w.get)
	b.app.Patch(hooks+"/:endpoint_id", w.update)
	b.app.Delete(hooks+"/:endpoint_id", w.remove)
	b.app.Post(hooks+"/:endpoint_id/rotate", w.rotate)
	b.app.Post(hooks+"/:endpoint_id/test", w.test)
	b.app.Post(hooks+"/:endpoint_id/enable", w.enable)
	b.app.Post(hooks+"/:endpoint_id/replay", w.replay)
	b.app.Get(hooks+"/:endpoint_id/attempts", w.attempts)
}

type noWaker struct{}

func (noWaker) WakeEndpoint(context.Context, string, string, bool) error { return nil }

type noSigner struct{}

func (noSigner) SignDocument(context.Context, pg.Scope, string, []byte) (string, error) {
	return "a.b.c", nil
}

func (noSigner) VerifyDocument(context.Context, pg.Scope, string, string) ([]byte, error) {
	return nil, nil
}

// call makes a request and checks a successful response against the contract.
func (b *eventsBundle) call(operation, method, path, body string, want int) (out []byte, header http.Header) {
	b.t.Helper()
	req := httptest.NewRequestWithContext(b.t.Context(), method, path, bytes.NewBufferString(body))
	req.Header.Set("Content-Type", "application/json")
	res, err := b.app.Test(req, -1)
	require.NoError(b.t, err)
	defer func() { _ = res.Body.Close() }()
	out, err = io.ReadAll(res.Body)
	require.NoError(b.t, err)
	require.Equal(b.t, want, res.StatusCode, "%s", out)
	if want < 300 && want != http.StatusNoContent {
		require.NoError(b.t, b.contract.ValidateResponse(operation, want, out), "%s", out)
	}
	return out, res.Header
}

func (b *eventsBundle) happen(s pg.Scope, data events.Data, subject string, at time.Time) string {
	b.t.Helper()
	row, err := events.Row(events.Entry{Scope: s, Data: data, At: at, Subject: subject, SubjectUID: subject, Actor: "credential:crd_1"})
	require.NoError(b.t, err)
	require.NoError(b.t, events.InsertEvent(b.t.Context(), b.st.Q, row, false))
	return row.ID
}

func decodeTo[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

func TestListActivityFiltersTheEnvironmentsEvents(t *testing.T) {
	t.Parallel()
	b := setupEvents(t)
	start := clock.System().Now().Add(-time.Hour).Truncate(time.Second)
	_, err := b.st.Pool().Exec(t.Context(), `insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at)
		values ('s3', 'tnt_1', 'env_1', 's3', 'active', 'none', $1, $1)`, start)
	require.NoError(t, err)
	var ids []string
	for i := range 7 {
		ids = append([]string{b.happen(b.caller.Store(), events.SubjectCreatedData{}, "s"+strconv.Itoa(i), start.Add(time.Duration(i)*time.Minute))}, ids...)
	}
	b.happen(pg.Scope{Tenant: "tnt_2", Environment: "env_2"}, events.SubjectCreatedData{}, "s0", start)
	b.happen(b.caller.Store(), events.ActionCreatedData{ActionID: "act_1", Mode: "test"}, "", start)

	var seen []string
	path := "/api/v1/activity?limit=3"
	for path != "" {
		out, header := b.call("listActivity", http.MethodGet, path, "", http.StatusOK)
		for _, e := range decodeTo[[]events.Activity](t, out) {
			seen = append(seen, e.ID)
		}
		path = linkTarget(header.Get("Link"))
	}
	require.Equal(t, ids, seen)

	for query, want := range map[string]int{
		"type=subject.created": 7, "type=subject.*": 7, "type=hold.*": 0, "subject=s3": 1, "subject=unknown": 0, "decision=allow": 0, "action=x": 0,
		"since=" + start.Add(5*time.Minute).Format(time.RFC3339): 2, "until=" + start.Add(5*time.Minute).Format(time.RFC3339): 5,
	} {
		out, _ := b.call("listActivity", http.MethodGet, "/api/v1/activity?"+query, "", http.StatusOK)
		require.Len(t, decodeTo[[]events.Activity](t, out), want, query)
	}
	b.call("listActivity", http.MethodGet, "/api/v1/activity?type=action.created", "", http.StatusUnprocessableEntity)
	b.call("listEventTypes", http.MethodGet, "/api/v1/event-types", "", http.StatusOK)
}

// linkTarget returns the path of a next link; empty if there is none.
func linkTarget(link string) string {
	if end := bytes.IndexByte([]byte(link), '>'); end > 0 {
		return link[1:end]
	}
	return ""
}

func TestWebhookEndpointHandlersFollowTheContract(t *testing.T) {
	t.Parallel()
	b := setupEvents(t)
	const hooks = "/api/v1/webhook-endpoints"
	out, _ := b.call("createWebhookEndpoint", http.MethodPost, hooks, `{"url":"`+b.receiver+`","events":["subject.*"],"description":"d"}`, http.StatusCreated)
	made := decodeTo[wire.WebhookEndpointWithSecret](t, out)
	require.Contains(t, made.Secret, "whsec_")
	one := hooks + "/" + made.ID

	for _, c := range []struct{ operation, method, path, body string }{
		{"listWebhookEndpoints", http.MethodGet, hooks, ""},
		{"getWebhookEndpoint", http.MethodGet, one, ""},
		{"updateWebhookEndpoint", http.MethodPatch, one, `{"events":["*"]}`},
		{"enableWebhookEndpoint", http.MethodPost, one + "/enable", ""},
		{"testWebhookEndpoint", http.MethodPost, one + "/test", ""},
		{"listWebhookAttempts", http.MethodGet, one + "/attempts", ""},
	} {
		out, _ := b.call(c.operation, c.method, c.path, c.body, http.StatusOK)
		require.NotContains(t, string(out), "whsec_", c.operation)
	}
	out, _ = b.call("updateWebhookEndpoint", http.MethodPatch, one, `{"description":null}`, http.StatusOK)
	require.Nil(t, decodeTo[wire.WebhookEndpointWithSecret](t, out).Description)
	out, _ = b.call("updateWebhookEndpoint", http.MethodPatch, one, `{}`, http.StatusOK)
	require.Equal(t, []string{"*"}, decodeTo[wire.WebhookEndpointWithSecret](t, out).Events)
	out, _ = b.call("rotateWebhookSecret", http.MethodPost, one+"/rotate", "", http.StatusOK)
	require.NotEqual(t, made.Secret, decodeTo[wire.WebhookEndpointWithSecret](t, out).Secret)
	b.call("rotateWebhookSecret", http.MethodPost, one+"/rotate", `{"overlap_seconds":0}`, http.StatusConflict)

	b.happen(b.caller.Store(), events.SubjectCreatedData{}, "s1", clock.System().Now())
	out, _ = b.call("replayWebhookEndpoint", http.MethodPost, one+"/replay", `{"status":"all"}`, http.StatusAccepted)
	require.JSONEq(t, `{"endpoint":"`+made.ID+`","scheduled":1}`, string(out))
	out, _ = b.call("listWebhookAttempts", http.MethodGet, one+"/attempts?status=pending", "", http.StatusOK)
	require.Len(t, decodeTo[[]wire.WebhookAttempt](t, out), 1)
	b.call("replayWebhookEndpoint", http.MethodPost, one+"/replay", `{"since":"2026-03-02T00:00:00Z","until":"2026-03-01T00:00:00Z"}`,
		http.StatusUnprocessableEntity)
	b.call("createWebhookEndpoint", http.MethodPost, hooks, `{"url":"https://169.254.169.254/"}`, http.StatusUnprocessableEntity)

	b.caller.TenantID, b.caller.EnvironmentID = "tnt_2", "env_2"
	b.call("getWebhookEndpoint", http.MethodGet, one, "", http.StatusNotFound)
	b.call("deleteWebhookEndpoint", http.MethodDelete, one, "", http.StatusNotFound)
	b.caller.TenantID, b.caller.EnvironmentID = "tnt_1", "env_1"
	b.call("deleteWebhookEndpoint", http.MethodDelete, one, "", http.StatusNoContent)
	b.call("getWebhookEndpoint", http.MethodGet, one, "", http.StatusNotFound)
}

func TestAuditHandlersFollowTheContract(t *testing.T) {
	t.Parallel()
	b := setupEvents(t)
	b.call("getAuditHead", http.MethodGet, "/api/v1/audit/head", "", http.StatusOK)
	for i := range 3 {
		b.happen(b.caller.Store(), events.SubjectCreatedData{}, "s"+strconv.Itoa(i), clock.System().Now())
	}
	sealer := &audit.Sealer{Store: b.st, Clock: clock.System()}
	sealed := 0
	require.Eventually(t, func() bool {
		n, err := sealer.SealAll(t.Context())
		require.NoError(t, err)
		sealed += n
		return sealed == 3
	}, 20*time.Second, 10*time.Millisecond)
	out, header := b.call("listAudit", http.MethodGet, "/api/v1/audit?limit=2&kind=subject.created&actor=credential:crd_1", "", http.StatusOK)
	list := decodeTo[[]audit.Entry](t, out)
	require.Len(t, list, 2)
	require.Equal(t, "s2", *list[0].Target)
	require.Equal(t, list[1].Hash, list[0].PreviousHash)
	out, _ = b.call("listAudit", http.MethodGet, linkTarget(header.Get("Link")), "", http.StatusOK)
	require.Len(t, decodeTo[[]audit.Entry](t, out), 1)
	out, _ = b.call("getAuditHead", http.MethodGet, "/api/v1/audit/head", "", http.StatusOK)
	require.Equal(t, list[0].Hash, decodeTo[audit.Head](t, out).Hash)
}
