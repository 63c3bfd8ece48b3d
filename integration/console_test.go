package integration_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console"
)

// visitor is a browser without a window: it keeps the console's cookie and tells where its requests come from.
type visitor struct {
	t      testing.TB
	base   string
	cookie *http.Cookie
	person string
	device *virtualwebauthn.Authenticator
	key    virtualwebauthn.Credential
}

// visit is what came back.
type visit struct {
	status   int
	location string
	body     string
}

func (v *visitor) get(path string) visit { return v.do(http.MethodGet, path, "", nil, "text/html") }

// submit sends a form of a page.
func (v *visitor) submit(path string, form url.Values) visit {
	return v.do(http.MethodPost, path, "application/x-www-form-urlencoded", []byte(form.Encode()), "text/html")
}

// script sends JSON as a page's script does.
func (v *visitor) script(path string, body any) visit {
	v.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(v.t, err)
	return v.do(http.MethodPost, path, "application/json", text, "application/json")
}

func (v *visitor) do(method, path, contentType string, body []byte, accept string) visit {
	v.t.Helper()
	req, err := http.NewRequest(method, v.base+path, bytes.NewReader(body))
	require.NoError(v.t, err)
	req.Header.Set("Accept", accept)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if v.cookie != nil {
		req.AddCookie(v.cookie)
	}
	resp, err := httpClient.Do(req)
	require.NoError(v.t, err)
	defer func() { _ = resp.Body.Close() }()
	for _, c := range resp.Cookies() {
		if c.Name == "console_session" {
			v.cookie = c
		}
	}
	out := visit{status: resp.StatusCode, location: resp.Header.Get("Location")}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return out // it never ends by itself
	}
	text, err := io.ReadAll(resp.Body)
	require.NoError(v.t, err)
	out.body = string(text)
	require.NotEmpty(v.t, resp.Header.Get("Content-Security-Policy"), "%s %s", method, path)
	return out
}

func stranger(t testing.TB) *visitor { return &visitor{t: t, base: shared.baseURL} }

// joined is a person of the console with these roles in the world, signed in.
func (w world) joined(t testing.TB, roles ...models.Role) *visitor {
	t.Helper()
	in, err := shared.People.Create(t.Context(), store.Scope{Tenant: w.TenantID, Environment: w.ID}, "Somebody", roles, "cli:test")
	require.NoError(t, err)
	_, token, ok := strings.Cut(in.URL, "#")
	require.True(t, ok)
	v := stranger(t)
	v.person = in.Person.ID
	options := v.script("/console/invitation/options", object{"token": token})
	require.Equal(t, 200, options.status, options.body)
	parsed, err := virtualwebauthn.ParseAttestationOptions(options.body)
	require.NoError(t, err)
	made := virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte(parsed.UserID)})
	v.device = &made
	// The library drops a coordinate's leading zero byte, which makes one key in 128 shorter and so invalid.
	for v.key.Key == nil || len(v.key.Key.AttestationData()) != 77 {
		v.key = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
	}
	answer := virtualwebauthn.CreateAttestationResponse(v.rp(), made, v.key, *parsed)
	done := v.script("/console/invitation", object{"token": token, "credential": json.RawMessage(answer)})
	require.Equal(t, 200, done.status, done.body)
	require.NotNil(t, v.cookie)
	return v
}

func (v *visitor) rp() virtualwebauthn.RelyingParty {
	return virtualwebauthn.RelyingParty{ID: "localhost", Name: "x", Origin: v.base}
}

// things are what the console of a world can show, one of each.
type things struct{ held, subject, action, evaluation, endpoint string }

func (w world) things(t testing.TB) things {
	t.Helper()
	id, key := w.action(t, "enforce", holding)
	out := things{action: id, subject: w.subject(t)}
	out.held = w.authorize(t, out.subject, key, "hold").string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": challenging}).is(201)
	out.evaluation = w.Server.post(t, "/api/v1/evaluations", object{"name": "Pilot", "action_keys": []string{key}}).is(201).string("id")
	out.endpoint = w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/hook", "events": []string{"webhook.test"}}).is(201).string("id")
	return out
}

// path fills in a route of the console.
func (w world) path(r console.Route, x things) string {
	id := x.held
	switch {
	case strings.Contains(r.Path, "/evaluations/"):
		id = x.evaluation
	case strings.Contains(r.Path, "/webhooks/"):
		id = x.endpoint
	}
	return strings.NewReplacer(":environment", w.ID, ":subject", x.subject, ":action", x.action, ":version", "2", ":id", id).Replace(r.Path)
}

// send makes the request that the route is for.
func (v *visitor) send(r console.Route, path string) visit {
	v.t.Helper()
	switch {
	case r.Method == http.MethodGet:
		return v.get(path)
	case strings.Contains(path, "/confirm"):
		return v.script(path, object{"credential": object{}})
	default:
		return v.submit(path, url.Values{"resolution": {"reject"}, "status": {"failed"}})
	}
}

// Every route of the console, with every role, with none, without a session, and from another tenant and environment.
func TestConsoleRoutesCheckRoles(t *testing.T) {
	t.Parallel()
	own := newTenant(t)
	w, x := own.Sandbox, own.Sandbox.things(t)
	abroad := newSandbox(t)
	all := []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}
	foreigner, neighbour := abroad.joined(t, all...), own.Live.joined(t, all...)
	absent := w
	absent.ID = "env_01jqx3k5v8e2sbyk0c4m7t9wzd"
	for _, r := range console.Routes() {
		if r.Right == console.Open || r.Right == console.SignedIn {
			continue
		}
		path := w.path(r, x)
		out := stranger(t).send(r, path)
		if strings.Contains(path, "/confirm") { // a script's request
			require.Equal(t, http.StatusUnauthorized, out.status, "%s %s without a session", r.Method, path)
		} else {
			require.Equal(t, http.StatusSeeOther, out.status, "%s %s without a session", r.Method, path)
			require.True(t, strings.HasPrefix(out.location, "/console/sign-in"), out.location)
		}

		there := foreigner.send(r, absent.path(r, x))
		require.Equal(t, http.StatusNotFound, there.status, "%s %s of no environment", r.Method, path)
		for _, v := range []*visitor{foreigner, neighbour} {
			out = v.send(r, path)
			require.Equal(t, http.StatusNotFound, out.status, "%s %s from elsewhere", r.Method, path)
			require.Equal(t, plainly(there.body), plainly(out.body), "what is another's looks as if it were not there")
		}
	}
	for _, role := range all {
		v := w.joined(t, role)
		for _, r := range console.Routes() {
			if r.Right == console.Open || r.Right == console.SignedIn || r.Name == "console_stream" {
				continue
			}
			out := v.send(r, w.path(r, x))
			if console.Permits(r.Right, []models.Role{role}) {
				require.Less(t, out.status, 500, "%s %s as %s: %s", r.Method, r.Path, role, out.body)
				require.NotEqual(t, http.StatusNotFound, out.status, "%s %s as %s", r.Method, r.Path, role)
				if r.Method == http.MethodGet {
					require.Contains(t, []int{200, 303}, out.status, "%s as %s", r.Path, role)
				}
			} else {
				require.Equal(t, http.StatusForbidden, out.status, "%s %s as %s", r.Method, r.Path, role)
			}
		}
	}
}

var anyRequest = regexp.MustCompile(`req_[0-9a-z]{26}`)

// plainly leaves out what differs in every answer.
func plainly(body string) string { return anyRequest.ReplaceAllString(body, "req") }

// An auditor changes nothing; an operator does not review; what a person does is in the log under their name.
func TestConsoleChangesAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	x := w.things(t)
	at := "/console/" + w.ID
	for _, v := range []*visitor{w.joined(t, models.RoleAuditor), w.joined(t, models.RoleOperator)} {
		require.Equal(t, 403, v.submit(at+"/reviews/"+x.held, url.Values{"resolution": {"approve"}}).status)
	}
	operator := w.joined(t, models.RoleOperator)
	require.Equal(t, 303, operator.submit(at+"/policies/"+x.action+"/2/activate", nil).status)
	require.Equal(t, 303, operator.submit(at+"/webhooks/"+x.endpoint+"/disable", nil).status)
	require.Equal(t, 303, operator.submit(at+"/webhooks/"+x.endpoint+"/enable", nil).status)
	require.Equal(t, 303, operator.submit(at+"/webhooks/"+x.endpoint+"/replay", url.Values{"status": {"all"}}).status)
	require.Contains(t, operator.submit(at+"/webhooks/"+x.endpoint+"/test", nil).body, "The test failed")
	reviewer := w.joined(t, models.RoleReviewer)
	require.Equal(t, 303, reviewer.submit(at+"/reviews/"+x.held, url.Values{"resolution": {"approve"}, "note": {"checked"}}).status)
	require.Equal(t, 409, reviewer.submit(at+"/reviews/"+x.held, url.Values{"resolution": {"reject"}}).status)

	want := map[string][]string{
		operator.person: {"person.joined", "person.signed_in", "policy.activated", "policy.retired", "webhook_endpoint.updated", "webhook_endpoint.enabled", "webhook_endpoint.replayed"},
		reviewer.person: {"person.joined", "person.signed_in", "hold.approved"},
	}
	for person, types := range want {
		missing := types
		eventually(t, func() bool {
			var kinds []string
			for _, e := range w.Admin.get(t, "/api/v1/audit?actor=person:"+person).is(200).list() {
				kind, _ := e["kind"].(string)
				kinds = append(kinds, kind)
			}
			missing = slices.DeleteFunc(slices.Clone(types), func(k string) bool { return slices.Contains(kinds, k) })
			return len(missing) == 0
		}, "the audit log of "+person+" lacks "+strings.Join(types, " "))
		require.Empty(t, missing)
	}
}

// The console leads back into itself after signing in, and nowhere else.
func TestConsoleSignInRefusesOpenRedirects(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.joined(t, models.RoleReviewer)
	for _, next := range []string{"https://elsewhere.example/", "//elsewhere.example/console/", `/console/\elsewhere`, "/api/v1/meta", "/console/sign-in", "javascript:alert(1)"} {
		require.Equal(t, "/console", v.get("/console/sign-in?next="+url.QueryEscape(next)).location, next)
	}
	require.Equal(t, "/console/"+w.ID+"/reviews?status=expired", v.get("/console/sign-in?next="+url.QueryEscape("/console/"+w.ID+"/reviews?status=expired")).location)
	require.Equal(t, "/console/"+w.ID+"/reviews", v.get("/console/"+w.ID).location)

	options := v.script("/console/sign-in/options", object{})
	parsed, err := virtualwebauthn.ParseAssertionOptions(options.body)
	require.NoError(t, err)
	v.key.Counter++
	signed := virtualwebauthn.CreateAssertionResponse(v.rp(), *v.device, v.key, *parsed)
	again := stranger(t)
	done := again.script("/console/sign-in", object{"credential": json.RawMessage(signed), "next": "https://elsewhere.example/"})
	require.Equal(t, 200, done.status, done.body)
	require.JSONEq(t, `{"next":"/console"}`, done.body)
	require.Equal(t, 400, stranger(t).script("/console/sign-in", object{"credential": json.RawMessage(signed)}).status, "an assertion is used once")
	require.Equal(t, 200, again.get("/console/"+w.ID+"/reviews").status)
	require.Equal(t, 303, again.submit("/console/sign-out", nil).status)
	require.Equal(t, 303, again.get("/console/"+w.ID+"/reviews").status)
}

// Somebody with roles in both environments goes from one to the other; what they may do differs.
func TestConsoleRolesArePerEnvironment(t *testing.T) {
	t.Parallel()
	own := newTenant(t)
	v := own.Sandbox.joined(t, models.RoleReviewer)
	live := store.Scope{Tenant: own.Live.TenantID, Environment: own.Live.ID}
	require.Equal(t, 404, v.get("/console/"+own.Live.ID+"/health").status)
	require.NoError(t, shared.People.Grant(t.Context(), live, v.person, []models.Role{models.RoleOperator}, "cli:test"))
	require.Equal(t, 200, v.get("/console/"+own.Live.ID+"/health").status)
	require.Contains(t, v.get("/console/"+own.Sandbox.ID+"/reviews").body, `href="/console/`+own.Live.ID+`"`)
	require.Equal(t, 403, v.get("/console/"+own.Live.ID+"/reviews").status)
	require.NoError(t, shared.People.Withdraw(t.Context(), live, v.person, []models.Role{models.RoleOperator}, "cli:test"))
	require.Equal(t, 303, v.get("/console/"+own.Sandbox.ID+"/reviews").status, "losing a role ends the session")
}

// A stream of the console ends with the session that it belongs to.
func TestConsoleStreamEndsWithTheSession(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.joined(t, models.RoleReviewer)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.baseURL+"/console/"+w.ID+"/stream", nil)
	require.NoError(t, err)
	req.AddCookie(v.cookie)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewScanner(resp.Body)
	require.True(t, lines.Scan(), "the stream begins")
	id := w.things(t).held
	for lines.Scan() {
		if strings.Contains(lines.Text(), id) {
			break
		}
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 303, v.submit("/console/sign-out", nil).status)
	for lines.Scan() {
		require.NotContains(t, lines.Text(), "event:")
	}
	require.NoError(t, lines.Err(), "the stream ends by itself")
}

// A visit that another site's page began carries no cookie; it is sent around once, from here.
func TestConsoleReloadsCrossSiteNavigation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	req, err := http.NewRequest(http.MethodGet, shared.baseURL+"/console/"+w.ID+"/reviews", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := httpClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "0; url=/console/"+w.ID+"/reviews", resp.Header.Get("Refresh"))
}
