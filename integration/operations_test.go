package integration_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"
)

func TestActionLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, key := w.action(t, "test", allowing)
	path := "/api/v1/actions/" + id
	require.Equal(t, key, w.Server.get(t, path).is(200).string("key"))
	w.Server.post(t, "/api/v1/actions", object{"key": key, "name": "n", "consequence": "c", "allowed_audiences": []string{"a"}}).problem(409, "action_key_exists")
	changed := w.Server.patch(t, path, object{"name": "Another", "consequence": nil, "mode": "shadow"}).is(200)
	require.Equal(t, "Another", changed.string("name"))
	require.Equal(t, "Money leaves the account.", changed.string("consequence"), "null changes nothing")
	require.Equal(t, "shadow", changed.string("mode"))

	draft := w.Server.post(t, path+"/policy-versions", object{"requirements": holding, "proof_ttl_seconds": 60}).is(201)
	require.Equal(t, "draft", draft.string("status"))
	require.Equal(t, []string{audience}, draft.strings("allowed_audiences"), "what is omitted is copied")
	require.Equal(t, "active", w.Server.post(t, path+"/policy-versions/2/activate", nil).is(200).string("status"))
	require.Equal(t, "active", w.Server.post(t, path+"/policy-versions/2/activate", nil).is(200).string("status"), "twice is once")
	w.Server.post(t, path+"/policy-versions/1/activate", nil).problem(409, "policy_not_draft")
	versions := w.Server.get(t, path+"/policy-versions").is(200).list()
	require.Len(t, versions, 2)
	require.Equal(t, "active", versions[0]["status"])
	require.Equal(t, "retired", versions[1]["status"])
	require.InDelta(t, 2, w.Server.get(t, path).is(200).value("active_policy_version"), 0)
	require.Len(t, w.Server.get(t, "/api/v1/actions?key="+key).is(200).list(), 1)

	w.Server.delete(t, path).is(204)
	require.Empty(t, w.Server.get(t, "/api/v1/actions").is(200).list())
	w.Server.post(t, "/api/v1/authorize", request(w.subject(t), key)).problem(404, "not_found")
}

func TestActionRestrictsItsCallers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	mine := w.Server.get(t, "/api/v1/credential").is(200).string("credential")
	made := w.Server.post(t, "/api/v1/actions", object{
		"key": "pay.own", "name": "n", "consequence": "c", "allowed_audiences": []string{audience}, "allowed_callers": []string{mine},
	}).is(201)
	path := "/api/v1/actions/" + made.string("id") + "/policy-versions"
	w.Server.post(t, path, object{"requirements": allowing}).is(201)
	w.Server.post(t, path+"/1/activate", nil).is(200)
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/authorize", request(subject, "pay.own")).is(200)
	w.Admin.post(t, "/api/v1/authorize", request(subject, "pay.own")).problem(403, "caller_not_allowed")
}

func TestAuthorizeValidatesContext(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	make := func(key string, schema any) answer {
		return w.Server.post(t, "/api/v1/actions", object{
			"key": key, "name": "n", "consequence": "c", "allowed_audiences": []string{audience}, "context_schema": schema,
		})
	}
	for name, schema := range map[string]object{
		"not of an object": {"type": "string"}, "no schema": {"type": "objekt"}, "a foreign reference": {"type": "object", "$ref": "https://example.com/s"},
		"a pattern without an end": {"type": "object", "properties": object{"a": object{"pattern": "("}}},
		"too deep":                 {"type": "object", "properties": nested(40)},
		"too large":                {"type": "object", "description": strings.Repeat("x", 40_000)},
	} {
		require.NotEmpty(t, make("pay.bad", schema).faults(), name)
	}
	id := make("pay.ctx", object{"type": "object", "required": []string{"amount"}, "properties": object{"amount": object{"type": "number", "maximum": 100}}}).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": allowing}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	subject := w.subject(t)
	ask := func(context object) answer {
		body := request(subject, "pay.ctx")
		if context != nil {
			body["context"] = context
		}
		return w.Server.post(t, "/api/v1/authorize", body)
	}
	ask(object{"amount": 100}).is(200)
	for _, context := range []object{nil, {}, {"amount": "a"}, {"amount": 101}} {
		require.Contains(t, ask(context).faults()[0], `["body","context"`)
	}
}

func nested(depth int) object {
	if depth == 0 {
		return object{}
	}
	return object{"a": object{"properties": nested(depth - 1)}}
}

func TestCredentialLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "batch", "rate_limit": 50}).is(201)
	require.True(t, strings.HasPrefix(made.string("key"), "sk_test_"))
	id := made.string("id")
	batch := caller{base: shared.baseURL, key: made.string("key")}
	identity := batch.get(t, "/api/v1/credential").is(200)
	require.Equal(t, id, identity.string("credential"))
	require.Equal(t, "50", identity.header.Get("X-RateLimit-Limit"))
	for _, c := range w.Admin.get(t, "/api/v1/credentials").is(200).list() {
		require.NotContains(t, c, "key", "a key is shown once")
	}

	rotated := w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", object{"overlap_seconds": 3600}).is(200)
	require.NotEqual(t, made.string("key"), rotated.string("key"))
	next := caller{base: shared.baseURL, key: rotated.string("key")}
	next.get(t, "/api/v1/credential").is(200)
	batch.get(t, "/api/v1/credential").is(200)
	w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", nil).problem(409, "rotation_in_progress")
	w.Admin.delete(t, "/api/v1/credentials/"+id).is(204)
	eventually(t, func() bool {
		a, err := next.send("GET", "/api/v1/credential", nil)
		return err == nil && a.status == 401
	}, "a revoked key is refused")
	w.Admin.post(t, "/api/v1/credentials/"+id+"/rotate", nil).problem(409, "credential_revoked")
	w.Admin.post(t, "/api/v1/credentials/crd_01jqx3k5v8e2sbyk0c4m7t9wzd/rotate", nil).problem(404, "not_found")
}

func TestCredentialRotationAcceptsOldKeyForADay(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	made := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "old"}).is(201)
	rotated := w.Admin.post(t, "/api/v1/credentials/"+made.string("id")+"/rotate", nil).is(200)
	old, next := caller{key: made.string("key")}, caller{key: rotated.string("key")}
	before, after := later(t, 24*time.Hour-time.Minute), later(t, 24*time.Hour+time.Minute)
	old.at(before).get(t, "/api/v1/credential").is(200)
	old.at(after).get(t, "/api/v1/credential").problem(401, "unauthenticated")
	next.at(after).get(t, "/api/v1/credential").is(200)
}

func TestSigningKeyRotationKeepsProofsValid(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	before := w.authorize(t, w.subject(t), action, "allow").string("proof")
	w.Admin.post(t, "/api/v1/signing-keys/rotate", nil).is(200)
	require.GreaterOrEqual(t, len(w.Admin.get(t, "/api/v1/signing-keys").is(200).list()), 2)
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": before}).is(200).value("valid"))
	after := w.authorize(t, w.subject(t), action, "allow").string("proof")
	require.Equal(t, true, w.Server.post(t, "/api/v1/verify", object{"proof": after}).is(200).value("valid"))
}

func TestSubjectLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id := w.subject(t)
	path := "/api/v1/subjects/" + id
	w.Server.post(t, "/api/v1/subjects", object{"id": id}).problem(409, "subject_exists")
	require.Equal(t, true, w.Server.post(t, path+"/adaptation/freeze", nil).is(200).value("adaptation_frozen"))
	require.Equal(t, false, w.Server.post(t, path+"/adaptation/freeze", object{"frozen": false}).is(200).value("adaptation_frozen"))
	w.Server.post(t, path+"/research-consent", object{"consented": true}).is(200)
	require.Equal(t, true, w.Server.get(t, path).is(200).value("research_consent"))
	require.Equal(t, id, w.Server.post(t, path+"/export", nil).is(200).string("subject"))
	require.Len(t, w.Server.get(t, "/api/v1/subjects?status=active").is(200).list(), 1)
	require.Equal(t, "erasing", w.Server.delete(t, path).is(202).string("status"))
	w.Server.get(t, path).problem(404, "not_found")
	w.Server.post(t, "/api/v1/subjects", object{"id": id}).is(201)
}

func TestRecoveryRevokesOpenProofs(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	proofID := w.authorize(t, subject, action, "allow").string("proof_id")
	path := "/api/v1/subjects/" + subject + "/recovery"
	w.Server.get(t, path).problem(404, "not_found")
	w.Server.post(t, path, object{"anchor": "passkey", "anchor_evidence_ref": "12345678"}).problem(409, "anchor_unavailable")
	require.Equal(t, []string{`["body","anchor_evidence_ref"] missing_for_anchor`}, w.Server.post(t, path, object{"anchor": "idp"}).faults())
	begun := w.Server.post(t, path, object{"anchor": "none"})
	require.Contains(t, []int{201, 202}, begun.status, "answered: %s", begun.body)
	require.Equal(t, "pending", begun.string("status"))
	w.Server.post(t, path, object{"anchor": "none"}).problem(409, "recovery_in_progress")
	require.Equal(t, begun.string("id"), w.Server.get(t, path).is(200).string("id"))
	require.Equal(t, "revoked", w.Server.get(t, "/api/v1/proofs/"+proofID+"/status").is(200).string("status"))
	session := w.session(t, subject, "enroll", typist("recovering"), 1)
	w.Server.post(t, "/api/v1/subjects/"+subject+"/enrollments/complete", object{"session": session}).problem(409, "recovery_not_ready")
}

// passkey registers a passkey of the subject on a software authenticator.
func (w world) passkey(t testing.TB, subject string) (virtualwebauthn.RelyingParty, virtualwebauthn.Authenticator, virtualwebauthn.Credential, string) {
	t.Helper()
	path := "/api/v1/subjects/" + subject + "/passkeys"
	grant := w.Server.post(t, path+"/registration-grants", nil).is(201).string("token")
	raw := w.Server.post(t, path+"/register/options", object{"registration_grant": grant}).is(200).body
	options, err := virtualwebauthn.ParseAttestationOptions(string(raw))
	require.NoError(t, err)
	rp := virtualwebauthn.RelyingParty{ID: w.RPID, Name: w.RPName, Origin: w.RPOrigins[0]}
	device, key := virtualwebauthn.NewAuthenticator(), newCredential()
	made := virtualwebauthn.CreateAttestationResponse(rp, device, key, *options)
	body := object{"registration_grant": grant, "credential": json.RawMessage(made)}
	id := w.Server.post(t, path+"/register/complete", body).is(201).string("id")
	w.Server.post(t, path+"/register/complete", body).problem(403, "grant_invalid")
	device.Options.UserHandle = []byte(userHandle(t, raw))
	device.AddCredential(key)
	return rp, device, key, id
}

func userHandle(t testing.TB, options []byte) string {
	t.Helper()
	var o struct {
		PublicKey struct {
			User struct {
				ID string `json:"id"`
			} `json:"user"`
		} `json:"publicKey"`
	}
	require.NoError(t, json.Unmarshal(options, &o))
	handle, err := base64.RawURLEncoding.DecodeString(o.PublicKey.User.ID)
	require.NoError(t, err)
	return string(handle)
}

func TestPasskeyLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	subject := w.subject(t)
	rp, device, key, id := w.passkey(t, subject)
	require.Len(t, w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list(), 1)

	challenge := w.authorize(t, subject, action, "challenge").string("challenge.id")
	raw := w.Server.post(t, "/api/v1/challenges/"+challenge+"/passkey/options", nil).is(200).body
	options, err := virtualwebauthn.ParseAssertionOptions(string(raw))
	require.NoError(t, err)
	assertion := virtualwebauthn.CreateAssertionResponse(rp, device, key, *options)
	body := object{"method": "passkey", "assertion": json.RawMessage(assertion)}
	receipt := w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", body).is(200)
	child := w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200)
	require.Equal(t, "allow", child.string("decision"))
	require.Equal(t, "phishing_resistant", w.Server.get(t, "/api/v1/authorizations/"+child.string("parent")).is(200).string("challenge.strength"))

	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+id).is(204)
	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/psk_01jqx3k5v8e2sbyk0c4m7t9wzd").problem(404, "not_found")
}

func TestChallengeLinkIsCreated(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	challenge := w.authorize(t, w.subject(t), action, "challenge").string("challenge.id")
	require.NotEmpty(t, w.Server.post(t, "/api/v1/challenges/"+challenge+"/link", nil).is(201).string("url"))
	_, onlyPasskeys := w.action(t, "enforce", with(challenging, object{"challenge_methods": []string{"passkey"}}))
	w.authorize(t, w.subject(t), onlyPasskeys, "hold")
}

func TestEvaluationLifecycle(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "shadow", allowing)
	made := w.Server.post(t, "/api/v1/evaluations", object{
		"name": "First week", "action_keys": []string{action}, "success_criteria": object{"min_shadow_decisions": 2, "min_outcome_coverage": 0, "max_abstention_rate": 1},
	}).is(201)
	path := "/api/v1/evaluations/" + made.string("id")
	require.Equal(t, "open", w.Server.get(t, path).is(200).string("status"))
	for range 2 {
		w.authorize(t, w.subject(t), action, "allow")
	}
	require.Equal(t, "in_progress", w.Server.get(t, path+"/report").is(200).string("result"))
	closed := w.Server.post(t, path+"/close", nil)
	require.Contains(t, []int{200, 202}, closed.status, "answered: %s", closed.body)
	eventually(t, func() bool { return w.Server.get(t, path).is(200).string("status") == "closed" }, "it closes")
	report := w.Server.get(t, path+"/report").is(200)
	require.Equal(t, "passed", report.string("result"))
	require.InDelta(t, 2, report.value("metrics.decisions"), 0)
	w.Server.post(t, path+"/close", nil).problem(409, "evaluation_closed")
	require.NotEmpty(t, w.Server.post(t, "/api/v1/evaluations", object{"name": "n", "action_keys": []string{"un.known"}}).faults())
}

func TestReportOutcomeRejectsConflicts(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	id := w.authorize(t, w.subject(t), action, "allow").string("id")
	path := "/api/v1/authorizations/" + id + "/outcome"
	first := w.Server.post(t, path, object{"outcome": "executed"}).is(200)
	again := w.Server.post(t, path, object{"outcome": "executed"}).is(200)
	require.JSONEq(t, string(first.body), string(again.body))
	w.Server.post(t, path, object{"outcome": "not_executed"}).problem(409, "outcome_conflict")
	w.Server.post(t, "/api/v1/authorizations/"+id+"/review", object{"resolution": "approve"}).problem(409, "not_held")
	require.Len(t, w.Server.get(t, "/api/v1/authorizations?action="+action+"&decision=allow").is(200).list(), 1)
}

func TestReviewRejectsResolvedAndExpiredHolds(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", holding)
	path := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
	w.Server.post(t, path, object{"resolution": "reject"}).is(200)
	w.Server.post(t, path, object{"resolution": "approve"}).problem(409, "review_resolved")
	late := "/api/v1/authorizations/" + w.authorize(t, w.subject(t), action, "hold").string("id") + "/review"
	w.Server.at(later(t, 73*time.Hour)).post(t, late, object{"resolution": "approve"}).problem(409, "review_expired")
}

func TestBodySizeLimits(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": w.subject(t)}).is(201).string("id")
	frame := func(size int) []byte {
		body := `{"frame_id":"f","timestamp":1,"duration_ms":1,"features":{"x":""},"pad":"`
		return []byte(body + strings.Repeat("a", size-len(body)-2) + `"}`)
	}
	path := "/api/v1/sessions/" + session + "/evidence"
	require.Equal(t, "rejected", w.Server.post(t, path, frame(256<<10)).is(200).string("status"), "a frame may have 256 KiB")
	w.Server.post(t, path, frame(256<<10+1)).problem(413, "body_too_large")
	w.Server.post(t, "/api/v1/subjects", frame(64<<10+1)).problem(413, "body_too_large")
}

func TestMetaAndContractAreServed(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for _, c := range []caller{w.Publishable, w.Server, w.Admin} {
		meta := c.get(t, "/api/v1/meta").is(200)
		require.NotEmpty(t, meta.value("reason_codes"))
		require.Equal(t, "unsupported", meta.string("capabilities.agent_mandates"))
	}
	contract := caller{base: shared.baseURL}.get(t, "/api/v1/openapi.json").is(200)
	require.Equal(t, "3.1.0", contract.string("openapi"))
	caller{base: shared.baseURL}.with("If-None-Match", contract.header.Get("ETag")).get(t, "/api/v1/openapi.json").is(304)
	require.NotEmpty(t, w.Server.get(t, "/api/v1/event-types").is(200).list())
}

func TestWebhookEndpointUpdateAndRotation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	made := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example.com/in", "events": []string{"hold.*"}}).is(201)
	require.True(t, strings.HasPrefix(made.string("secret"), "whsec_"))
	path := "/api/v1/webhook-endpoints/" + made.string("id")
	changed := w.Admin.patch(t, path, object{"events": []string{"*"}, "description": "All"}).is(200)
	require.Equal(t, []string{"*"}, changed.strings("events"))
	require.Len(t, w.Admin.get(t, "/api/v1/webhook-endpoints").is(200).list(), 1)
	rotated := w.Admin.post(t, path+"/rotate", object{"overlap_seconds": 60}).is(200)
	require.NotEqual(t, made.string("secret"), rotated.string("secret"))
	w.Admin.post(t, path+"/rotate", nil).problem(409, "rotation_in_progress")
	w.Admin.post(t, path+"/replay", object{"status": "all"}).is(202)
}

func TestSandboxConfirmIsRefusedInLive(t *testing.T) {
	t.Parallel()
	live := newTenant(t).Live
	id := live.Server.post(t, "/api/v1/actions", object{"key": "pay.live", "name": "n", "consequence": "c", "allowed_audiences": []string{"a"}}).is(201).string("id")
	policies := "/api/v1/actions/" + id + "/policy-versions"
	for _, methods := range [][]string{{"sandbox_confirm"}, {"passkey", "sandbox_confirm"}} {
		a := live.Server.post(t, policies, object{"requirements": object{"challenge_methods": methods}})
		require.Contains(t, strings.Join(a.faults(), " "), "method_not_available")
	}

	// A method that was not asked for cannot be forced on a challenge either.
	live.Server.post(t, policies, object{"requirements": object{"coverage_min": "partial", "insufficient_evidence": "challenge"}}).is(201)
	live.Server.post(t, policies+"/1/activate", nil).is(200)
	live.Server.patch(t, "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200)
	subject := live.subject(t)
	live.device(t, subject)
	body := request(subject, "pay.live")
	body["audience"] = "a"
	asked := live.Server.post(t, "/api/v1/authorize", body).is(200)
	require.Equal(t, "challenge", asked.string("decision"))
	require.Equal(t, []string{"passkey"}, asked.strings("challenge.methods"))
	forced := live.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"})
	forced.problem(403, "sandbox_only")
	require.Equal(t, "open", live.Server.get(t, "/api/v1/challenges/"+asked.string("challenge.id")).is(200).string("status"))
}

func TestQuotaDefaults(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	for limit, w := range map[string]world{"1000": made.Sandbox, "10000": made.Live} {
		key := w.Admin.post(t, "/api/v1/credentials", object{"scope": "server", "name": "plain"}).is(201).string("key")
		require.Equal(t, limit, caller{base: shared.baseURL, key: key}.get(t, "/api/v1/credential").is(200).header.Get("X-RateLimit-Limit"))
	}
}
