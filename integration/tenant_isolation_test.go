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

// belongings are one of each thing that has an id: the value of each parameter of a path, and the keys that bodies name
// actions by.
type belongings struct {
	ids   map[string]string
	asked string // key of the action that asks for a challenge
	proof string
	spare caller // with the credential that is among the ids
}

// nobodys are ids in the form of the real ones that name nothing.
var nobodys = map[string]string{
	"{action_id}": "act_01jqx3k5v8e2sbyk0c4m7t9wzd", "{version}": "1", "{subject_id}": "person-nobody", "{session_id}": "ses_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{authorization_id}": "azn_01jqx3k5v8e2sbyk0c4m7t9wzd", "{challenge_id}": "chl_01jqx3k5v8e2sbyk0c4m7t9wzd", "{jti}": "prf_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{passkey_id}": "psk_01jqx3k5v8e2sbyk0c4m7t9wzd", "{evaluation_id}": "evl_01jqx3k5v8e2sbyk0c4m7t9wzd",
	"{endpoint_id}": "whe_01jqx3k5v8e2sbyk0c4m7t9wzd", "{credential_id}": "crd_01jqx3k5v8e2sbyk0c4m7t9wzd",
}

func (w world) belongings(t *testing.T) belongings {
	t.Helper()
	_, allowed := w.action(t, "enforce", allowing)
	_, held := w.action(t, "enforce", holding)
	id, asked := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey", "sandbox_confirm"}}))
	subject := w.subject(t)
	w.device(t, subject)
	decision := w.authorize(t, subject, allowed, "allow")
	spare := caller{base: shared.baseURL, key: w.issue(t, models.ScopeServer, nil)}
	return belongings{asked: asked, spare: spare, proof: decision.string("proof"), ids: map[string]string{
		"{action_id}": id, "{version}": "1", "{subject_id}": subject,
		"{session_id}":       w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id"),
		"{authorization_id}": w.authorize(t, subject, held, "hold").string("id"),
		"{challenge_id}":     w.authorize(t, subject, asked, "challenge").string("challenge.id"),
		"{jti}":              decision.string("proof_id"),
		"{passkey_id}":       w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list()[0]["id"].(string),
		"{evaluation_id}":    w.Server.post(t, "/api/v1/evaluations", object{"name": "Pilot", "action_keys": []string{asked}}).is(201).string("id"),
		"{endpoint_id}":      w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/hook", "events": []string{"webhook.test"}}).is(201).string("id"),
		"{credential_id}":    w.issued[models.ScopeServer].ID,
	}}
}

// fill puts ids into a path.
func fill(path string, ids map[string]string) string {
	return parameter.ReplaceAllStringFunc(path, func(name string) string { return ids[name] })
}

// replaced is the ids with another for one of them.
func replaced(ids map[string]string, name, id string) map[string]string {
	out := map[string]string{}
	for k, v := range ids {
		out[k] = v
	}
	out[name] = id
	return out
}

// Every route that takes an id, asked with every id of another tenant and of the tenant's other environment: the same bytes
// as for an id that is nobody's, and nothing of the owner's has changed.
func TestEveryRouteIsolatesTenants(t *testing.T) {
	t.Parallel()
	mine, others := newTenant(t), newTenant(t)
	own := mine.Sandbox.belongings(t)
	theirs := others.Sandbox.belongings(t)
	before := mine.Sandbox.sight(t, own)
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
			foreign, absent := fill(op.Path, own.ids), fill(op.Path, nobodys)
			require.NotContains(t, foreign, "//", "belongings lack one of %v", names)
			sameAsAbsent(t, w, op, foreign, absent, body, who)
		}
		if len(names) > 1 && names[1] != "{version}" { // a thing of the owner's below one of the asker's
			sameAsAbsent(t, others.Sandbox, op, fill(op.Path, replaced(theirs.ids, names[1], own.ids[names[1]])),
				fill(op.Path, replaced(theirs.ids, names[1], nobodys[names[1]])), body, "another tenant, below its own")
		}
	}
	require.Greater(t, walked, 50, "the contract's routes were walked")
	after := mine.Sandbox.sight(t, own)
	for op, body := range before {
		require.Equal(t, body, after[op], "%s: nothing of the owner's was moved", op)
	}
	own.spare.get(t, "/api/v1/credential").is(200)
}

// sameAsAbsent asks for the foreign and for the absent and requires one answer.
func sameAsAbsent(t *testing.T, w world, op openapi.Operation, foreign, absent string, body any, who string) {
	t.Helper()
	c := w.Admin.with("X-Request-Id", "same").with("Origin", "http://localhost:8080")
	f, a := c.do(t, op.Method, foreign, body), c.do(t, op.Method, absent, body)
	if op.ID == "getProofStatus" { // answers about any id, and repeats it
		require.Equal(t, "unknown", f.string("status"))
		f.body = bytes.ReplaceAll(f.body, []byte(path.Base(path.Dir(foreign))), []byte(path.Base(path.Dir(absent))))
	} else {
		f.problem(404, "not_found")
	}
	require.Equal(t, a.status, f.status, "%s by %s", op.ID, who)
	require.Equal(t, withoutID(a.body), withoutID(f.body), "%s by %s", op.ID, who)
}

// sight is all that the owner can read of the belongings.
func (w world) sight(t *testing.T, b belongings) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, op := range operations() {
		if op.Method == http.MethodGet && strings.Contains(op.Path, "{") && op.ID != "getSessionAssessment" { // which is made anew each time
			out[op.ID] = withoutID(w.Admin.get(t, fill(op.Path, b.ids)).body)
		}
	}
	return out
}

// The ids that bodies carry, and the lists.
func TestBodiesAndListsIsolateTenants(t *testing.T) {
	t.Parallel()
	mine, others := newTenant(t), newTenant(t)
	own, theirs := mine.Sandbox.belongings(t), others.Sandbox.belongings(t)
	subject, session := own.ids["{subject_id}"], own.ids["{session_id}"]
	for who, w := range map[string]world{"another tenant": others.Sandbox, "the live environment": mine.Live} {
		local := w.subject(t)
		for name, r := range map[string]struct {
			path            string
			foreign, absent object
		}{
			"a session for a subject": {"/api/v1/sessions", object{"subject": subject}, object{"subject": "person-nobody"}},
			"a client token":          {"/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example"}, object{"subject": "person-nobody", "origin": "https://app.example"}},
			"a decision on a subject": {"/api/v1/authorize", request(subject, theirs.asked), request("person-nobody", theirs.asked)},
			"a decision on an action": {"/api/v1/authorize", request(local, own.asked), request(local, "no.such_action")},
			"an enrolment's session": {"/api/v1/subjects/" + local + "/enrollments/complete", object{"session": session},
				object{"session": nobodys["{session_id}"]}},
			"an evaluation of actions": {"/api/v1/evaluations", object{"name": "x", "action_keys": []string{own.asked}}, object{"name": "x", "action_keys": []string{"no.such_action"}}},
			"earlier: evidence":        {"/v2/ingest", object{"session_id": session, "frames": []object{}}, object{"session_id": nobodys["{session_id}"], "frames": []object{}}},
			"earlier: an end":          {"/v2/sessions/end", object{"session_id": session}, object{"session_id": nobodys["{session_id}"]}},
		} {
			c := w.Admin.with("X-Request-Id", "same")
			f, a := c.post(t, r.path, r.foreign), c.post(t, r.path, r.absent)
			require.GreaterOrEqual(t, a.status, 400, "%s answered: %s", name, a.body)
			require.Equal(t, a.status, f.status, "%s by %s", name, who)
			require.Equal(t, withoutID(a.body), withoutID(f.body), "%s by %s", name, who)
		}
		verdict := w.Server.post(t, "/api/v1/verify", object{"proof": own.proof, "consume": true}).is(200)
		require.Equal(t, false, verdict.value("valid"), "%s: %s", who, verdict.body)
		require.NotContains(t, string(verdict.body), subject, "a proof that is not for this environment is not read out to it")

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
	require.Equal(t, true, mine.Sandbox.Server.post(t, "/api/v1/verify", object{"proof": own.proof}).is(200).value("valid"), "nobody else has spent it")
}
