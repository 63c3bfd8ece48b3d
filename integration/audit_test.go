package integration_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/models"
)

// unaudited are the write operations that append no audit entry, with the reason.
var unaudited = map[string]string{
	"simulatePolicyVersion":   "computes and stores nothing",
	"challengePasskeyOptions": "returns what to sign; the attempt is the entry",
	"passkeyRegisterOptions":  "returns what to register; the registration is the entry",
	"submitEvidence":          "evidence is data; the decision names it, and a trust state that changes is an entry",
	"legacyIngest":            "evidence, as submitEvidence",
	"explainChange":           "a text that decides nothing; the entries of the change name who requested and settled it",
}

// withDigests are the entries that record the digests of the state before and after.
var withDigests = []events.Type{
	events.ActionUpdated, events.WebhookEndpointUpdated, events.TeamUpdated,
}

// audited lists the entries that each write operation appends.
var audited = map[string][]events.Type{
	"createAction": {events.ActionCreated}, "updateAction": {events.ActionUpdated}, "archiveAction": {events.ActionArchived},
	"createPolicyVersion": {events.PolicyCreated}, "activatePolicyVersion": {events.PolicyActivated},
	"authorize":      {events.AuthorizationDecided, events.HoldOpened},
	"evaluateAccess": {events.AuthorizationDecided}, "evaluateAccessBatch": {events.AuthorizationDecided, events.ChallengeLinkCreated},
	"reportOutcome": {events.OutcomeReported}, "reviewAuthorization": {events.HoldApproved, events.AuthorizationDecided},
	"assignReview": {events.HoldAssigned}, "unassignReview": {events.HoldAssigned}, "withdrawAuthorization": {events.HoldWithdrawn}, "giveAfterReview": {events.AfterReviewGiven},
	"createStandingApproval": {events.AuthorizationDecided, events.StandingRequested}, "revokeStandingApproval": {events.StandingEnded}, "createStandingLink": {events.StandingLinkCreated},
	"completeChallenge": {events.ChallengeCompleted, events.AuthorizationDecided}, "cancelChallenge": {events.ChallengeCancelled},
	"createChallengeLink": {events.ChallengeLinkCreated}, "verifyProof": {events.ProofConsumed},
	"createSubject": {events.SubjectCreated}, "deleteSubject": {events.SubjectErasureRequested},
	"freezeAdaptation": {events.SubjectAdaptationChanged}, "exportSubject": {events.SubjectExported},
	"setResearchConsent": {events.SubjectConsentChanged}, "revokeSubject": {events.SubjectRevoked},
	"reinstateSubject": {events.ChangeRequested}, "setSubjectAliases": {events.SubjectAliasesChanged},
	"completeEnrollment": {events.EnrollmentRequested}, "rollbackTemplate": {events.TemplateRolledBack},
	"createPasskeyGrant": {events.PasskeyRegistrationGranted}, "passkeyRegisterComplete": {events.PasskeyRegistered},
	"revokePasskey": {events.PasskeyRevoked}, "importPasskey": {events.PasskeyRegistered}, "beginRecovery": {events.RecoveryStarted},
	"createClientToken": {events.ClientTokenCreated}, "createSession": {events.SessionStarted}, "endSession": {events.SessionEnded},
	"createEvaluation": {events.EvaluationCreated}, "closeEvaluation": {events.EvaluationClosed},
	"createCredential": {events.CredentialCreated}, "rotateCredential": {events.CredentialRotated}, "revokeCredential": {events.CredentialRevoked},
	"rotateSigningKey":      {events.SigningKeyCreated, events.SigningKeyActivated},
	"updateEnvironment":     {events.EnvironmentUpdated},
	"createWebhookEndpoint": {events.WebhookEndpointCreated}, "updateWebhookEndpoint": {events.WebhookEndpointUpdated},
	"deleteWebhookEndpoint": {events.WebhookEndpointDeleted}, "enableWebhookEndpoint": {events.WebhookEndpointEnabled},
	"replayWebhookEndpoint": {events.WebhookEndpointReplayed}, "rotateWebhookSecret": {events.WebhookSecretRotated},
	"testWebhookEndpoint": {events.WebhookEndpointTested},
	"setManager":          {events.PersonManagerSet},
	"setDestination":      {events.DestinationChanged}, "setDestinationCredentials": {events.DestinationCredentials}, "removeDestination": {events.DestinationRemoved},
	"createTeam": {events.TeamCreated}, "updateTeam": {events.TeamUpdated}, "deleteTeam": {events.TeamDeleted},
	"createList": {events.ListCreated}, "changeListEntries": {events.ListChanged}, "deleteList": {events.ListDeleted},
	"approveChange": {events.ChangeApproved, events.PolicyActivated}, "rejectChange": {events.ChangeRejected}, "withdrawChange": {events.ChangeWithdrawn},
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
		require.NotEqual(t, exempt, audited[op.ID] != nil, "%s %s (%s): list its entries in audited, or the reason in unaudited", op.Method, op.Path, op.ID)
	}
}

// auditor sends one request after another and reads the audit entries of each.
type auditor struct {
	world
	t    *testing.T
	done map[string]bool
}

// entry is one audit entry of a request.
type entry struct {
	Type     events.Type
	Actor    string
	Workflow *string
	Data     map[string]any
}

// request sends a request and requires its audit entries: of the listed types, by the credential or its workflow, and under
// the request's id.
func (a *auditor) request(c caller, id, method, path string, body any) response {
	a.t.Helper()
	require.Equal(a.t, id, operationOf(method, path))
	got := c.do(a.t, method, path, body)
	for n := 0; got.status == http.StatusServiceUnavailable && n < 5; n++ {
		got = c.do(a.t, method, path, body) // Temporal is overloaded: nothing was changed, or the response is stored
	}
	require.Less(a.t, got.status, 300, "%s response: %s", id, got.body)
	a.done[id] = true
	entries := a.entries(got.header.Get("X-Request-Id"))
	var types []events.Type
	for _, e := range entries {
		types = append(types, e.Type)
		require.Regexp(a.t, `^(credential:crd_|client_token:|workflow:)`, e.Actor, "%s: %s", id, e.Type)
		if slices.Contains(withDigests, e.Type) {
			require.Contains(a.t, e.Data, "before", id)
			require.Contains(a.t, e.Data, "after", id)
			require.NotEqual(a.t, e.Data["before"], e.Data["after"], id)
		}
	}
	require.Subset(a.t, types, audited[id], "%s: entries under the request's id; response: %s", id, got.body)
	return got
}

func (a *auditor) entries(request string) []entry {
	a.t.Helper()
	rows, err := shared.Store.Pool().Query(a.t.Context(), `select type, actor, workflow_id, data from events
		where environment_id = $1 and request_id = $2 order by seq`, a.ID, request)
	require.NoError(a.t, err)
	defer rows.Close()
	var out []entry
	for rows.Next() {
		var e entry
		require.NoError(a.t, rows.Scan(&e.Type, &e.Actor, &e.Workflow, &e.Data))
		out = append(out, e)
	}
	require.NoError(a.t, rows.Err())
	return out
}

func TestAuditLogRecordsEveryWriteOperation(t *testing.T) {
	t.Parallel()
	a := &auditor{world: newSandbox(t), t: t, done: map[string]bool{}}
	a.decisions()
	a.subjects()
	a.administration()
	a.legacy()
	a.teams()
	a.lists()
	a.changes()
	for id := range audited {
		require.True(t, a.done[id], "%s was not requested", id)
	}

	a.workflows()
	scope := a.scope()
	eventually(t, func() bool {
		unsealed := count(t, `select count(*) from events e where environment_id = $1 and not exists (select from audit_chain c where c.event_id = e.id and c.environment_id = $1)`, a.ID)
		return unsealed == 0
	}, "every entry is sealed")
	result, err := audit.Verify(t.Context(), shared.Store, scope, nil)
	require.NoError(t, err)
	require.True(t, result.Intact(), "%+v", result.Findings)
}

// workflows requires the entries that workflows append under their own ids.
func (a *auditor) workflows() {
	for _, typ := range []events.Type{events.ChallengeCompleted, events.HoldApproved, events.EnrollmentCompleted, events.EvaluationClosed} {
		require.NotZero(a.t, count(a.t, "select count(*) from events where environment_id = $1 and type = $2 and workflow_id is not null", a.ID, typ), typ)
	}
}

func (a *auditor) decisions() {
	id := a.request(a.Server, "createAction", "POST", "/api/v1/actions", object{
		"key": "payment.release", "name": "Release a payment", "consequence": "Money leaves.", "allowed_audiences": []string{audience},
	}).string("id")
	path := "/api/v1/actions/" + id
	activate := func(version string, requirements object) {
		a.request(a.Server, "createPolicyVersion", "POST", path+"/policy-versions", object{"requirements": requirements})
		a.request(a.Server, "activatePolicyVersion", "POST", path+"/policy-versions/"+version+"/activate", nil)
	}
	activate("1", holding)
	a.request(a.Server, "updateAction", "PATCH", path, object{"mode": "enforce"})
	subject := a.request(a.Server, "createSubject", "POST", "/api/v1/subjects", object{"id": "person-1"}).string("id")
	held := a.request(a.Server, "authorize", "POST", "/api/v1/authorize", request(subject, "payment.release")).string("id")
	a.request(a.Server, "assignReview", "POST", "/api/v1/authorizations/"+held+"/assignment", nil)
	a.request(a.Server, "unassignReview", "DELETE", "/api/v1/authorizations/"+held+"/assignment", nil)
	allowed := a.request(a.Server, "reviewAuthorization", "POST", "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve"})
	verified := a.request(a.Server, "verifyProof", "POST", "/api/v1/verify", object{"proof": allowed.string("decision.proof"), "audience": audience, "consume": true})
	require.Equal(a.t, true, verified.value("valid"), "response: %s", verified.body)
	a.request(a.Server, "reportOutcome", "POST", "/api/v1/authorizations/"+held+"/outcome", object{"outcome": "executed"})
	withdrawn := a.request(a.Server, "authorize", "POST", "/api/v1/authorize", request(subject, "payment.release")).string("id")
	a.request(a.Server, "withdrawAuthorization", "POST", "/api/v1/authorizations/"+withdrawn+"/withdraw", nil)
	a.reviewAfterwards(subject)

	activate("2", challenging)
	open := func() string { return a.authorize(a.t, subject, "payment.release", "challenge").string("challenge.id") }
	challenge := open()
	a.request(a.Server, "createChallengeLink", "POST", "/api/v1/challenges/"+challenge+"/link", nil)
	a.request(a.Server, "completeChallenge", "POST", "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"})
	a.request(a.Server, "cancelChallenge", "POST", "/api/v1/challenges/"+open()+"/cancel", nil)
	batch := with(access(subject, "payment.release"), object{"evaluations": []object{{}}})
	require.Equal(a.t, []bool{false}, a.request(a.Server, "evaluateAccessBatch", "POST", accessBatch, batch).decisions())
	activate("3", allowing)
	a.request(a.Server, "evaluateAccess", "POST", accessSingle, access(subject, "payment.release"))

	evaluation := a.request(a.Server, "createEvaluation", "POST", "/api/v1/evaluations", object{"name": "trial", "action_keys": []string{"payment.release"}}).string("id")
	a.request(a.Server, "closeEvaluation", "POST", "/api/v1/evaluations/"+evaluation+"/close", nil)
	a.request(a.Server, "archiveAction", "DELETE", path, nil)
}

func (a *auditor) subjects() {
	who := typist(a.t.Name())
	subject := a.subject(a.t)
	path := "/api/v1/subjects/" + subject
	var session string
	enroll := func() {
		for range 3 {
			session = a.session(a.t, subject, "enroll", who, 4)
			who.NewDay()
		}
		a.request(a.Server, "completeEnrollment", "POST", path+"/enrollments/complete", object{"session": session})
	}
	enroll()
	enroll()
	a.request(a.Server, "rollbackTemplate", "POST", path+"/templates/rollback", object{"modality": "keystroke", "device_class": "desktop"})
	session = a.request(a.Server, "createSession", "POST", "/api/v1/sessions", object{"subject": subject}).string("id")
	a.request(a.Server, "endSession", "POST", "/api/v1/sessions/"+session+"/end", nil)
	a.request(a.Server, "createClientToken", "POST", "/api/v1/client-tokens", object{"subject": subject, "origin": "https://shop.example"})
	a.request(a.Server, "freezeAdaptation", "POST", path+"/adaptation/freeze", nil)
	a.request(a.Server, "setResearchConsent", "POST", path+"/research-consent", object{"consented": true})
	a.request(a.Server, "exportSubject", "POST", path+"/export", nil)
	a.passkeys(path)
	a.request(a.Server, "setSubjectAliases", "PUT", path+"/aliases", object{"aliases": []object{{"format": "opaque", "id": subject}}})
	a.request(a.Server, "beginRecovery", "POST", path+"/recovery", object{"anchor": "none"})
	a.request(a.Server, "revokeSubject", "POST", path+"/revoke", nil)
	a.request(a.Server, "reinstateSubject", "POST", path+"/reinstate", object{"reason": "reported by mistake"})
	a.request(a.Server, "deleteSubject", "DELETE", path, nil)
}

func (a *auditor) passkeys(subject string) {
	grant := a.request(a.Server, "createPasskeyGrant", "POST", subject+"/passkeys/registration-grants", nil).string("token")
	raw := a.Server.post(a.t, subject+"/passkeys/register/options", object{"registration_grant": grant}).is(200).body
	options, err := virtualwebauthn.ParseAttestationOptions(string(raw))
	require.NoError(a.t, err)
	rp := virtualwebauthn.RelyingParty{ID: a.RPID, Name: a.RPName, Origin: a.RPOrigins[0]}
	made := virtualwebauthn.CreateAttestationResponse(rp, virtualwebauthn.NewAuthenticator(), newCredential(), *options)
	id := a.request(a.Server, "passkeyRegisterComplete", "POST", subject+"/passkeys/register/complete",
		object{"registration_grant": grant, "credential": json.RawMessage(made)}).string("id")
	a.request(a.Server, "revokePasskey", "DELETE", subject+"/passkeys/"+id, nil)
	a.request(a.Server, "importPasskey", "POST", subject+"/passkeys/import", object{
		"credential_id": "AAAA", "public_key": base64.RawURLEncoding.EncodeToString(newCredential().Key.AttestationData()), "counter": 0,
		"flags": object{"backup_eligible": false, "backed_up": false},
	})
}

func (a *auditor) administration() {
	id := a.request(a.Admin, "createCredential", "POST", "/api/v1/credentials", object{"scope": "server"}).string("id")
	a.request(a.Admin, "rotateCredential", "POST", "/api/v1/credentials/"+id+"/rotate", nil)
	a.request(a.Admin, "revokeCredential", "DELETE", "/api/v1/credentials/"+id, nil)
	a.request(a.Admin, "rotateSigningKey", "POST", "/api/v1/signing-keys/rotate", nil)
	a.request(a.Admin, "updateEnvironment", "PATCH", "/api/v1/environment", object{"rp_name": "Alder Bank"})

	hook := "/api/v1/webhook-endpoints/" + a.request(a.Admin, "createWebhookEndpoint", "POST", "/api/v1/webhook-endpoints",
		object{"url": newReceiver(a.t).url, "events": []string{"subject.erased"}}).string("id")
	a.request(a.Admin, "rotateWebhookSecret", "POST", hook+"/rotate", nil)
	a.request(a.Admin, "testWebhookEndpoint", "POST", hook+"/test", nil)
	a.request(a.Admin, "replayWebhookEndpoint", "POST", hook+"/replay", nil)
	a.request(a.Admin, "updateWebhookEndpoint", "PATCH", hook, object{"status": "disabled"})
	a.request(a.Admin, "enableWebhookEndpoint", "POST", hook+"/enable", nil)
	a.request(a.Admin, "deleteWebhookEndpoint", "DELETE", hook, nil)

	const siem = "/api/v1/destinations/siem"
	a.request(a.Admin, "setDestination", "PUT", siem, object{"kind": "https", "url": "https://siem.example/in"})
	a.request(a.Admin, "setDestinationCredentials", "PUT", siem+"/credentials", object{"header": "Bearer 4711"})
	a.request(a.Admin, "removeDestination", "DELETE", siem, nil)
}

func (a *auditor) teams() {
	path := "/api/v1/teams/" + a.request(a.Admin, "createTeam", "POST", "/api/v1/teams", object{"key": "finance", "name": "Finance"}).string("id")
	a.request(a.Admin, "updateTeam", "PATCH", path, object{"name": "Money"})
	a.request(a.Admin, "setManager", "PUT", "/api/v1/people/"+a.colleague(a.t)+"/manager", object{"manager": a.colleague(a.t)})
	a.request(a.Admin, "deleteTeam", "DELETE", path, nil)
}

func (a *auditor) lists() {
	path := "/api/v1/lists/" + a.request(a.Server, "createList", "POST", "/api/v1/lists", object{"name": "blocked", "kind": "country"}).string("id")
	a.request(a.Server, "changeListEntries", "POST", path+"/entries", object{"add": []object{{"value": "XK", "reason": "Not served."}}})
	a.request(a.Server, "deleteList", "DELETE", path, nil)
}

func (a *auditor) legacy() {
	session := a.request(a.Server, "legacySessionStart", "POST", "/v2/sessions/start", object{"user_id": "user-2", "device_id": "laptop-1"}).string("session_id")
	a.request(a.Server, "legacySessionEnd", "POST", "/v2/sessions/end", object{"session_id": session})
	who := typist("earlier")
	a.request(a.Server, "legacyEnrol", "POST", "/enrol", withConsent(phraseTimings("user-3", who)))
	a.request(a.Server, "legacyAuth", "POST", "/auth", phraseTimings("user-3", who))
}

func (a *auditor) changes() {
	_, _, version := a.draft(a.t, allowing)
	a.Admin.patch(a.t, environmentPath, object{"second_approver_required": true}).is(200)
	other := caller{base: a.Server.base, key: a.issue(a.t, models.ScopeAdmin, nil)}
	requested := func() string {
		return a.Server.post(a.t, version+"/activate", nil).is(http.StatusAccepted).string("id")
	}
	a.request(a.Server, "withdrawChange", "POST", changePath(requested(), "withdraw"), nil)
	a.request(other, "rejectChange", "POST", changePath(requested(), "reject"), nil)
	a.request(other, "approveChange", "POST", changePath(requested(), "approve"), nil)
}

// reviewAfterwards breaks the glass of a policy, and has someone else review that. It asks for a standing approval and revokes it.
func (a *auditor) reviewAfterwards(subject string) {
	breaker, other := a.reviewer(a.t), a.reviewer(a.t)
	a.team(a.t, "incident", breaker)
	_, action := a.action(a.t, "enforce", with(holding, object{"break_glass": object{"group": "incident", "after_review": object{"approvals": 1, "within_seconds": 3600}}}))
	held := a.authorize(a.t, subject, action, "hold").string("id")
	breaker.post(a.t, "/api/v1/authorizations/"+held+"/review", broken).is(200)
	_, released := a.standingAction(a.t, standingPolicy)
	standing := a.request(a.Server, "createStandingApproval", "POST", "/api/v1/standing-approvals", standingRequest(subject, released, nil)).string("standing_approval.id")
	a.request(a.Server, "createStandingLink", "POST", "/api/v1/subjects/"+subject+"/standing-approvals/link", nil)
	a.request(a.Server, "revokeStandingApproval", "POST", "/api/v1/standing-approvals/"+standing+"/revoke", nil)
	a.request(other, "giveAfterReview", "POST", "/api/v1/after-reviews/"+held+"/verdict", object{"verdict": "justified", "note": "It was urgent."})
}
