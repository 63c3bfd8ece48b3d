package browser_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// object is a JSON object.
type object = apitest.Object

// audience is the audience of proofs.
const audience = apitest.Audience

var (
	unique = apitest.Unique
	typist = apitest.Typist
)

// world is one environment of a new tenant, with an admin key.
type world struct {
	models.Environment
	key string
}

// newSandbox creates a tenant whose passkeys belong to the service's origin, and returns its sandbox.
func newSandbox(t testing.TB) world {
	t.Helper()
	return newWorld(t, createTenant(t, "Alder Bank").Sandbox)
}

// newTenant creates a tenant of that name.
func newTenant(t testing.TB, name string) (sandbox, live world) {
	t.Helper()
	made := createTenant(t, name)
	return newWorld(t, made.Sandbox), newWorld(t, made.Live)
}

func createTenant(t testing.TB, name string) tenancy.Made {
	t.Helper()
	needChromium(t)
	made, err := shared.Tenancy.Create(t.Context(), tenancy.Spec{
		Name: name, RPID: "localhost", Origins: []string{shared.baseURL}, AllowLocal: true,
	}, "cli:test")
	require.NoError(t, err)
	return made
}

func newWorld(t testing.TB, env models.Environment) world {
	t.Helper()
	plenty := 10_000_000
	issued, err := shared.Identity.Issue(t.Context(), pg.Scope{Tenant: env.TenantID, Environment: env.ID},
		identity.Issue{Scope: models.ScopeAdmin, Name: "test", RateLimit: &plenty}, "cli:test", "")
	require.NoError(t, err)
	return world{Environment: env, key: issued.Key}
}

// response is a response of the API.
type response struct {
	t      testing.TB
	status int
	body   []byte
}

func (w world) get(t testing.TB, path string) response { return w.do(t, http.MethodGet, path, nil) }

func (w world) post(t testing.TB, path string, body any) response {
	return w.do(t, http.MethodPost, path, body)
}

// do sends a request to the API with the environment's key.
func (w world) do(t testing.TB, method, path string, body any) response {
	t.Helper()
	r, err := apitest.Request{Base: shared.baseURL, Key: w.key, Method: method, Path: path, Body: body}.Send()
	require.NoError(t, err)
	return response{t, r.Status, r.Body}
}

// relyingParty makes a relying party's ordinary calls through sdk/go with the environment's key.
func (w world) relyingParty() apitest.RelyingParty {
	return apitest.RelyingParty{Base: shared.baseURL, Key: w.key}
}

// is requires the status.
func (a response) is(status int) response {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "response: %s", a.body)
	return a
}

// object decodes the body, which must be a JSON object.
func (a response) object() object {
	a.t.Helper()
	var o object
	require.NoError(a.t, json.Unmarshal(a.body, &o), "response: %s", a.body)
	return o
}

// list decodes the body, which must be an array of objects.
func (a response) list() []object {
	a.t.Helper()
	var l []object
	require.NoError(a.t, json.Unmarshal(a.body, &l), "response: %s", a.body)
	return l
}

// string returns the string at a path of keys such as "challenge.id".
func (a response) string(path string) string {
	a.t.Helper()
	var v any = a.object()
	for part := range strings.SplitSeq(path, ".") {
		o, ok := v.(object)
		require.True(a.t, ok, "%s is not a member of an object in %s", path, a.body)
		v = o[part]
	}
	s, ok := v.(string)
	require.True(a.t, ok, "%s is not a string in %s", path, a.body)
	return s
}

// The policies by which a subject without evidence gets each decision.
var (
	challenging = object{"coverage_min": "partial", "insufficient_evidence": "challenge"}
	holding     = object{"coverage_min": "partial", "insufficient_evidence": "hold"}
)

// action creates an action with an active policy in the mode, under the given texts. It returns the action's key.
func (w world) action(t testing.TB, mode, name, consequence string, requirements object) string {
	t.Helper()
	_, key := w.relyingParty().CreateAction(t, apitest.Action{Mode: mode, Name: name, Consequence: consequence, Requirements: requirements})
	return key
}

// subject creates a subject.
func (w world) subject(t testing.TB) string {
	t.Helper()
	return w.relyingParty().CreateSubject(t)
}

// authorize requests a decision and requires it to be the given one.
func (w world) authorize(t testing.TB, subject, action, decision string) response {
	t.Helper()
	r := w.relyingParty().Authorize(t, subject, action)
	a := response{t, r.Status, r.Body}
	require.Equal(t, decision, a.string("decision"), "response: %s", a.body)
	return a
}

// submit posts a body to a page as JSON, with headers that a browser would or would not send.
func submit(t testing.TB, path, body string, header map[string]string) apitest.Response {
	t.Helper()
	r, err := apitest.Request{Base: shared.baseURL, Method: http.MethodPost, Path: path, Header: header, Body: []byte(body)}.Send()
	require.NoError(t, err)
	return r
}
