package browser_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// object is a JSON object.
type object = map[string]any

// audience is who proofs are for.
const audience = "payments"

// world is one environment of a tenant that no other test knows, with an admin key to ask by.
type world struct {
	models.Environment
	key string
}

// newSandbox is the sandbox of a tenant of its own, whose passkeys live on the service's own origin.
func newSandbox(t *testing.T) world {
	t.Helper()
	sandbox, _ := newTenant(t, "Alder Bank")
	return sandbox
}

// newTenant makes a tenant of that name.
func newTenant(t *testing.T, name string) (sandbox, live world) {
	t.Helper()
	needChromium(t)
	made, err := shared.Tenancy.Create(t.Context(), tenancy.Spec{
		Name: name, RPID: "localhost", Origins: []string{shared.baseURL}, AllowLocal: true,
	}, "cli:test")
	require.NoError(t, err)
	return newWorld(t, made.Sandbox), newWorld(t, made.Live)
}

func newWorld(t *testing.T, env models.Environment) world {
	t.Helper()
	plenty := 10_000_000
	issued, err := shared.Identity.Issue(t.Context(), store.Scope{Tenant: env.TenantID, Environment: env.ID},
		identity.Issue{Scope: models.ScopeAdmin, Name: "test", RateLimit: &plenty}, "cli:test", "")
	require.NoError(t, err)
	return world{Environment: env, key: issued.Key}
}

// answer is the API's answer.
type answer struct {
	t      testing.TB
	status int
	body   []byte
}

func (w world) get(t testing.TB, path string) answer { return w.do(t, http.MethodGet, path, nil) }

func (w world) post(t testing.TB, path string, body any) answer {
	return w.do(t, http.MethodPost, path, body)
}

func (w world) patch(t testing.TB, path string, body any) answer {
	return w.do(t, http.MethodPatch, path, body)
}

// do asks the API with the world's key.
func (w world) do(t testing.TB, method, path string, body any) answer {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		require.NoError(t, err)
	}
	req, err := http.NewRequest(method, shared.baseURL+path, bytes.NewReader(text))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+w.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{t, resp.StatusCode, got}
}

// is requires the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "answered: %s", a.body)
	return a
}

// object is the body, which must be a JSON object.
func (a answer) object() object {
	a.t.Helper()
	var o object
	require.NoError(a.t, json.Unmarshal(a.body, &o), "answered: %s", a.body)
	return o
}

// list is the body, which must be an array of objects.
func (a answer) list() []object {
	a.t.Helper()
	var l []object
	require.NoError(a.t, json.Unmarshal(a.body, &l), "answered: %s", a.body)
	return l
}

// string is a member of the body that must be a string; path goes down by dots.
func (a answer) string(path string) string {
	a.t.Helper()
	var v any = a.object()
	for part := range strings.SplitSeq(path, ".") {
		o, ok := v.(object)
		require.True(a.t, ok, "%s is no object's member in %s", path, a.body)
		v = o[part]
	}
	s, ok := v.(string)
	require.True(a.t, ok, "%s is no string in %s", path, a.body)
	return s
}

// unique is a short word that no other call returns.
func unique() string { return strings.ToLower(rand.Text()[:12]) }

// The policies by which a subject without evidence gets each decision.
var (
	challenging = object{"coverage_min": "partial", "insufficient_evidence": "challenge"}
	holding     = object{"coverage_min": "partial", "insufficient_evidence": "hold"}
)

// action makes an action with an active policy in the mode, named as a person reads it; its key is returned.
func (w world) action(t testing.TB, mode, name, consequence string, requirements object) string {
	t.Helper()
	key := "payment.release_" + unique()
	id := w.post(t, "/api/v1/actions", object{
		"key": key, "name": name, "consequence": consequence, "allowed_audiences": []string{audience},
	}).is(201).string("id")
	w.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": requirements}).is(201)
	w.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	if mode != "test" {
		w.patch(t, "/api/v1/actions/"+id, object{"mode": mode}).is(200)
	}
	return key
}

// subject makes a subject.
func (w world) subject(t testing.TB) string {
	t.Helper()
	return w.post(t, "/api/v1/subjects", object{"id": "person-" + unique()}).is(201).string("id")
}

// authorize asks and requires the decision.
func (w world) authorize(t testing.TB, subject, action, decision string) answer {
	t.Helper()
	a := w.post(t, "/api/v1/authorize", object{
		"subject": subject, "action": action, "resource": object{"type": "resource", "id": "payment-" + unique()},
		"audience": audience, "requested_at": time.Now().Unix(), "nonce": rand.Text(), "idempotency_key": rand.Text(),
	}).is(200)
	require.Equal(t, decision, a.string("decision"), "answered: %s", a.body)
	return a
}
