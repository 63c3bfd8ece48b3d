package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/models"
)

const (
	get    = fiber.MethodGet
	post   = fiber.MethodPost
	patch  = fiber.MethodPatch
	put    = fiber.MethodPut
	remove = fiber.MethodDelete
)

// routes returns the route table. Tests check that it matches the contract, and call every entry with every kind of
// credential.
func (s *handlers) routes() []middleware.Route {
	return []middleware.Route{
		{Method: get, Path: "/api/v1/meta", Operation: "getMeta", Access: middleware.AccessPublishable, Handler: s.meta.get},
		{Method: get, Path: "/api/v1/credential", Operation: "getCredential", Access: middleware.AccessPublishable, Handler: s.credentials.identity},
		{Method: get, Path: "/api/v1/openapi.json", Operation: "getOpenAPI", Access: middleware.AccessOpen, Handler: s.meta.document},

		{Method: get, Path: "/api/v1/actions", Operation: "listActions", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.list},
		{Method: post, Path: "/api/v1/actions", Operation: "createAction", Access: middleware.AccessServer, Permission: models.PermissionPolicyWrite, Handler: s.actions.create},
		{Method: get, Path: "/api/v1/actions/{action_id}", Operation: "getAction", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.get},
		{Method: patch, Path: "/api/v1/actions/{action_id}", Operation: "updateAction", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.actions.update},
		{Method: remove, Path: "/api/v1/actions/{action_id}", Operation: "archiveAction", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.actions.archive},
		{Method: get, Path: "/api/v1/actions/{action_id}/policy-versions", Operation: "listPolicyVersions", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.versions},
		{Method: post, Path: "/api/v1/actions/{action_id}/policy-versions", Operation: "createPolicyVersion", Access: middleware.AccessServer, Permission: models.PermissionPolicyWrite, Handler: s.actions.createVersion},
		{Method: get, Path: "/api/v1/actions/{action_id}/policy-versions/{version}", Operation: "getPolicyVersion", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.actions.version},
		{Method: post, Path: "/api/v1/actions/{action_id}/policy-versions/{version}/activate", Operation: "activatePolicyVersion", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.actions.activate},
		{Method: post, Path: "/api/v1/actions/{action_id}/policy-versions/{version}/simulate", Operation: "simulatePolicyVersion", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Old: true, Handler: s.simulations.run},

		{Method: get, Path: "/api/v1/teams", Operation: "listTeams", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.teams.list},
		{Method: post, Path: "/api/v1/teams", Operation: "createTeam", Access: middleware.AccessAdmin, Permission: models.PermissionPolicyActivate, Handler: s.teams.create},
		{Method: get, Path: "/api/v1/teams/{team_id}", Operation: "getTeam", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.teams.get},
		{Method: patch, Path: "/api/v1/teams/{team_id}", Operation: "updateTeam", Access: middleware.AccessAdmin, Permission: models.PermissionPolicyActivate, Handler: s.teams.update},
		{Method: put, Path: "/api/v1/people/{person_id}/manager", Operation: "setManager", Access: middleware.AccessAdmin, Permission: models.PermissionConfig, Handler: s.teams.setManager},
		{Method: remove, Path: "/api/v1/teams/{team_id}", Operation: "deleteTeam", Access: middleware.AccessAdmin, Permission: models.PermissionPolicyActivate, Handler: s.teams.remove},

		{Method: get, Path: "/api/v1/lists", Operation: "listLists", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.lists.list},
		{Method: post, Path: "/api/v1/lists", Operation: "createList", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.lists.create},
		{Method: get, Path: "/api/v1/lists/{list_id}", Operation: "getList", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.lists.get},
		{Method: remove, Path: "/api/v1/lists/{list_id}", Operation: "deleteList", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.lists.remove},
		{Method: get, Path: "/api/v1/lists/{list_id}/entries", Operation: "listListEntries", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.lists.entries},
		{Method: post, Path: "/api/v1/lists/{list_id}/entries", Operation: "changeListEntries", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.lists.change},

		{Method: get, Path: "/api/v1/changes", Operation: "listChanges", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Personal: true, Handler: s.changes.list},
		{Method: get, Path: "/api/v1/changes/{change_id}", Operation: "getChange", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.changes.get},
		{Method: patch, Path: "/api/v1/changes/{change_id}", Operation: "explainChange", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Handler: s.changes.explain},
		{Method: post, Path: "/api/v1/changes/{change_id}/approve", Operation: "approveChange", Access: middleware.AccessAdmin, Permission: models.PermissionPolicyActivate, Waits: true, Handler: s.changes.decide(change.Approve)},
		{Method: post, Path: "/api/v1/changes/{change_id}/reject", Operation: "rejectChange", Access: middleware.AccessAdmin, Permission: models.PermissionPolicyActivate, Waits: true, Handler: s.changes.decide(change.Reject)},
		{Method: post, Path: "/api/v1/changes/{change_id}/withdraw", Operation: "withdrawChange", Access: middleware.AccessServer, Permission: models.PermissionPolicyActivate, Waits: true, Handler: s.changes.decide(change.Withdraw)},

		{Method: post, Path: "/api/v1/authorize", Operation: "authorize", Access: middleware.AccessServer, Permission: models.PermissionDecide, Spelled: "context", Handler: s.authorizations.authorize},
		{Method: get, Path: "/api/v1/authorizations", Operation: "listAuthorizations", Access: middleware.AccessServer, Permission: models.PermissionDecisionsRead, Old: true, Personal: true, Handler: s.authorizations.list},
		{Method: get, Path: "/api/v1/authorizations/{authorization_id}", Operation: "getAuthorization", Access: middleware.AccessServer, Permission: models.PermissionDecisionsRead, Handler: s.authorizations.get},
		{Method: post, Path: "/api/v1/authorizations/{authorization_id}/outcome", Operation: "reportOutcome", Access: middleware.AccessServer, Permission: models.PermissionDecide, Handler: s.authorizations.outcome},
		{Method: post, Path: "/api/v1/authorizations/{authorization_id}/review", Operation: "reviewAuthorization", Access: middleware.AccessServer, Permission: models.PermissionReview, Waits: true, Handler: s.reviews.review},
		{Method: get, Path: "/.well-known/authzen-configuration", Operation: "getAccessMetadata", Access: middleware.AccessOpen, Handler: s.access.metadata},
		{Method: post, Path: pathAccess, Operation: evaluateAccess, Access: middleware.AccessServer, Permission: models.PermissionDecide, Handler: s.access.one},
		{Method: post, Path: pathAccessBatch, Operation: "evaluateAccessBatch", Access: middleware.AccessServer, Permission: models.PermissionDecide, Handler: s.access.batch},
		{Method: post, Path: "/api/v1/authorizations/{authorization_id}/withdraw", Operation: "withdrawAuthorization", Access: middleware.AccessServer, Permission: models.PermissionDecide, Handler: s.reviews.withdraw},
		{Method: post, Path: "/api/v1/authorizations/{authorization_id}/assignment", Operation: "assignReview", Access: middleware.AccessServer, Permission: models.PermissionReview, Handler: s.reviews.assign},
		{Method: remove, Path: "/api/v1/authorizations/{authorization_id}/assignment", Operation: "unassignReview", Access: middleware.AccessServer, Permission: models.PermissionReview, Handler: s.reviews.unassign},
		{Method: get, Path: "/api/v1/after-reviews", Operation: "listAfterReviews", Access: middleware.AccessServer, Permission: models.PermissionDecisionsRead, Handler: s.reviews.listAfter},
		{Method: post, Path: "/api/v1/after-reviews/{authorization_id}/verdict", Operation: "giveAfterReview", Access: middleware.AccessServer, Permission: models.PermissionReview, Handler: s.reviews.giveVerdict},
		{Method: post, Path: "/api/v1/standing-approvals", Operation: "createStandingApproval", Access: middleware.AccessServer, Permission: models.PermissionDecide, Handler: s.standing.create},
		{Method: get, Path: "/api/v1/standing-approvals", Operation: "listStandingApprovals", Access: middleware.AccessServer, Permission: models.PermissionDecisionsRead, Personal: true, Handler: s.standing.list},
		{Method: get, Path: "/api/v1/standing-approvals/{standing_approval_id}", Operation: "getStandingApproval", Access: middleware.AccessServer, Permission: models.PermissionDecisionsRead, Handler: s.standing.get},
		{Method: post, Path: "/api/v1/standing-approvals/{standing_approval_id}/revoke", Operation: "revokeStandingApproval", Access: middleware.AccessServer, Permission: models.PermissionDecide, Handler: s.standing.revoke},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/standing-approvals/link", Operation: "createStandingLink", Access: middleware.AccessServer, Permission: models.PermissionDecide, Handler: s.standing.link},
		{Method: get, Path: "/api/v1/reviews", Operation: "listReviews", Access: middleware.AccessServer, Permission: models.PermissionDecisionsRead, Personal: true, Handler: s.reviews.list},
		{Method: get, Path: "/api/v1/reviews/counts", Operation: "countReviews", Access: middleware.AccessServer, Permission: models.PermissionDecisionsRead, Handler: s.reviews.counts},

		{Method: get, Path: "/api/v1/challenges/{challenge_id}", Operation: "getChallenge", Access: middleware.AccessServer, Permission: models.PermissionChallenges, Handler: s.challenges.get},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/passkey/options", Operation: "challengePasskeyOptions", Access: middleware.AccessServer, Permission: models.PermissionChallenges, Handler: s.challenges.passkeyOptions},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/complete", Operation: "completeChallenge", Access: middleware.AccessServer, Permission: models.PermissionChallenges, Waits: true, Handler: s.challenges.complete},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/cancel", Operation: "cancelChallenge", Access: middleware.AccessServer, Permission: models.PermissionChallenges, Waits: true, Handler: s.challenges.cancel},
		{Method: post, Path: "/api/v1/challenges/{challenge_id}/link", Operation: "createChallengeLink", Access: middleware.AccessServer, Permission: models.PermissionChallenges, Handler: s.challenges.link},

		{Method: get, Path: "/api/v1/proofs/{jti}/status", Operation: "getProofStatus", Access: middleware.AccessServer, Permission: models.PermissionVerify, Handler: s.proofs.status},
		{Method: post, Path: "/api/v1/verify", Operation: "verifyProof", Access: middleware.AccessServer, Permission: models.PermissionVerify, Handler: s.proofs.verify},
		{Method: get, Path: "/.well-known/webauthn", Operation: "getRelatedOrigins", Access: middleware.AccessOpen, Handler: s.passkeys.related},
		{Method: get, Path: "/.well-known/service-proof-keys.json", Operation: "getProofKeys", Access: middleware.AccessOpen, Handler: s.proofs.keys},

		{Method: get, Path: "/api/v1/subjects", Operation: "listSubjects", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Old: true, Personal: true, Handler: s.subjects.list},
		{Method: post, Path: "/api/v1/subjects", Operation: "createSubject", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.create},
		{Method: get, Path: "/api/v1/subjects/{subject_id}", Operation: "getSubject", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.get},
		{Method: remove, Path: "/api/v1/subjects/{subject_id}", Operation: "deleteSubject", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.erase},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/adaptation/freeze", Operation: "freezeAdaptation", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.freeze},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/export", Operation: "exportSubject", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Waits: true, Handler: s.subjects.export},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/research-consent", Operation: "setResearchConsent", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.consent},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/revoke", Operation: "revokeSubject", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Urgent: true, Handler: s.subjects.revoke},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/reinstate", Operation: "reinstateSubject", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.reinstate},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/aliases", Operation: "listSubjectAliases", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.aliases},
		{Method: put, Path: "/api/v1/subjects/{subject_id}/aliases", Operation: "setSubjectAliases", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.subjects.setAliases},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/enrollments", Operation: "listEnrollments", Access: middleware.AccessServer, Permission: models.PermissionEnroll, Personal: true, Handler: s.enrollments.list},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/enrollments/complete", Operation: "completeEnrollment", Access: middleware.AccessServer, Permission: models.PermissionEnroll, Waits: true, Handler: s.enrollments.complete},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/templates", Operation: "listTemplates", Access: middleware.AccessServer, Permission: models.PermissionEnroll, Personal: true, Handler: s.templates.list},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/templates/rollback", Operation: "rollbackTemplate", Access: middleware.AccessServer, Permission: models.PermissionEnroll, Handler: s.templates.rollback},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/passkeys", Operation: "listPasskeys", Access: middleware.AccessServer, Permission: models.PermissionPasskeys, Personal: true, Handler: s.passkeys.list},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/import", Operation: "importPasskey", Access: middleware.AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.imported},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/registration-grants", Operation: "createPasskeyGrant", Access: middleware.AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.grant},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/register/options", Operation: "passkeyRegisterOptions", Access: middleware.AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.options},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/passkeys/register/complete", Operation: "passkeyRegisterComplete", Access: middleware.AccessServer, Permission: models.PermissionPasskeys, Handler: s.passkeys.complete},
		{Method: remove, Path: "/api/v1/subjects/{subject_id}/passkeys/{passkey_id}", Operation: "revokePasskey", Access: middleware.AccessServer, Permission: models.PermissionPasskeys, Urgent: true, Handler: s.passkeys.revoke},
		{Method: get, Path: "/api/v1/subjects/{subject_id}/recovery", Operation: "getRecovery", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.recoveries.get},
		{Method: post, Path: "/api/v1/subjects/{subject_id}/recovery", Operation: "beginRecovery", Access: middleware.AccessServer, Permission: models.PermissionSubjects, Handler: s.recoveries.begin},
		{Method: post, Path: "/api/v1/client-tokens", Operation: "createClientToken", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Finds: "subject", Handler: s.credentials.token},

		{Method: get, Path: "/api/v1/sessions", Operation: "listSessions", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Old: true, Personal: true, Handler: s.sessions.list},
		{Method: post, Path: "/api/v1/sessions", Operation: "createSession", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Finds: "subject", Handler: s.sessions.create},
		{Method: get, Path: "/api/v1/sessions/{session_id}", Operation: "getSession", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.get},
		{Method: get, Path: "/api/v1/sessions/{session_id}/status", Operation: "getSessionStatus", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.status},
		{Method: get, Path: "/api/v1/sessions/{session_id}/assessment", Operation: "getSessionAssessment", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.assessment},
		{Method: post, Path: "/api/v1/sessions/{session_id}/evidence", Operation: "submitEvidence", Access: middleware.AccessEvidence, Permission: models.PermissionEvidence, Frames: true, Handler: s.sessions.evidence},
		{Method: post, Path: "/api/v1/sessions/{session_id}/end", Operation: "endSession", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Handler: s.sessions.end},

		{Method: get, Path: "/api/v1/evaluations", Operation: "listEvaluations", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Old: true, Handler: s.evaluations.list},
		{Method: post, Path: "/api/v1/evaluations", Operation: "createEvaluation", Access: middleware.AccessServer, Permission: models.PermissionEvaluations, Handler: s.evaluations.create},
		{Method: get, Path: "/api/v1/evaluations/{evaluation_id}", Operation: "getEvaluation", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.evaluations.get},
		{Method: post, Path: "/api/v1/evaluations/{evaluation_id}/close", Operation: "closeEvaluation", Access: middleware.AccessServer, Permission: models.PermissionEvaluations, Waits: true, Handler: s.evaluations.close},
		{Method: get, Path: "/api/v1/evaluations/{evaluation_id}/report", Operation: "getEvaluationReport", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Old: true, Handler: s.evaluations.report},

		{Method: get, Path: "/api/v1/activity", Operation: "listActivity", Access: middleware.AccessServer, Permission: models.PermissionEvents, Old: true, Personal: true, Handler: s.activity.list},
		{Method: get, Path: "/api/v1/event-types", Operation: "listEventTypes", Access: middleware.AccessServer, Permission: models.PermissionEvents, Handler: s.activity.types},
		{Method: get, Path: "/api/v1/events/stream", Operation: "streamEvents", Access: middleware.AccessServer, Permission: models.PermissionEvents, Streams: true, Handler: s.stream.follow},

		{Method: get, Path: "/api/v1/audit", Operation: "listAudit", Access: middleware.AccessAdmin, Permission: models.PermissionAudit, Personal: true, Handler: s.audit.list},
		{Method: get, Path: "/api/v1/audit/head", Operation: "getAuditHead", Access: middleware.AccessAdmin, Permission: models.PermissionAudit, Handler: s.audit.head},
		{Method: get, Path: "/api/v1/credentials", Operation: "listCredentials", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.credentials.list},
		{Method: post, Path: "/api/v1/credentials", Operation: "createCredential", Access: middleware.AccessAdmin, Permission: models.PermissionCredentials, Handler: s.credentials.create},
		{Method: post, Path: "/api/v1/credentials/{credential_id}/rotate", Operation: "rotateCredential", Access: middleware.AccessAdmin, Permission: models.PermissionCredentials, Handler: s.credentials.rotate},
		{Method: remove, Path: "/api/v1/credentials/{credential_id}", Operation: "revokeCredential", Access: middleware.AccessAdmin, Permission: models.PermissionCredentials, Urgent: true, Handler: s.credentials.revoke},
		{Method: get, Path: "/api/v1/environment", Operation: "getEnvironment", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.environment.get},
		{Method: patch, Path: "/api/v1/environment", Operation: "updateEnvironment", Access: middleware.AccessAdmin, Permission: models.PermissionConfig, Handler: s.environment.update},
		{Method: get, Path: "/api/v1/signing-keys", Operation: "listSigningKeys", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.signing.list},
		{Method: post, Path: "/api/v1/signing-keys/rotate", Operation: "rotateSigningKey", Access: middleware.AccessAdmin, Permission: models.PermissionConfig, Handler: s.signing.rotate},
		{Method: get, Path: "/api/v1/webhook-endpoints", Operation: "listWebhookEndpoints", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.webhooks.list},
		{Method: post, Path: "/api/v1/webhook-endpoints", Operation: "createWebhookEndpoint", Access: middleware.AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.create},
		{Method: get, Path: "/api/v1/webhook-endpoints/{endpoint_id}", Operation: "getWebhookEndpoint", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.webhooks.get},
		{Method: patch, Path: "/api/v1/webhook-endpoints/{endpoint_id}", Operation: "updateWebhookEndpoint", Access: middleware.AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.update},
		{Method: remove, Path: "/api/v1/webhook-endpoints/{endpoint_id}", Operation: "deleteWebhookEndpoint", Access: middleware.AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.remove},
		{Method: get, Path: "/api/v1/webhook-endpoints/{endpoint_id}/attempts", Operation: "listWebhookAttempts", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Old: true, Handler: s.webhooks.attempts},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/enable", Operation: "enableWebhookEndpoint", Access: middleware.AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.enable},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/replay", Operation: "replayWebhookEndpoint", Access: middleware.AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.replay},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/rotate", Operation: "rotateWebhookSecret", Access: middleware.AccessAdmin, Permission: models.PermissionWebhooks, Handler: s.webhooks.rotate},
		{Method: post, Path: "/api/v1/webhook-endpoints/{endpoint_id}/test", Operation: "testWebhookEndpoint", Access: middleware.AccessAdmin, Permission: models.PermissionWebhooks, Waits: true, Handler: s.webhooks.test},

		{Method: get, Path: "/api/v1/destinations", Operation: "listDestinations", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.destinations.list},
		{Method: get, Path: "/api/v1/destinations/{destination_name}", Operation: "getDestination", Access: middleware.AccessAdmin, Permission: models.PermissionConfigRead, Handler: s.destinations.get},
		{Method: put, Path: "/api/v1/destinations/{destination_name}", Operation: "setDestination", Access: middleware.AccessAdmin, Permission: models.PermissionConfig, Handler: s.destinations.set},
		{Method: remove, Path: "/api/v1/destinations/{destination_name}", Operation: "removeDestination", Access: middleware.AccessAdmin, Permission: models.PermissionConfig, Handler: s.destinations.remove},
		{Method: put, Path: "/api/v1/destinations/{destination_name}/credentials", Operation: "setDestinationCredentials", Access: middleware.AccessAdmin, Permission: models.PermissionConfig, Handler: s.destinations.credentials},

		{Method: post, Path: "/v2/sessions/start", Operation: "legacySessionStart", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Handler: s.legacy.start},
		{Method: post, Path: "/v2/ingest", Operation: "legacyIngest", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Frames: true, Finds: "session_id", Handler: s.legacy.ingest},
		{Method: get, Path: "/v2/trust/{session_id}", Operation: "legacyTrust", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Handler: s.legacy.trust},
		{Method: post, Path: "/v2/sessions/end", Operation: "legacySessionEnd", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Finds: "session_id", Handler: s.legacy.end},
		{Method: post, Path: "/enrol", Operation: "legacyEnrol", Access: middleware.AccessServer, Permission: models.PermissionEnroll, Handler: s.legacy.enrol},
		{Method: post, Path: "/auth", Operation: "legacyAuth", Access: middleware.AccessServer, Permission: models.PermissionEvidence, Finds: "user_id", Handler: s.legacy.auth},
		{Method: get, Path: "/metrics", Operation: "getMetrics", Access: middleware.AccessServer, Permission: models.PermissionConfigRead, Handler: s.legacy.metrics},
	}
}
