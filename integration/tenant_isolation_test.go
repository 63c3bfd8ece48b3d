package integration_test

import (
	"bytes"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/models"
)

// resources are one record of each kind: the value of each path parameter, and what request bodies refer to.
type resources struct {
	ids   map[string]string
	asked string // key of the action that requires a challenge
	proof string
	spare caller // uses the credential among the ids
}

// unknownIDs are well-formed ids that do not exist.
var unknownIDs = map[string]string{
	"{action_id}": "act_01jqx3k5v8e2sbyk0c4m7t9wzd", "{version}": "1", "{subject_id}": "person-unknown", "{session_id}": "ses_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{authorization_id}": "azn_01jqx3k5v8e2sbyk0c4m7t9wzd", "{challenge_id}": "chl_01jqx3k5v8e2sbyk0c4m7t9wzd", "{jti}": "prf_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{passkey_id}": "psk_01jqx3k5v8e2sbyk0c4m7t9wzd", "{evaluation_id}": "evl_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{endpoint_id}": "whe_01jqx3k5v8e2sbyk0c4m7t9wzd", "{credential_id}": "crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "{change_id}": "chg_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{list_id}": "lst_01jqx3k5v8e2sbyk0c4m7t9wzd", "{person_id}": "prs_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{standing_approval_id}": "sta_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{destination_name}":     "unknown",
}

func (w world) resources(t *testing.T) resources {
	t.Helper()
	_, allowed := w.action(t, "enforce", allowing)
	_, held := w.action(t, "enforce", holding)
	id, asked := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey", "sandbox_confirm"}}))
	subject := w.subject(t)
	w.device(t, subject)
	_, released := w.standingAction(t, standingPolicy)
	decision := w.authorize(t, subject, allowed, "allow")
	spare := caller{base: shared.baseURL, key: w.issue(t, models.ScopeServer, nil)}
	return resources{asked: asked, spare: spare, proof: decision.string("proof"), ids: map[string]string{
		"{action_id}": id, "{version}": "1", "{subject_id}": subject,
		"{session_id}":           w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id"),
		"{authorization_id}":     w.authorize(t, subject, held, "hold").string("id"),
		"{challenge_id}":         w.authorize(t, subject, asked, "challenge").string("challenge.id"),
		"{jti}":                  decision.string("proof_id"),
		"{passkey_id}":           w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list()[0]["id"].(string),
		"{evaluation_id}":        w.Server.post(t, "/api/v1/evaluations", object{"name": "Pilot", "action_keys": []string{asked}}).is(201).string("id"),
		"{endpoint_id}":          w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/hook", "events": []string{"webhook.test"}}).is(201).string("id"),
		"{credential_id}":        w.issued[models.ScopeServer].ID,
		"{change_id}":            w.changeRequest(t),
		"{person_id}":            w.colleague(t),
		"{standing_approval_id}": w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, released, nil)).is(201).string("standing_approval.id"),
		"{list_id}":              strings.TrimPrefix(w.listOf(t, object{"name": "markets", "kind": "country"}, "DE"), "/api/v1/lists/"),
		"{destination_name}":     w.destinationNamed(t, w.ID[len(w.ID)-12:], "https://siem.example/in"),
	}}
}

// changeRequest requests a change in the environment, which requires a second approver only for that moment.
func (w world) changeRequest(t *testing.T) string {
	t.Helper()
	w.Admin.patch(t, "/api/v1/environment", object{"second_approver_required": true}).is(200)
	id := w.Admin.patch(t, "/api/v1/environment", object{"bar_self_review": true}).is(202).string("id")
	w.exec(t, "update environments set second_approver_required = false where id = $1", w.ID)
	return id
}

// fill replaces the parameters of a path by ids.
func fill(path string, ids map[string]string) string {
	return parameter.ReplaceAllStringFunc(path, func(name string) string { return ids[name] })
}

// replaced returns the ids with one of them replaced.
func replaced(ids map[string]string, name, id string) map[string]string {
	out := map[string]string{}
	for k, v := range ids {
		out[k] = v
	}
	out[name] = id
	return out
}

// Each route with an id is requested with ids of another tenant and of the tenant's other environment. The response is identical
// to that for an unknown id, and the owner's records are unchanged.
func TestEveryRouteIsolatesTenants(t *testing.T) {
	t.Parallel()
	mine, others := newTenant(t), newTenant(t)
	own := mine.Sandbox.resources(t)
	theirs := others.Sandbox.resources(t)
	before := mine.Sandbox.snapshot(t, own)
	doc := document(t)
	walked := 0
	for _, op := range operations() {
		names := parameter.FindAllString(op.Path, -1)
		if len(names) == 0 {
			continue
		}
		walked++
		var body any
		if example, ok := doc.Example(op.ID); ok {
			body = example
		}
		for who, w := range map[string]world{"another tenant": others.Sandbox, "the live environment": mine.Live} {
			if op.ID == "setManager" && w.TenantID == mine.Sandbox.TenantID {
				continue // staff belong to the tenant
			}
			if op.ID == "setDestination" {
				continue // each environment has names of its own
			}
			foreign, absent := fill(op.Path, own.ids), fill(op.Path, unknownIDs)
			require.NotContains(t, foreign, "//", "resources lack one of %v", names)
			requireSameAsAbsent(t, w, pathPair{op, foreign, absent, body}, who)
		}
		if len(names) > 1 && names[1] != "{version}" { // a record of the owner below one of the caller
			requireSameAsAbsent(t, others.Sandbox, pathPair{op, fill(op.Path, replaced(theirs.ids, names[1], own.ids[names[1]])),
				fill(op.Path, replaced(theirs.ids, names[1], unknownIDs[names[1]])), body}, "another tenant, below its own record")
		}
	}
	require.Greater(t, walked, 50, "the contract's routes were requested")
	after := mine.Sandbox.snapshot(t, own)
	for op, body := range before {
		require.Equal(t, body, after[op], "%s: the owner's record is unchanged", op)
	}
	own.spare.get(t, "/api/v1/credential").is(200)
}

// pathPair is an operation with a path to a foreign record and one to an unknown record.
type pathPair struct {
	op              openapi.Operation
	foreign, absent string
	body            any
}

// requireSameAsAbsent requires identical responses for the foreign and the absent path.
func requireSameAsAbsent(t *testing.T, w world, p pathPair, who string) {
	t.Helper()
	op, foreign, absent := p.op, p.foreign, p.absent
	c := w.Admin.with("X-Request-Id", "same").with("Origin", "http://localhost:8080")
	f, a := c.do(t, op.Method, foreign, p.body), c.do(t, op.Method, absent, p.body)
	if op.ID == "getProofStatus" { // returns a status for any id, and repeats the id
		require.Equal(t, "unknown", f.string("status"))
		f.body = bytes.ReplaceAll(f.body, []byte(path.Base(path.Dir(foreign))), []byte(path.Base(path.Dir(absent))))
	} else {
		f.problem(404, "not_found")
	}
	require.Equal(t, a.status, f.status, "%s by %s", op.ID, who)
	require.Equal(t, withoutID(a.body), withoutID(f.body), "%s by %s", op.ID, who)
}

// snapshot returns all that the owner can read of the resources.
func (w world) snapshot(t *testing.T, b resources) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, op := range operations() {
		if op.ID == "getSessionAssessment" || op.ID == "getDestination" { // one is computed each time, the other says what was sent meanwhile
			continue
		}
		if op.Method == http.MethodGet && strings.Contains(op.Path, "{") {
			out[op.ID] = withoutID(w.Admin.get(t, fill(op.Path, b.ids)).body)
		}
	}
	return out
}

// Request bodies and lists are isolated too.
func TestBodiesAndListsIsolateTenants(t *testing.T) {
	t.Parallel()
	mine, others := newTenant(t), newTenant(t)
	own, theirs := mine.Sandbox.resources(t), others.Sandbox.resources(t)
	subject, session := own.ids["{subject_id}"], own.ids["{session_id}"]
	for who, w := range map[string]world{"another tenant": others.Sandbox, "the live environment": mine.Live} {
		local := w.subject(t)
		for name, r := range map[string]struct {
			path            string
			foreign, absent object
		}{
			"a session for a subject": {"/api/v1/sessions", object{"subject": subject}, object{"subject": "person-unknown"}},
			"a client token":          {"/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example"}, object{"subject": "person-unknown", "origin": "https://app.example"}},
			"a decision on a subject": {"/api/v1/authorize", request(subject, theirs.asked), request("person-unknown", theirs.asked)},
			"a decision on an action": {"/api/v1/authorize", request(local, own.asked), request(local, "no.such_action")},
			"an enrolment's session": {"/api/v1/subjects/" + local + "/enrollments/complete", object{"session": session},
				object{"session": unknownIDs["{session_id}"]}},
			"an evaluation of actions": {"/api/v1/evaluations", object{"name": "x", "action_keys": []string{own.asked}}, object{"name": "x", "action_keys": []string{"no.such_action"}}},
			"earlier: evidence":        {"/v2/ingest", object{"session_id": session, "frames": []object{}}, object{"session_id": unknownIDs["{session_id}"], "frames": []object{}}},
			"earlier: an end":          {"/v2/sessions/end", object{"session_id": session}, object{"session_id": unknownIDs["{session_id}"]}},
		} {
			c := w.Admin.with("X-Request-Id", "same")
			f, a := c.post(t, r.path, r.foreign), c.post(t, r.path, r.absent)
			require.GreaterOrEqual(t, a.status, 400, "%s response: %s", name, a.body)
			require.Equal(t, a.status, f.status, "%s by %s", name, who)
			require.Equal(t, withoutID(a.body), withoutID(f.body), "%s by %s", name, who)
		}
		verdict := w.Server.post(t, "/api/v1/verify", object{"proof": own.proof, "consume": true}).is(200)
		require.Equal(t, false, verdict.value("valid"), "%s: %s", who, verdict.body)
		require.NotContains(t, string(verdict.body), subject, "the response shows nothing of a foreign environment's proof")

		filter := "?" + url.Values{"subject": {subject}, "action": {own.asked}}.Encode()
		for _, op := range operations() {
			if op.Method != http.MethodGet || strings.Contains(op.Path, "{") || op.Scope == "none" || op.ID == "streamEvents" {
				continue
			}
			for _, query := range []string{"", filter} {
				a := w.Admin.get(t, op.Path+query)
				for name, id := range own.ids {
					if name != "{version}" {
						require.NotContains(t, string(a.body), id, "%s%s shows %s to %s", op.ID, query, name, who)
					}
				}
			}
		}
	}
	require.Equal(t, true, mine.Sandbox.Server.post(t, "/api/v1/verify", object{"proof": own.proof}).is(200).value("valid"), "no other environment has consumed it")
}
