package integration_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// consoleRecords are the ids of one record of each kind that the console shows.
type consoleRecords struct{ held, subject, action, evaluation, endpoint, change, key, person, team, list, filter, standing string }

func (w world) consoleRecords(t testing.TB) consoleRecords {
	t.Helper()
	id, key := w.action(t, "enforce", holding)
	out := consoleRecords{action: id, subject: w.subject(t)}
	out.held = w.authorize(t, out.subject, key, "hold").string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": challenging}).is(201)
	w.chat(t, "desk", "http://127.0.0.1:9/chat")
	out.evaluation = w.Server.post(t, "/api/v1/evaluations", object{"name": "Pilot", "action_keys": []string{key}}).is(201).string("id")
	out.endpoint = w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/hook", "events": []string{"webhook.test"}}).is(201).string("id")
	out.key = w.Admin.get(t, "/api/v1/credentials").is(200).list()[0]["id"].(string)
	in, err := shared.People.Create(t.Context(), w.scope(), staff.Invitee{Name: "Invited Member", Roles: []models.Role{models.RoleReviewer}}, "cli:test")
	require.NoError(t, err)
	out.person = in.Person.ID
	out.team = w.team(t, "finance")
	_, released := w.standingAction(t, standingPolicy)
	out.standing = w.Server.post(t, "/api/v1/standing-approvals", standingRequest(out.subject, released, nil)).is(201).string("standing_approval.id")
	out.list = strings.TrimPrefix(w.listOf(t, object{"name": "listed", "kind": "text"}, "acct_1"), "/api/v1/lists/")
	return out
}

// path fills in the parameters of a console route.
func (w world) path(r shell.Route, x consoleRecords) string {
	id := x.held
	switch {
	case strings.Contains(r.Path, "/chats/"):
		id = w.anyChat()
	case strings.Contains(r.Path, "/evaluations/"):
		id = x.evaluation
	case strings.Contains(r.Path, "/webhooks/"):
		id = x.endpoint
	case strings.Contains(r.Path, "/keys/"):
		id = x.key
	case strings.Contains(r.Path, "/people/"):
		id = x.person
	case strings.Contains(r.Path, "/teams/"):
		id = x.team
	case strings.HasSuffix(r.Path, "/lists/add"):
		r.Path += "?detail=subject&decision=" + x.held
	case strings.Contains(r.Path, "/lists/"):
		id = x.list
	case strings.Contains(r.Path, "/changes/"):
		id = x.change
	case strings.Contains(r.Path, "/standing/"):
		id = x.standing
	case strings.Contains(r.Path, "/filters/"):
		id = x.filter
	}
	if strings.Contains(r.Path, "/export/") {
		r.Path += "?format=csv"
	}
	return strings.NewReplacer(":environment", w.ID, ":subject", x.subject, ":action", x.action, ":version", "2", ":id", id).Replace(r.Path)
}

// send sends a request that suits the route.
func (v *visitor) send(r shell.Route, path string) visit {
	v.t.Helper()
	switch {
	case r.Method == http.MethodGet:
		return v.get(path)
	case strings.Contains(path, "/confirm"):
		return v.script(path, object{"credential": object{}})
	default:
		return v.submit(path, url.Values{"resolution": {"reject"}, "note": {"Not expected."}, "status": {"failed"}})
	}
}

// Each console route is requested with each role, without a session, and from another tenant and environment.
func TestConsoleRoutesCheckRoles(t *testing.T) {
	t.Parallel()
	own := newTenant(t)
	w, x := own.Sandbox, own.Sandbox.consoleRecords(t)
	w.Admin.patch(t, environmentPath, object{"second_approver_required": true}).is(200)
	x.change = w.Server.patch(t, "/api/v1/actions/"+x.action, object{"mode": "shadow"}).is(http.StatusAccepted).string("id")
	abroad := newSandbox(t)
	all := []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}
	foreigner, neighbour := abroad.signedIn(t, all...), own.Live.signedIn(t, all...)
	x.filter = foreigner.savedFilter(abroad)
	absent := w
	absent.ID = "env_01jqx3k5v8e2sbyk0c4m7t9wzd"
	for _, r := range console.Routes() {
		if r.Right == shell.Open || r.Right == shell.SignedIn {
			continue
		}
		path := w.path(r, x)
		out := anonymous(t).send(r, path)
		if strings.Contains(path, "/confirm") { // a script's request
			require.Equal(t, http.StatusUnauthorized, out.status, "%s %s without a session", r.Method, path)
		} else {
			require.Equal(t, http.StatusSeeOther, out.status, "%s %s without a session", r.Method, path)
			require.True(t, strings.HasPrefix(out.location, "/console/sign-in"), out.location)
		}

		there := foreigner.send(r, absent.path(r, x))
		require.Equal(t, http.StatusNotFound, there.status, "%s %s of an unknown environment", r.Method, path)
		for _, v := range []*visitor{foreigner, neighbour} {
			out = v.send(r, path)
			require.Equal(t, http.StatusNotFound, out.status, "%s %s from elsewhere", r.Method, path)
			require.Equal(t, withoutRequestID(there.body), withoutRequestID(out.body), "a foreign record looks like an absent one")
		}
	}
	for _, role := range all {
		v := w.signedIn(t, role)
		x.filter = v.savedFilter(w)
		var denied []string
		for _, r := range console.Routes() {
			if r.Right == shell.Open || r.Right == shell.SignedIn || r.Name == "console_stream" {
				continue
			}
			out := v.send(r, w.path(r, x))
			if shell.Permits(r.Right, []models.Role{role}) {
				require.Less(t, out.status, 500, "%s %s as %s: %s", r.Method, r.Path, role, out.body)
				require.NotEqual(t, http.StatusNotFound, out.status, "%s %s as %s", r.Method, r.Path, role)
				if r.Method == http.MethodGet {
					require.Contains(t, []int{200, 303}, out.status, "%s as %s", r.Path, role)
				}
			} else {
				require.Equal(t, http.StatusForbidden, out.status, "%s %s as %s", r.Method, r.Path, role)
				denied = append(denied, r.Name)
			}
		}
		w.requireRefusals(t, "person:"+v.person, "forbidden", denied)
	}
}

var requestIDs = regexp.MustCompile(`req_[0-9a-z]{26}`)

// withoutRequestID removes the request id, which differs in every response.
func withoutRequestID(body string) string { return requestIDs.ReplaceAllString(body, "req") }

// An auditor changes nothing and an operator reviews nothing. Every change is in the audit log under the person's id.
func TestConsoleChangesAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	x := w.consoleRecords(t)
	at := "/console/" + w.ID
	for _, v := range []*visitor{w.signedIn(t, models.RoleAuditor), w.signedIn(t, models.RoleOperator)} {
		require.Equal(t, 403, v.submit(at+"/reviews/"+x.held, url.Values{"resolution": {"approve"}}).status)
	}
	operator := w.signedIn(t, models.RoleOperator)
	require.Equal(t, 303, operator.submit(at+"/policies/"+x.action+"/2/activate", nil).status)
	require.Equal(t, 303, operator.submit(at+"/webhooks/"+x.endpoint+"/disable", nil).status)
	require.Equal(t, 303, operator.submit(at+"/webhooks/"+x.endpoint+"/enable", nil).status)
	require.Equal(t, 303, operator.submit(at+"/webhooks/"+x.endpoint+"/replay", url.Values{"status": {"all"}}).status)
	require.Contains(t, operator.submit(at+"/webhooks/"+x.endpoint+"/test", nil).body, "The test failed")
	reviewer := w.signedIn(t, models.RoleReviewer)
	reviewer.review(w, x.held, "approve")
	require.Equal(t, 409, reviewer.submit(at+"/reviews/"+x.held, url.Values{"resolution": {"reject"}, "note": {"Not expected."}}).status)

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

// After signing in, the console redirects only to its own pages.
func TestConsoleSignInRefusesOpenRedirects(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	v := w.signedIn(t, models.RoleReviewer)
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
	again := anonymous(t)
	done := again.script("/console/sign-in", object{"credential": json.RawMessage(signed), "next": "https://elsewhere.example/"})
	require.Equal(t, 200, done.status, done.body)
	require.JSONEq(t, `{"next":"/console"}`, done.body)
	require.Equal(t, 400, anonymous(t).script("/console/sign-in", object{"credential": json.RawMessage(signed)}).status, "an assertion is used once")
	eventually(t, func() bool {
		return count(t, `select count(*) from events where environment_id = $1 and type = 'person.sign_in_failed' and actor = 'anonymous'
			and data->>'person' = $2`, w.ID, v.person) == 1
	}, "the entry about the failed sign-in")
	require.Equal(t, 200, again.get("/console/"+w.ID+"/reviews").status)
	require.Equal(t, 303, again.submit("/console/sign-out", nil).status)
	require.Equal(t, 303, again.get("/console/"+w.ID+"/reviews").status)
}

// A person with roles in both environments can switch between them, with different rights in each.
func TestConsoleRolesArePerEnvironment(t *testing.T) {
	t.Parallel()
	own := newTenant(t)
	v := own.Sandbox.signedIn(t, models.RoleReviewer)
	live := pg.Scope{Tenant: own.Live.TenantID, Environment: own.Live.ID}
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
	v := w.signedIn(t, models.RoleReviewer)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.baseURL+"/console/"+w.ID+"/stream", nil)
	require.NoError(t, err)
	req.AddCookie(v.cookie)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewScanner(resp.Body)
	require.True(t, lines.Scan(), "the stream sends its first line")
	id := w.consoleRecords(t).held
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
	require.NoError(t, lines.Err(), "the server ends the stream")
}

// A navigation from another site carries no Strict cookie, so the console reloads the page once from its own origin.
func TestConsoleReloadsCrossSiteNavigation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	req, err := http.NewRequest(http.MethodGet, shared.baseURL+"/console/"+w.ID+"/reviews", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := apitest.Client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "0; url=/console/"+w.ID+"/reviews", resp.Header.Get("Refresh"))
}
