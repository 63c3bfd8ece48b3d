package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	accessSingle = "/access/v1/evaluation"
	accessBatch  = "/access/v1/evaluations"
)

// access is an AuthZEN request for an action on the resource that the tests' actions protect.
func access(subject, action string) object {
	return object{
		"subject": object{"type": "user", "id": subject}, "action": object{"name": action}, "resource": object{"type": "resource", "id": "1"},
	}
}

// errorOf is the code of an evaluation that could not be decided.
func (a response) errorOf() string {
	a.t.Helper()
	require.Equal(a.t, false, a.value("decision"), "response: %s", a.body)
	return a.string("context.error.code")
}

func TestAccessMetadataNamesTheEndpoints(t *testing.T) {
	t.Parallel()
	a := caller{base: shared.baseURL}.get(t, "/.well-known/authzen-configuration").is(200)
	require.Contains(t, a.header.Get("Content-Type"), "application/json")
	require.Contains(t, a.header.Get("Cache-Control"), "max-age")
	require.JSONEq(t, fmt.Sprintf(`{"policy_decision_point": %q, "access_evaluation_endpoint": %q, "access_evaluations_endpoint": %q}`,
		shared.BaseURL, shared.BaseURL+accessSingle, shared.BaseURL+accessBatch), string(a.body))
	w := newSandbox(t)
	for _, kind := range []string{"subject", "resource", "action"} {
		w.Server.post(t, "/access/v1/search/"+kind, object{}).problem(404, "not_found")
	}
}

func TestAccessEvaluationReturnsEachDecision(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	ask := func(t *testing.T, mode string, requirements object) response {
		t.Helper()
		_, action := w.action(t, mode, requirements)
		a := w.Server.post(t, accessSingle, access(subject, action)).is(200)
		require.Equal(t, a.string("context.decision") == "allow", a.value("decision"))
		stored := w.Server.get(t, "/api/v1/authorizations/"+a.string("context.authorization")).is(200)
		require.Equal(t, a.string("context.decision"), stored.string("decision"))
		require.Equal(t, a.strings("context.reason_codes"), stored.strings("reason_codes"))
		require.NotEmpty(t, a.string("context.reason_user.en"))
		return a
	}
	t.Run("allow", func(t *testing.T) {
		t.Parallel()
		a := ask(t, "enforce", allowing)
		verified := w.Server.post(t, "/api/v1/verify", object{"proof": a.string("context.proof"), "audience": audience}).is(200)
		require.Equal(t, true, verified.value("valid"))
		require.Nil(t, a.value("context.step_up"))
	})
	t.Run("allow without a proof", func(t *testing.T) {
		t.Parallel()
		a := ask(t, "test", allowing)
		require.Equal(t, true, a.value("decision"))
		require.Nil(t, a.value("context.proof"))
	})
	t.Run("challenge", func(t *testing.T) {
		t.Parallel()
		a := ask(t, "enforce", challenging)
		challenge := a.string("context.step_up.challenge")
		require.Contains(t, a.string("context.step_up.url"), "/challenge/"+challenge+"#")
		require.Equal(t, []string{"sandbox_confirm"}, a.strings("context.step_up.methods"))
		require.Equal(t, w.Server.get(t, "/api/v1/challenges/"+challenge).string("expires_at"), a.string("context.step_up.expires_at"))
	})
	t.Run("hold", func(t *testing.T) {
		t.Parallel()
		a := ask(t, "enforce", holding)
		require.Equal(t, "pending", a.string("context.review.status"))
		require.Equal(t, shared.BaseURL+"/api/v1/authorizations/"+a.string("context.authorization"), a.string("context.review.url"))
	})
	t.Run("deny", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "deny", ask(t, "enforce", denying).string("context.decision"))
	})
	t.Run("shadow", func(t *testing.T) {
		t.Parallel()
		a := ask(t, "shadow", challenging)
		require.Equal(t, "shadow", a.string("context.mode"))
		require.Nil(t, a.value("context.step_up"), "a shadow decision opens no challenge")
	})
}

// A key that may decide but not act on challenges gets the challenge without a link to its page.
func TestAccessEvaluationLinksByPermission(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	body := access(w.subject(t), action)
	a := w.narrowed(t, "decide").post(t, accessSingle, body).is(200)
	require.NotEmpty(t, a.string("context.step_up.challenge"))
	require.Nil(t, a.value("context.step_up.url"))
	a = w.narrowed(t, "decide", "challenges").post(t, accessSingle, body).is(200)
	require.NotEmpty(t, a.string("context.step_up.url"))
}

// A request that cannot be decided is false, and nothing is recorded.
func TestAccessEvaluationIsClosedByDefault(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	id, action := w.action(t, "enforce", allowing)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{
		"requirements": allowing, "allowed_audiences": []string{audience, "second"}, "context_schema": object{"required": []string{"amount"}},
	}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/2/activate", nil).is(200)
	bare := "payment.bare_" + unique()
	w.Server.post(t, "/api/v1/actions", object{"key": bare, "name": "n", "consequence": "c", "allowed_audiences": []string{audience}}).is(201)
	options := func(more object) object { return object{"amount": 1, "countersign": more} }
	for name, c := range map[string]struct {
		change object
		code   string
	}{
		"unknown subject":         {object{"subject": object{"type": "user", "id": "unknown"}, "context": options(object{"audience": audience})}, "not_found"},
		"subject of another type": {object{"subject": object{"type": "agent", "id": subject}}, "bad_request"},
		"unknown action":          {object{"action": object{"name": "unknown"}}, "not_found"},
		"action without a policy": {object{"action": object{"name": bare}}, "no_active_policy"},
		"other resource type":     {object{"resource": object{"type": "card", "id": "1"}}, "bad_request"},
		"context of the schema":   {object{"context": object{"countersign": object{"audience": audience}}}, "bad_request"},
		"no audience of several":  {object{"context": object{"amount": 1}}, "bad_request"},
		"other audience":          {object{"context": options(object{"audience": "third"})}, "audience_not_allowed"},
		"unknown session":         {object{"context": options(object{"audience": audience, "session": "ses_unknown"})}, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := w.Server.post(t, accessSingle, with(access(subject, action), c.change)).is(200)
			require.Equal(t, c.code, a.errorOf(), "response: %s", a.body)
			require.NotEmpty(t, a.string("context.error.message"))
			require.Nil(t, a.value("context.authorization"))
		})
	}
}

func TestAccessEvaluationRefusesMalformedRequests(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	good := access(w.subject(t), action)
	without := func(field string) []byte {
		head, rest, nested := strings.Cut(field, ".")
		body := with(good, nil)
		if nested {
			body[head] = with(body[head].(object), nil)
			delete(body[head].(object), rest)
		} else {
			delete(body, head)
		}
		return marshal(t, body)
	}
	for name, body := range map[string][]byte{
		"subject": without("subject"), "action": without("action"), "resource": without("resource"), "subject.type": without("subject.type"),
		"subject.id": without("subject.id"), "action.name": without("action.name"), "resource.type": without("resource.type"),
		"resource.id":     without("resource.id"),
		"a JSON object":   []byte(`[]`),
		"must be a":       marshal(t, with(good, object{"subject": "alice"})),
		"name must be":    marshal(t, with(good, object{"action": object{"name": 123}})),
		"body":            nil,
		"malformed JSON":  []byte(`{"subject": `),
		"context":         marshal(t, with(good, object{"context": []string{}})),
		"countersign.x":   marshal(t, with(good, object{"context": object{"countersign": object{"x": 1}}})),
		"occurs":          []byte(`{"subject": 1, "subject": 2}`),
		"not longer than": marshal(t, with(good, object{"resource": object{"type": "resource", "id": strings.Repeat("x", 257)}})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := w.Server.post(t, accessSingle, body).is(400)
			require.Contains(t, []string{"bad_request", "malformed_json"}, a.string("code"))
			require.NotEmpty(t, a.string("detail"))
		})
	}
	w.Server.with("Content-Type", "text/plain").post(t, accessSingle, marshal(t, good)).problem(400, "bad_request")
	caller{base: shared.baseURL, key: "sk_test_wrong"}.post(t, accessSingle, good).problem(401, "unauthenticated")
	w.Publishable.post(t, accessSingle, good).problem(403, "insufficient_scope")
}

// Unknown members are ignored and any request id is returned as it was sent.
func TestAccessEvaluationFollowsTheTransport(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := with(access(w.subject(t), action), object{"foo": "bar", "futureField": object{"nested": true}})
	for _, id := range []string{"1", "bfe9eb29-ab87-4ca3-be83-a1d5d8305716", "a b/c=(d)"} {
		a := w.Server.with("X-Request-Id", id).post(t, accessSingle, body).is(200)
		require.Equal(t, id, a.header.Get("X-Request-Id"))
		require.Equal(t, true, a.value("decision"))
		a = w.Server.with("X-Request-Id", id).post(t, accessSingle, object{}).is(400)
		require.Equal(t, id, a.header.Get("X-Request-Id"))
	}
}

func TestAccessEvaluationFindsActionsByResourceType(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	for key, kind := range map[string]string{"record.read": "record", "read": "resource", "letter.read": "letter"} {
		r := allowing
		if key == "letter.read" {
			r = denying
		}
		made := w.Server.post(t, "/api/v1/actions", object{"key": key, "name": "n", "consequence": "c", "resource_type": kind, "allowed_audiences": []string{audience}}).is(201)
		path := "/api/v1/actions/" + made.string("id") + "/policy-versions"
		w.Server.post(t, path, object{"requirements": r}).is(201)
		w.Server.post(t, path+"/1/activate", nil).is(200)
	}
	for kind, want := range map[string]bool{"record": true, "resource": true, "letter": false} {
		a := w.Server.post(t, accessSingle, with(access(subject, "read"), object{"resource": object{"type": kind, "id": "1"}})).is(200)
		require.Equal(t, want, a.value("decision"), "%s: %s", kind, a.body)
		require.NotEmpty(t, a.string("context.authorization"))
	}
	a := w.Server.post(t, accessSingle, with(access(subject, "read"), object{"resource": object{"type": "card", "id": "1"}})).is(200)
	require.Equal(t, "bad_request", a.errorOf())
}

// What AuthZEN sends as properties is part of the context: the schema applies to it, and the proof covers it.
func TestAccessEvaluationBindsProperties(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, action := w.action(t, "enforce", allowing)
	path := "/api/v1/actions/" + id + "/policy-versions"
	w.Server.post(t, path, object{"requirements": allowing, "context_schema": object{"properties": object{
		"resource_properties": object{"type": "object", "properties": object{"status": object{"enum": []string{"active"}}}},
	}}}).is(201)
	w.Server.post(t, path+"/2/activate", nil).is(200)
	subject := w.subject(t)
	ask := func(status string, context object) response {
		return w.Server.post(t, accessSingle, object{
			"subject":  object{"type": "user", "id": subject, "properties": object{"role": "admin"}},
			"action":   object{"name": action, "properties": object{"soft": true}},
			"resource": object{"type": "resource", "id": "1", "properties": object{"status": status}},
			"context":  with(context, nil),
		}).is(200)
	}
	nonce := "0123456789abcdef" + unique()
	a := ask("active", object{"amount": 1, "countersign": object{"nonce": nonce}})
	same := w.Server.post(t, "/api/v1/authorize", with(request(subject, action), object{
		"resource": object{"type": "resource", "id": "1"}, "context": object{
			"amount": 1, "subject_properties": object{"role": "admin"}, "action_properties": object{"soft": true},
			"resource_properties": object{"status": "active"},
		},
	})).is(200)
	digest := func(r response) string {
		return w.Server.get(t, "/api/v1/authorizations/"+r.string("id")).is(200).string("context_digest")
	}
	stored := w.Server.get(t, "/api/v1/authorizations/"+a.string("context.authorization")).is(200)
	require.Equal(t, digest(same), stored.string("context_digest"))
	require.Equal(t, nonce, w.Server.post(t, "/api/v1/verify", object{"proof": a.string("context.proof")}).is(200).string("claims.nonce"))

	require.Equal(t, "bad_request", ask("archived", nil).errorOf())
	require.Equal(t, "bad_request", ask("active", object{"resource_properties": object{"status": "archived"}}).errorOf(), "sent twice")
	require.Equal(t, "nonce_replayed", ask("active", object{"countersign": object{"nonce": nonce}}).errorOf())
}

func TestAccessEvaluationRepeatsByIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	body := access(w.subject(t), action)
	keyed := w.Server.with("Idempotency-Key", "one-"+unique())
	first, again := keyed.post(t, accessSingle, body).is(200), keyed.post(t, accessSingle, body).is(200)
	require.Equal(t, string(first.body), string(again.body))
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	other := w.Server.post(t, accessSingle, body).is(200)
	require.NotEqual(t, first.string("context.authorization"), other.string("context.authorization"), "without a key each request is a decision")
	keyed.post(t, accessSingle, with(body, object{"context": object{"a": 1}})).problem(409, "idempotency_key_reused")
	w.Server.with("Idempotency-Key", "a b").post(t, accessSingle, body).problem(400, "bad_request")
}

// TestAuthZENPage runs every command of docs/authzen.md.
func TestAuthZENPage(t *testing.T) {
	t.Parallel()
	output := runShell(t, developerFolder(t, newSandbox(t)), codeBlocks(t, "../docs/authzen.md", "sh"))
	for _, want := range []string{`"access_evaluation_endpoint":`, `"decision":false`, `"step_up":`, `"valid":true`, `{"evaluations":[{"decision":false`} {
		require.Contains(t, output, want)
	}
}
