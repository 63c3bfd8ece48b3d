package integration_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// unaudited are operations that are neither readings nor changes of state that an auditor asks about, and why.
var unaudited = map[string]string{
	"simulatePolicyVersion":   "computes, and keeps nothing",
	"challengePasskeyOptions": "answers what to sign; the attempt is the entry",
	"passkeyRegisterOptions":  "answers what to register; the registration is the entry",
	"submitEvidence":          "evidence is data; the decision names it, and a trust state that changes is an entry",
	"legacyIngest":            "evidence, as submitEvidence",
	"testWebhookEndpoint":     "sends a message that is in no log, and changes nothing",
}

// mended are entries that say what was before and after as digests.
var mended = []events.Type{
	events.ActionUpdated, events.WebhookEndpointUpdated,
}

// audited is what each operation that changes something appends. A walk over the contract fails where one is missing here.
var audited = map[string][]events.Type{
	"createAction": {events.ActionCreated}, "updateAction": {events.ActionUpdated}, "archiveAction": {events.ActionArchived},
	"createPolicyVersion": {events.PolicyCreated}, "activatePolicyVersion": {events.PolicyActivated},
	"authorize":     {events.AuthorizationDecided, events.HoldOpened},
	"reportOutcome": {events.OutcomeReported}, "reviewAuthorization": {events.HoldApproved, events.AuthorizationDecided},
	"completeChallenge": {events.ChallengeCompleted, events.AuthorizationDecided}, "cancelChallenge": {events.ChallengeCancelled},
	"createChallengeLink": {events.ChallengeLinkCreated}, "verifyProof": {events.ProofConsumed},
	"createSubject": {events.SubjectCreated}, "deleteSubject": {events.SubjectErasureRequested},
	"freezeAdaptation": {events.SubjectAdaptationChanged}, "exportSubject": {events.SubjectExported},
	"setResearchConsent": {events.SubjectConsentChanged}, "revokeSubject": {events.SubjectRevoked},
	"completeEnrollment": {events.EnrollmentRequested}, "rollbackTemplate": {events.TemplateRolledBack},
	"createPasskeyGrant": {events.PasskeyRegistrationGranted}, "passkeyRegisterComplete": {events.PasskeyRegistered},
	"revokePasskey": {events.PasskeyRevoked}, "beginRecovery": {events.RecoveryStarted},
	"createClientToken": {events.ClientTokenCreated}, "createSession": {events.SessionStarted}, "endSession": {events.SessionEnded},
	"createEvaluation": {events.EvaluationCreated}, "closeEvaluation": {events.EvaluationClosed},
	"createCredential": {events.CredentialCreated}, "rotateCredential": {events.CredentialRotated}, "revokeCredential": {events.CredentialRevoked},
	"rotateSigningKey":      {events.SigningKeyCreated, events.SigningKeyActivated},
	"updateEnvironment":     {events.EnvironmentUpdated},
	"createWebhookEndpoint": {events.WebhookEndpointCreated}, "updateWebhookEndpoint": {events.WebhookEndpointUpdated},
	"deleteWebhookEndpoint": {events.WebhookEndpointDeleted}, "enableWebhookEndpoint": {events.WebhookEndpointEnabled},
	"replayWebhookEndpoint": {events.WebhookEndpointReplayed}, "rotateWebhookSecret": {events.WebhookSecretRotated},
	"legacySessionStart": {events.SubjectCreated, events.SessionStarted}, "legacySessionEnd": {events.SessionEnded},
	"legacyEnrol": {events.SubjectCreated}, "legacyAuth": {events.AuthenticationDecided},
}

func TestAuditTableCoversEveryWriteOperation(t *testing.T) {
	t.Parallel()
	for _, op := range operations() {
		if op.Method == http.MethodGet {
			continue
		}
		_, exempt := unaudited[op.ID]
		require.NotEqual(t, exempt, audited[op.ID] != nil, "%s %s (%s): say what entry it makes, or why none", op.Method, op.Path, op.ID)
	}
}

// auditor does one operation after the other and reads what each left in the log.
type auditor struct {
	world
	t    *testing.T
	done map[string]bool
}

// entry is what the log has of one request.
type entry struct {
	Type     events.Type
	Actor    string
	Workflow *string
	Data     map[string]any
}

// by does an operation and requires its entries: of the right types, by the credential or by the workflow it was handed to,
// and under the request's id.
func (a *auditor) by(c caller, id, method, path string, body any) answer {
	a.t.Helper()
	require.Equal(a.t, id, operationOf(method, path))
	got := c.do(a.t, method, path, body)
	for n := 0; got.status == http.StatusServiceUnavailable && n < 5; n++ {
		got = c.do(a.t, method, path, body) // a loaded Temporal: nothing was changed, or the answer is kept
	}
	require.Less(a.t, got.status, 300, "%s answered: %s", id, got.body)
	a.done[id] = true
	entries := a.entries(got.header.Get("X-Request-Id"))
	var types []events.Type
	for _, e := range entries {
		types = append(types, e.Type)
		require.Regexp(a.t, `^(credential:crd_|client_token:|workflow:)`, e.Actor, "%s: %s", id, e.Type)
		if slices.Contains(mended, e.Type) {
			require.Contains(a.t, e.Data, "before", id)
			require.Contains(a.t, e.Data, "after", id)
			require.NotEqual(a.t, e.Data["before"], e.Data["after"], id)
		}
	}
	require.Subset(a.t, types, audited[id], "%s: entries under the request's id; answered: %s", id, got.body)
	return got
}

func (a *auditor) entries(request string) []entry {
	a.t.Helper()
	rows, err := shared.Store.Pool().Query(a.t.Context(), `select type, actor, workflow_id, data from events
		where environment_id = $1 and request_id = $2 order by txid, seq`, a.ID, request)
	require.NoError(a.t, err)
	defer rows.Close()
	var out []entry
	for rows.Next() {
		var e entry
		var data []byte
		require.NoError(a.t, rows.Scan(&e.Type, &e.Actor, &e.Workflow, &data))
		require.NoError(a.t, json.Unmarshal(data, &e.Data))
		out = append(out, e)
	}
	require.NoError(a.t, rows.Err())
	return out
}

func TestAuditLogRecordsEveryWriteOperation(t *testing.T) {
	t.Parallel()
	a := &auditor{world: newSandbox(t), t: t, done: map[string]bool{}}
	a.decisions()
	a.people()
	a.administration()
	a.earlier()
	for id := range audited {
		require.True(t, a.done[id], "%s was not done", id)
	}

	a.workflows()
	scope := store.Scope{Tenant: a.TenantID, Environment: a.ID}
	eventually(t, func() bool {
		unsealed := count(t, `select count(*) from events e where environment_id = $1 and not exists (select from audit_chain c where c.event_id = e.id)`, a.ID)
		return unsealed == 0
	}, "everything is sealed soon")
	result, err := audit.Verify(t.Context(), shared.Store, scope, nil)
	require.NoError(t, err)
	require.True(t, result.Intact(), "%+v", result.Findings)
}

// workflows requires the entries that runs made by themselves or for somebody, under their own ids.
func (a *auditor) workflows() {
	for _, typ := range []events.Type{events.ChallengeCompleted, events.HoldApproved, events.EnrollmentCompleted, events.EvaluationClosed} {
		require.NotZero(a.t, count(a.t, "select count(*) from events where environment_id = $1 and type = $2 and workflow_id is not null", a.ID, typ), typ)
	}
}

func (a *auditor) decisions() {
	id := a.by(a.Server, "createAction", "POST", "/api/v1/actions", object{
		"key": "payment.release", "name": "Release a payment", "consequence": "Money leaves.", "allowed_audiences": []string{audience},
	}).string("id")
	path := "/api/v1/actions/" + id
	activate := func(version string, requirements object) {
		a.by(a.Server, "createPolicyVersion", "POST", path+"/policy-versions", object{"requirements": requirements})
		a.by(a.Server, "activatePolicyVersion", "POST", path+"/policy-versions/"+version+"/activate", nil)
	}
	activate("1", holding)
	a.by(a.Server, "updateAction", "PATCH", path, object{"mode": "enforce"})
	subject := a.by(a.Server, "createSubject", "POST", "/api/v1/subjects", object{"id": "person-1"}).string("id")
	held := a.by(a.Server, "authorize", "POST", "/api/v1/authorize", request(subject, "payment.release")).string("id")
	allowed := a.by(a.Server, "reviewAuthorization", "POST", "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve"})
	verified := a.by(a.Server, "verifyProof", "POST", "/api/v1/verify", object{"proof": allowed.string("decision.proof"), "audience": audience, "consume": true})
	require.Equal(a.t, true, verified.value("valid"), "answered: %s", verified.body)
	a.by(a.Server, "reportOutcome", "POST", "/api/v1/authorizations/"+held+"/outcome", object{"outcome": "executed"})

	activate("2", challenging)
	open := func() string { return a.authorize(a.t, subject, "payment.release", "challenge").string("challenge.id") }
	challenge := open()
	a.by(a.Server, "createChallengeLink", "POST", "/api/v1/challenges/"+challenge+"/link", nil)
	a.by(a.Server, "completeChallenge", "POST", "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"})
	a.by(a.Server, "cancelChallenge", "POST", "/api/v1/challenges/"+open()+"/cancel", nil)

	evaluation := a.by(a.Server, "createEvaluation", "POST", "/api/v1/evaluations", object{"name": "trial", "action_keys": []string{"payment.release"}}).string("id")
	a.by(a.Server, "closeEvaluation", "POST", "/api/v1/evaluations/"+evaluation+"/close", nil)
	a.by(a.Server, "archiveAction", "DELETE", path, nil)
}

func (a *auditor) people() {
	who := typist(a.t.Name())
	subject := a.subject(a.t)
	path := "/api/v1/subjects/" + subject
	var session string
	enroll := func() {
		for range 3 {
			session = a.session(a.t, subject, "enroll", who, 4)
			who.NewDay()
		}
		a.by(a.Server, "completeEnrollment", "POST", path+"/enrollments/complete", object{"session": session})
	}
	enroll()
	enroll()
	a.by(a.Server, "rollbackTemplate", "POST", path+"/templates/rollback", object{"modality": "keystroke", "device_class": "desktop"})
	session = a.by(a.Server, "createSession", "POST", "/api/v1/sessions", object{"subject": subject}).string("id")
	a.by(a.Server, "endSession", "POST", "/api/v1/sessions/"+session+"/end", nil)
	a.by(a.Server, "createClientToken", "POST", "/api/v1/client-tokens", object{"subject": subject, "origin": "https://shop.example"})
	a.by(a.Server, "freezeAdaptation", "POST", path+"/adaptation/freeze", nil)
	a.by(a.Server, "setResearchConsent", "POST", path+"/research-consent", object{"consented": true})
	a.by(a.Server, "exportSubject", "POST", path+"/export", nil)
	a.passkeys(path)
	a.by(a.Server, "beginRecovery", "POST", path+"/recovery", object{"anchor": "none"})
	a.by(a.Server, "revokeSubject", "POST", path+"/revoke", nil)
	a.by(a.Server, "deleteSubject", "DELETE", path, nil)
}

func (a *auditor) passkeys(subject string) {
	grant := a.by(a.Server, "createPasskeyGrant", "POST", subject+"/passkeys/registration-grants", nil).string("token")
	raw := a.Server.post(a.t, subject+"/passkeys/register/options", object{"registration_grant": grant}).is(200).body
	options, err := virtualwebauthn.ParseAttestationOptions(string(raw))
	require.NoError(a.t, err)
	rp := virtualwebauthn.RelyingParty{ID: a.RPID, Name: a.RPName, Origin: a.RPOrigins[0]}
	made := virtualwebauthn.CreateAttestationResponse(rp, virtualwebauthn.NewAuthenticator(), newCredential(), *options)
	id := a.by(a.Server, "passkeyRegisterComplete", "POST", subject+"/passkeys/register/complete",
		object{"registration_grant": grant, "credential": json.RawMessage(made)}).string("id")
	a.by(a.Server, "revokePasskey", "DELETE", subject+"/passkeys/"+id, nil)
}

func (a *auditor) administration() {
	id := a.by(a.Admin, "createCredential", "POST", "/api/v1/credentials", object{"scope": "server"}).string("id")
	a.by(a.Admin, "rotateCredential", "POST", "/api/v1/credentials/"+id+"/rotate", nil)
	a.by(a.Admin, "revokeCredential", "DELETE", "/api/v1/credentials/"+id, nil)
	a.by(a.Admin, "rotateSigningKey", "POST", "/api/v1/signing-keys/rotate", nil)
	a.by(a.Admin, "updateEnvironment", "PATCH", "/api/v1/environment", object{"rp_name": "Alder Bank"})

	hook := "/api/v1/webhook-endpoints/" + a.by(a.Admin, "createWebhookEndpoint", "POST", "/api/v1/webhook-endpoints",
		object{"url": newRelyingParty(a.t).url, "events": []string{"subject.erased"}}).string("id")
	a.by(a.Admin, "rotateWebhookSecret", "POST", hook+"/rotate", nil)
	a.by(a.Admin, "replayWebhookEndpoint", "POST", hook+"/replay", nil)
	a.by(a.Admin, "updateWebhookEndpoint", "PATCH", hook, object{"status": "disabled"})
	a.by(a.Admin, "enableWebhookEndpoint", "POST", hook+"/enable", nil)
	a.by(a.Admin, "deleteWebhookEndpoint", "DELETE", hook, nil)
}

func (a *auditor) earlier() {
	session := a.by(a.Server, "legacySessionStart", "POST", "/v2/sessions/start", object{"user_id": "user-2", "device_id": "laptop-1"}).string("session_id")
	a.by(a.Server, "legacySessionEnd", "POST", "/v2/sessions/end", object{"session_id": session})
	who := typist("earlier")
	a.by(a.Server, "legacyEnrol", "POST", "/enrol", consenting(timings("user-3", who)))
	a.by(a.Server, "legacyAuth", "POST", "/auth", timings("user-3", who))
}
