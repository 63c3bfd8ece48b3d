package api

import (
	"sort"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/models"
)

// Route is one entry of the route table.
type Route struct {
	Method    string
	Path      string // as in the contract, with {parameters}
	Operation string // the contract's operationId
	Access    Access
	// Permission that the credential needs as well. None if the route requires no server key.
	Permission models.Permission
	Waits      bool   // the handler waits for a workflow, a webhook receiver or an export slot, and counts apart under load
	Frames     bool   // the body is evidence frames: Config.MaxFrameBytes is its limit, and any finite number is accepted
	Spelled    string // a field of the body whose text the handler reads too; see strictjson.Spelling
	Old        bool   // lists of records and reports on them: may be read from a standby
	Personal   bool   // a list of records about people: reading it in bulk leaves an audit entry
	Handler    fiber.Handler

	pathParams []string
}

const (
	get    = fiber.MethodGet
	post   = fiber.MethodPost
	patch  = fiber.MethodPatch
	remove = fiber.MethodDelete
)

// routes returns the route table. Tests check that it matches the contract, and call every entry with every kind of
// credential.
func (s *server) routes() []Route {
	return []Route{
		{Method: get, Path: "/api/v1/meta", Operation: "getMeta", Access: AccessPublishable, Handler: s.meta.get},
		{Method: get, Path: "/api/v1/credential", Operation: "getCredential", Access: AccessPublishable, Handler: s.credentials.identity},
		{Method: get, Path: "/api/v1/openapi.json", Operation: "getOpenAPI", Access: AccessOpen, Handler: s.document},

		{Method: get, Path: "/api/v1/actions", Operation: "listActions", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.list},
		{Method: post, Path: "/api/v1/actions", Operation: "createAction", Access: AccessServer, Permission: models.PermissionPolicyWrite, Handler: s.actions.create},
		{Method: get, Path: "/api/v1/actions/{action_id}", Operation: "getAction", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.get},
		{Method: patch, Path: "/api/v1/actions/{action_id}", Operation: "updateAction", Access: AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.actions.update},
		{Method: remove, Path: "/api/v1/actions/{action_id}", Operation: "archiveAction", Access: AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.actions.archive},
		{Method: get, Path: "/api/v1/actions/{action_id}/policy-versions", Operation: "listPolicyVersions", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.versions},
		{Method: post, Path: "/api/v1/actions/{action_id}/policy-versions", Operation: "createPolicyVersion", Access: AccessServer, Permission: models.PermissionPolicyWrite, Handler: s.actions.createVersion},
		{Method: get, Path: "/api/v1/actions/{action_id}/policy-versions/{version}", Operation: "getPolicyVersion", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.version},
		{Method: post, Path: "/api/v1/actions/{action_id}/policy-versions/{version}/activate", Operation: "activatePolicyVersion", Access: AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.actions.activate},
		{Method: post, Path: "/api/v1/actions/{action_id}/policy-versions/{version}/simulate", Operation: "simulatePolicyVersion", Access: AccessServer, Permission: models.PermissionConfigRead, Old: true, Handler: s.simulations.run},

		{Method: get, Path: "/api/v1/teams", Operation: "listTeams", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.teams.list},
		{Method: post, Path: "/api/v1/teams", Operation: "createTeam", Access: AccessAdmin, Permission: models.PermissionPolicyActivate, Handler: s.teams.create},
		{Method: get, Path: "/api/v1/teams/{team_id}", Operation: "getTeam", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.teams.get},
		{Method: patch, Path: "/api/v1/teams/{team_id}", Operation: "updateTeam", Access: AccessAdmin, Permission: models.PermissionPolicyActivate, Handler: s.teams.update},
		{Method: remove, Path: "/api/v1/teams/{team_id}", Operation: "deleteTeam", Access: AccessAdmin, Permission: models.PermissionPolicyActivate, Handler: s.teams.remove},

		{Method: get, Path: "/api/v1/lists", Operation: "listLists", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.lists.list},
		{Method: post, Path: "/api/v1/lists", Operation: "createList", Access: AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.lists.create},
		{Method: get, Path: "/api/v1/lists/{list_id}", Operation: "getList", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.lists.get},
		{Method: remove, Path: "/api/v1/lists/{list_id}", Operation: "deleteList", Access: AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.lists.remove},
		{Method: get, Path: "/api/v1/lists/{list_id}/entries", Operation: "listListEntries", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.lists.entries},
		{Method: post, Path: "/api/v1/lists/{list_id}/entries", Operation: "changeListEntries", Access: AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.lists.change},

		{Method: get, Path: "/api/v1/changes", Operation: "listChanges", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.changes.list},
		{Method: get, Path: "/api/v1/changes/{change_id}", Operation: "getChange", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.changes.get},
		{Method: post, Path: "/api/v1/changes/{change_id}/approve", Operation: "approveChange", Access: AccessAdmin, Permission: models.PermissionPolicyActivate, Waits: true, Handler: s.changes.decide(change.Approve)},
		{Method: post, Path: "/api/v1/changes/{change_id}/reject", Operation: "rejectChange", Access: AccessAdmin, Permission: models.PermissionPolicyActivate, Waits: true, Handler: s.changes.decide(change.Reject)},
		{Method: post, Path: "/api/v1/changes/{change_id}/withdraw", Operation: "withdrawChange", Access: AccessServer, Permission: models.PermissionPolicyActivate, Waits: true, Handler: s.changes.decide(change.Withdraw)},

		{Method: post, Path: "/api/v1/authorize", Operation: "authorize", Access: AccessServer, Permission: models.PermissionDecide, Spelled: "context", Handler: s.authorizations.authorize},
		{Method: get, Path: "/api/v1/authorizations", Operation: "listAuthorizations", Access: AccessServer, Permission: models.PermissionDecisionsRead, Old: true, Personal: true, Handler: s.authorizations.list},
		{Method: get, Path: "/api/v1/authorizations/{authorization_id}", Operation: "getAuthorization", Access: AccessServer, Permission: models.PermissionDecisionsRead, Handler: s.authorizations.get},
		{Method: post, Path: "/api/v1/authorizations/{authorization_id}/outcome", Operation: "reportOutcome", Access: AccessServer, Permission: models.PermissionDecide, Handler: s.authorizations.outcome},
		{Method: post, Path: "/api/v1/authorizations/{authorization_id}/review", Operation: "reviewAuthorization", Access: AccessServer, Permission: models.PermissionReview, Waits: true, Handler: s.reviews.review},
		{Method: get, Path: "/.well-known/authzen-configuration", Operation: "getAccessMetadata", Access: AccessOpen, Handler: s.access.metadata},
		{Method: post, Path: pathAccess, Operation: evaluateAccess, Access: AccessServer, Permission: models.PermissionDecide, Handler: s.access.one},
		{Method: post, Path: pathAccessBatch, Operation: "evaluateAccessBatch", Access: AccessServer, Permission: models.PermissionDecide, Handler: s.access.batch},
		{Method: post, Path: "/api/v1/authorizations/{authorization_id}/assignment", Operation: "assignReview", Access: AccessServer, Permission: models.PermissionReview, Handler: s.reviews.assign},
		{Method: remove, Path: "/api/v1/authorizations/{authorization_id}/assignment", Operation: "unassignReview", Access: AccessServer, Permission: models.PermissionReview, Handler: s.reviews.unassign},
		{Method: get, Path: "/api/v1/reviews", Operation: "listReviews", Access: AccessServer, Permission: models.PermissionDecisionsRead, Personal: true, Handler: s.reviews.list},
		{Method: get, Path: "/api/v1/reviews/counts", Operation: "countReviews", Access: AccessServer, Permission: models.PermissionDecisionsRead, Handler: s.reviews.counts},

		{Method: get, Path: "/api/v1/challenges/{challenge_id}", Operation: "getChallenge", Access: AccessServer, Permission: models.PermissionChallenges, Handler: s.challenges.get},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/passkey/options", Operation: "challengePasskeyOptions", Access: AccessServer, Permission: models.PermissionChallenges, Handler: s.challenges.passkeyOptions},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/complete", Operation: "completeChallenge", Access: AccessServer, Permission: models.PermissionChallenges, Waits: true, Handler: s.challenges.complete},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/cancel", Operation: "cancelChallenge", Access: AccessServer, Permission: models.PermissionChallenges, Waits: true, Handler: s.challenges.cancel},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/link", Operation: "createChallengeLink", Access: AccessServer, Permission: models.PermissionChallenges, Handler: s.challenges.link},

		{Method: get, Path: "/api/v1/proofs/{jti}/status", Operation: "getProofStatus", Access: AccessServer, Permission: models.PermissionVerify, Handler: s.proofs.status},
		{Method: post, Path: "/api/v1/verify", Operation: "verifyProof", Access: AccessServer, Permission: models.PermissionVerify, Handler: s.proofs.verify},
		{Method: get, Path: "/.well-known/webauthn", Operation: "getRelatedOrigins", Access: AccessOpen, Handler: s.passkeys.related},
		{Method: get, Path: "/.well-known/service-proof-keys.json", Operation: "getProofKeys", Access: AccessOpen, Handler: s.proofs.keys},

		{Method: get, Path: "/api/v1/subjects", Operation: "listSubjects", Access: AccessServer, Permission: models.PermissionSubjects, Old: true, Personal: true, Handler: s.subjects.list},
		{Method: post, Path: "/api/v1/subjects", Operation: "createSubject", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.create},
		{Method: get, Path: "/api/v1/subjects/{subject_id}", Operation: "getSubject", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.get},
		{Method: remove, Path: "/api/v1/subjects/{subject_id}", Operation: "deleteSubject", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.erase},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/adaptation/freeze", Operation: "freezeAdaptation", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.freeze},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/export", Operation: "exportSubject", Access: AccessServer, Permission: models.PermissionSubjects, Waits: true, Handler: s.subjects.export},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/research-consent", Operation: "setResearchConsent", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.consent},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/revoke", Operation: "revokeSubject", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.revoke},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/enrollments", Operation: "listEnrollments", Access: AccessServer, Permission: models.PermissionEnroll, Personal: true, Handler: s.enrollments.list},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/enrollments/complete", Operation: "completeEnrollment", Access: AccessServer, Permission: models.PermissionEnroll, Waits: true, Handler: s.enrollments.complete},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/templates", Operation: "listTemplates", Access: AccessServer, Permission: models.PermissionEnroll, Personal: true, Handler: s.templates.list},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/templates/rollback", Operation: "rollbackTemplate", Access: AccessServer, Permission: models.PermissionEnroll, Handler: s.templates.rollback},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/passkeys", Operation: "listPasskeys", Access: AccessServer, Permission: models.PermissionPasskeys, Personal: true, Handler: s.passkeys.list},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/import", Operation: "importPasskey", Access: AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.imported},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/registration-grants", Operation: "createPasskeyGrant", Access: AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.grant},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/register/options", Operation: "passkeyRegisterOptions", Access: AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.options},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/register/complete", Operation: "passkeyRegisterComplete", Access: AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.complete},
		{Method: remove, Path: "/api/v1/subjects/{subject_id}/passkeys/{passkey_id}", Operation: "revokePasskey", Access: AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.revoke},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/recovery", Operation: "getRecovery", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.recoveries.get},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/recovery", Operation: "beginRecovery", Access: AccessServer, Permission: models.PermissionSubjects, Handler: s.recoveries.begin},
		{Method: post, Path: "/api/v1/client-tokens", Operation: "createClientToken", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.credentials.token},

		{Method: get, Path: "/api/v1/sessions", Operation: "listSessions", Access: AccessServer, Permission: models.PermissionEvidence, Old: true, Personal: true, Handler: s.sessions.list},
		{Method: post, Path: "/api/v1/sessions", Operation: "createSession", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.create},
		{Method: get, Path: "/api/v1/sessions/{session_id}", Operation: "getSession", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.get},
		{Method: get, Path: "/api/v1/sessions/{session_id}/status", Operation: "getSessionStatus", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.status},
		{Method: get, Path: "/api/v1/sessions/{session_id}/assessment", Operation: "getSessionAssessment", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.assessment},
		{Method: post, Path: "/api/v1/sessions/{session_id}/evidence", Operation: "submitEvidence", Access: AccessEvidence, Permission: models.PermissionEvidence, Frames: true, Handler: s.sessions.evidence},
		{Method: post, Path: "/api/v1/sessions/{session_id}/end", Operation: "endSession", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.end},

		{Method: get, Path: "/api/v1/evaluations", Operation: "listEvaluations", Access: AccessServer, Permission: models.PermissionConfigRead, Old: true, Handler: s.evaluations.list},
		{Method: post, Path: "/api/v1/evaluations", Operation: "createEvaluation", Access: AccessServer, Permission: models.PermissionEvaluations, Handler: s.evaluations.create},
		{Method: get, Path: "/api/v1/evaluations/{evaluation_id}", Operation: "getEvaluation", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.evaluations.get},
		{Method: post, Path: "/api/v1/evaluations/{evaluation_id}/close", Operation: "closeEvaluation", Access: AccessServer, Permission: models.PermissionEvaluations, Waits: true, Handler: s.evaluations.close},
		{Method: get, Path: "/api/v1/evaluations/{evaluation_id}/report", Operation: "getEvaluationReport", Access: AccessServer, Permission: models.PermissionConfigRead, Old: true, Handler: s.evaluations.report},

		{Method: get, Path: "/api/v1/activity", Operation: "listActivity", Access: AccessServer, Permission: models.PermissionEvents, Old: true, Personal: true, Handler: s.activity.list},
		{Method: get, Path: "/api/v1/event-types", Operation: "listEventTypes", Access: AccessServer, Permission: models.PermissionEvents, Handler: s.activity.types},
		{Method: get, Path: "/api/v1/events/stream", Operation: "streamEvents", Access: AccessServer, Permission: models.PermissionEvents, Handler: s.stream.follow},

		{Method: get, Path: "/api/v1/audit", Operation: "listAudit", Access: AccessAdmin, Permission: models.PermissionAudit, Personal: true, Handler: s.audit.list},
		{Method: get, Path: "/api/v1/audit/head", Operation: "getAuditHead", Access: AccessAdmin, Permission: models.PermissionAudit, Handler: s.audit.head},
		{Method: get, Path: "/api/v1/credentials", Operation: "listCredentials", Access: AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.credentials.list},
		{Method: post, Path: "/api/v1/credentials", Operation: "createCredential", Access: AccessAdmin, Permission: models.PermissionCredentials, Handler: s.credentials.create},
		{Method: post, Path: "/api/v1/credentials/{credential_id}/rotate", Operation: "rotateCredential", Access: AccessAdmin, Permission: models.PermissionCredentials, Handler: s.credentials.rotate},
		{Method: remove, Path: "/api/v1/credentials/{credential_id}", Operation: "revokeCredential", Access: AccessAdmin, Permission: models.PermissionCredentials, Handler: s.credentials.revoke},
		{Method: get, Path: "/api/v1/environment", Operation: "getEnvironment", Access: AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.environment.get},
		{Method: patch, Path: "/api/v1/environment", Operation: "updateEnvironment", Access: AccessAdmin, Permission: models.PermissionConfig, Handler: s.environment.update},
		{Method: get, Path: "/api/v1/signing-keys", Operation: "listSigningKeys", Access: AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.signing.list},
		{Method: post, Path: "/api/v1/signing-keys/rotate", Operation: "rotateSigningKey", Access: AccessAdmin, Permission: models.PermissionConfig, Handler: s.signing.rotate},
		{Method: get, Path: "/api/v1/webhook-endpoints", Operation: "listWebhookEndpoints", Access: AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.webhooks.list},
		{Method: post, Path: "/api/v1/webhook-endpoints", Operation: "createWebhookEndpoint", Access: AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.create},
		{Method: get, Path: "/api/v1/webhook-endpoints/{endpoint_id}", Operation: "getWebhookEndpoint", Access: AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.webhooks.get},
		{Method: patch, Path: "/api/v1/webhook-endpoints/{endpoint_id}", Operation: "updateWebhookEndpoint", Access: AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.update},
		{Method: remove, Path: "/api/v1/webhook-endpoints/{endpoint_id}", Operation: "deleteWebhookEndpoint", Access: AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.remove},
		{Method: get, Path: "/api/v1/webhook-endpoints/{endpoint_id}/attempts", Operation: "listWebhookAttempts", Access: AccessAdmin, Permission: models.PermissionConfigRead, Old: true, Handler: s.webhooks.attempts},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/enable", Operation: "enableWebhookEndpoint", Access: AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.enable},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/replay", Operation: "replayWebhookEndpoint", Access: AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.replay},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/rotate", Operation: "rotateWebhookSecret", Access: AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.rotate},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/test", Operation: "testWebhookEndpoint", Access: AccessAdmin, Permission: models.PermissionWebhooks, Waits: true, Handler: s.webhooks.test},

		{Method: post, Path: "/v2/sessions/start", Operation: "legacySessionStart", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.legacy.start},
		{Method: post, Path: "/v2/ingest", Operation: "legacyIngest", Access: AccessServer, Permission: models.PermissionEvidence, Frames: true, Handler: s.legacy.ingest},
		{Method: get, Path: "/v2/trust/{session_id}", Operation: "legacyTrust", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.legacy.trust},
		{Method: post, Path: "/v2/sessions/end", Operation: "legacySessionEnd", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.legacy.end},
		{Method: post, Path: "/enrol", Operation: "legacyEnrol", Access: AccessServer, Permission: models.PermissionEnroll, Handler: s.legacy.enrol},
		{Method: post, Path: "/auth", Operation: "legacyAuth", Access: AccessServer, Permission: models.PermissionEvidence, Handler: s.legacy.auth},
		{Method: get, Path: "/metrics", Operation: "getMetrics", Access: AccessServer, Permission: models.PermissionConfigRead, Handler: s.legacy.metrics},
	}
}

// table returns the routes with their path parameters.
func (s *server) table() []Route {
	table := s.routes()
	for i := range table {
		table[i].pathParams = pathParams(table[i].Path)
	}
	return table
}

// mount registers every route, paths with fewer parameters first: Fiber takes the first path that matches.
func (s *server) mount(app *fiber.App) {
	table := s.table()
	sort.SliceStable(table, func(i, j int) bool { return len(table[i].pathParams) < len(table[j].pathParams) })
	s.methods = map[string][]string{}
	for _, r := range table {
		app.Add(r.Method, fiberPath(r.Path), s.handle(r))
		s.methods[r.Path] = append(s.methods[r.Path], r.Method)
	}
	app.Use(s.unmatched)
}

// methodsOf returns the methods that a concrete path supports, as an Allow header; empty for an unknown path.
func (s *server) methodsOf(path string) string {
	for pattern, methods := range s.methods {
		if matches(pattern, path) {
			return strings.Join(methods, ", ")
		}
	}
	return ""
}

func matches(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if isParam := strings.HasPrefix(want[i], "{"); isParam && have[i] == "" || !isParam && want[i] != have[i] {
			return false
		}
	}
	return true
}

func fiberPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

func pathParams(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}
