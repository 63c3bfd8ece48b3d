package webhook

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

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// bundle is an environment with endpoints, their sender, and a receiver that the test steers.
type bundle struct {
	t         *testing.T
	st        *pg.Store
	time      *clock.Fake
	admin     identity.Principal
	endpoints *Endpoints
	fan       *FanOut
	deliverer *Deliverer
	waker     *recordingWaker
	receiver  *steered
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, st: testenv.Store(t), time: clock.NewFake(time.Now().UTC().Truncate(time.Microsecond)), waker: &recordingWaker{}}
	log, ring, sender := slog.New(slog.NewTextHandler(io.Discard, nil)), newRing(t), NewSender(lax)
	t.Cleanup(sender.Close)
	b.admin = b.environment("tnt_1", "env_1")
	deps := Deps{Store: b.st, Clock: b.time, Keyring: ring, Sender: sender, Waker: b.waker, Log: log}
	b.endpoints, b.fan = NewEndpoints(deps), NewFanOut(deps)
	b.deliverer = NewDeliverer(deps, DeliverOptions{Linger: time.Nanosecond, Poll: 5 * time.Millisecond})
	b.receiver = newSteered(t)
	return b
}

func (b *bundle) environment(tenant, env string) identity.Principal {
	b.t.Helper()
	_, err := b.st.Pool().Exec(b.t.Context(), "insert into tenants values ($1, 'Test', $2)", tenant, b.time.Now())
	require.NoError(b.t, err)
	require.NoError(b.t, tenancy.CreateEnvironment(b.t.Context(), b.st.Q, models.Environment{ID: env, TenantID: tenant, Kind: models.Sandbox, RPID: "localhost",
		Settings: models.Settings{RPName: "Test", ChallengeTTLSeconds: 300, HoldTTLSeconds: 259200}, CreatedAt: b.time.Now()}))
	return identity.Principal{TenantID: tenant, EnvironmentID: env, CredentialID: "crd_" + env, Scope: models.ScopeAdmin, RequestID: "req_1"}
}

func (b *bundle) endpoint(patterns ...string) (models.WebhookEndpoint, string) {
	b.t.Helper()
	e, secret, err := b.endpoints.Create(b.t.Context(), b.admin, change.Endpoint{URL: ptr(b.receiver.url), Events: ptr(patterns)})
	require.NoError(b.t, err)
	return e, secret
}

// happen records an event and fans it out, like the relay.
func (b *bundle) happen(subject string) string {
	b.t.Helper()
	id := b.occur(subject)
	b.relay()
	return id
}

// occur records an event that is not fanned out yet.
func (b *bundle) occur(subject string) string {
	b.t.Helper()
	row, err := events.Row(events.Entry{Scope: b.admin.Store(), Data: events.SubjectCreatedData{}, At: b.time.Now(), Subject: subject, SubjectUID: "sub_" + subject,
		Actor: "credential:crd_1"})
	require.NoError(b.t, err)
	require.NoError(b.t, events.InsertEvent(b.t.Context(), b.st.Q, row, true))
	return row.ID
}

// relay fans out all events in the outbox.
func (b *bundle) relay() {
	b.t.Helper()
	rows, err := b.st.Pool().Query(b.t.Context(), "delete from outbox where topic = 'event' returning environment_id, ref")
	require.NoError(b.t, err)
	var items []models.Outbox
	for rows.Next() {
		var o models.Outbox
		require.NoError(b.t, rows.Scan(&o.EnvironmentID, &o.Ref))
		items = append(items, o)
	}
	require.NoError(b.t, rows.Err())
	for _, o := range items {
		require.NoError(b.t, b.fan.Handle(b.t.Context(), o))
		require.NoError(b.t, b.fan.Handle(b.t.Context(), o), "safe to repeat")
	}
}

func (b *bundle) deliver(e models.WebhookEndpoint, br Breaker) DeliverResult {
	b.t.Helper()
	r, err := b.deliverer.Deliver(b.t.Context(), DeliverJob{Endpoint: e.ID, Workflow: "endpoint/" + e.ID, Breaker: br}, func() {})
	require.NoError(b.t, err)
	return r
}

func (b *bundle) status(e models.WebhookEndpoint) map[string]int {
	b.t.Helper()
	rows, err := b.st.Pool().Query(b.t.Context(), "select status, count(*) from webhook_deliveries where endpoint_id = $1 group by 1", e.ID)
	require.NoError(b.t, err)
	out := map[string]int{}
	for rows.Next() {
		var s string
		var n int
		require.NoError(b.t, rows.Scan(&s, &n))
		out[s] = n
	}
	return out
}

func (b *bundle) notices() []string {
	b.t.Helper()
	rows, _, err := events.QueryActivity(b.t.Context(), b.st.Q, b.admin.Store(), events.ActivityFilter{Types: events.Selected("webhook.*")}, pg.Page{Limit: 50})
	require.NoError(b.t, err)
	out := []string{}
	for _, r := range rows {
		out = append([]string{r.Type}, out...)
	}
	return out
}

// recordingWaker records which endpoints were woken.
type recordingWaker struct {
	mu    sync.Mutex
	woken []string
	err   error
}

func (w *recordingWaker) WakeEndpoint(_ context.Context, _, endpoint string, _ bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken = append(w.woken, endpoint)
	return w.err
}

func (w *recordingWaker) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.woken
	w.woken = nil
	return out
}

// steered is a receiver with responses chosen by the test, which reads the requests.
type steered struct {
	url    string
	mu     sync.Mutex
	status int
	header http.Header
	got    []received
	hold   chan struct{} // when set, responses wait for it
}

type received struct {
	id     string
	body   []byte
	header http.Header
}

func newSteered(t *testing.T) *steered {
	s := &steered{status: 204}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *steered) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.got = append(s.got, received{r.Header.Get(headerID), body, r.Header.Clone()})
	status, header, hold := s.status, s.header, s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	for k, v := range header {
		w.Header()[k] = v
	}
	w.WriteHeader(status)
}

func (s *steered) answer(status int, header http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.header = status, header
}

func (s *steered) take() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.got
	s.got = nil
	return out
}
