package edges_test

const preamble = `
# The contract and its tests

Generated from the OpenAPI document (` + "`api/openapi/openapi.json`" + `) by ` + "`make reports`" + `. A test fails if a line has no test or a named
test does not exist. Names with a slash are subtests. The tests of operations and
error codes are recorded from the running service (` + "`integration/testdata/shown.json`" + `); a full run of the integration tests checks the
record. Run one test with ` + "`make test PKG=./integration RUN=TestRequestBoundaryValues/ActionCreate`" + `.

The column *part* says where an operation belongs: *current* (the API), *earlier* (endpoints outside of ` + "`/api/v1`" + `, kept for
existing clients) or *extension* (docs/contract.md).`

// operationsElsewhere lists operations that the integration tests cannot end by themselves, with the tests that cover them.
var operationsElsewhere = map[string]string{
	"streamEvents":     "TestDecisionEventsReachEveryReader",
	"rollbackTemplate": "TestRollbackRestoresThePreviousVersionAndRescoresSessions",
}

// codesElsewhere lists codes that the service returns only if a dependency is unavailable or fails, or for a manipulated
// authenticator, with the tests that cover them.
var codesElsewhere = map[string]string{
	"assertion_backup_flags":       "TestVerifyAssertionRejectsEachStepOfSection72",
	"assertion_challenge_mismatch": "TestVerifyAssertionRejectsADifferentChallengeOrDisplay",
	"assertion_clone_warning":      "TestVerifyAssertionRejectsAClone",
	"assertion_display_changed":    "TestVerifyAssertionRejectsADifferentChallengeOrDisplay",
	"assertion_malformed":          "TestVerifyAssertionRejectsEachStepOfSection72",
	"assertion_origin_mismatch":    "TestVerifyAssertionRejectsEachStepOfSection72",
	"assertion_refused":            "TestVerifyAssertionRejectsEachStepOfSection72",
	"assertion_rp_id_mismatch":     "TestVerifyAssertionRejectsEachStepOfSection72",
	"assertion_signature_invalid":  "TestVerifyAssertionRejectsEachStepOfSection72",
	"assertion_unknown_credential": "TestVerifyAssertionAcceptsTheSubjectsPasskeysOnly",
	"assertion_user_mismatch":      "TestVerifyAssertionRejectsEachStepOfSection72",
	"assertion_user_not_verified":  "TestVerifyAssertionRejectsEachStepOfSection72",
	"bad_request":                  "TestUnknownErrorsAndPanicsShowNothing/unread",
	"conflict":                     "TestGrantLimitsPasskeysPerSubject",
	"forbidden":                    "TestWriteProblemForEveryCode/forbidden",
	"idempotency_in_flight":        "TestIdempotencyKeyConcurrentRequestsCreateOneRow",
	"internal_error":               "TestUnknownErrorsAndPanicsShowNothing/a_panic",
	"method_not_offered":           "TestPrepareCompletionRefuses",
	"passkey_exists":               "TestRegistrationIsRejected",
	"registration_refused":         "TestRegistrationIsRejected",
	"sandbox_only":                 "TestPrepareCompletionRefuses",
	"self_review":                  "TestReviewRequiresSeveralReviewers",
	"too_many_streams":             "TestWriteProblemForEveryCode/too_many_streams",
	"unavailable":                  "TestCompleteChallengeWhenTheWorkflowFails",
}

// defaults lists the defaults that show in more than the response of the request itself.
var defaults = map[string]string{
	"AccessEvaluationsOptions.evaluations_semantic": "TestAccessEvaluationsSemantics",
	"Actor.type":                            "TestAnswerEdges/AuthorizationTrace/actor_type/const",
	"AssuranceProfile.active_seconds":       "TestSessionLifecycle",
	"AssuranceProfile.evidence_windows":     "TestSessionLifecycle",
	"EnrollmentComplete.force":              "TestEnrollmentFailsOnTooLittleEvidence",
	"EvidenceAck.enrollment_ready":          "TestSessionLifecycle",
	"FeatureFrameRequest.research_optin":    "TestSaveRequiresAllConsents",
	"WebhookReplayRequest.status":           "TestReplaySchedulesSelectedDeliveries",
	"header.X-Service-Research-Optin":       "TestSaveRequiresAllConsents",
	"FeatureFrameRequest.purpose":           "TestSubmitEvidenceDefaultsToScoring",
	"LegacyEnrol.consent":                   "TestLegacyEnrolRequiresConsentAndOnePhrase",
	"LegacyFrame.purpose":                   "TestLegacyIngestDeduplicatesAndRejectsContent",
	"PolicyRequirements.approvals_required": "TestReviewApprovesAHold",
	"PolicyRequirements.self_review":        "TestReviewApprovesAHold",
	"PolicySimulationRequest.last":          "TestSimulatePolicyVersion",
	"PolicySimulationRequest.list":          "TestSimulatePolicyVersion",
	"ProofVerifyRequest.consume":            "TestProofVerifiesOfflineAndIsConsumedOnce",
	"RotateRequest.overlap_seconds":         "TestCredentialRotationAcceptsOldKeyForADay",
	"query.limit":                           "TestListPagination",
	"query.order":                           "TestListReviewsDefaultsToPendingNewestFirst",
	"query.status":                          "TestListReviewsDefaultsToPendingNewestFirst",
}

// limits lists the limits of the contract with the tests that show them.
var limits = [][3]string{
	{"Rate, test credentials", "1,000 requests per hour", "TestQuotaDefaults"},
	{"Rate, live credentials", "10,000 requests per hour by default; higher limits by arrangement", "TestQuotaDefaults"},
	{"Overage", "HTTP 429 with remaining-quota headers", "TestQuotaIsReportedAndEnforced"},
	{"Evidence frame body", "256 KiB by default", "TestBodySizeLimits"},
	{"Frame `duration_ms`", "0..600000", "TestRequestBoundaryValues/FeatureFrameRequest/duration_ms/max"},
	{"Frame `frame_id`", "1..128 chars", "TestRequestBoundaryValues/FeatureFrameRequest/frame_id/max_length"},
	{"Action `key`", "max 128 chars", "TestRequestBoundaryValues/ActionCreate/key/max_length"},
	{"Action `name`", "1..120 chars", "TestRequestBoundaryValues/ActionCreate/name/max_length"},
	{"Action `consequence`", "1..500 chars", "TestRequestBoundaryValues/ActionCreate/consequence/max_length"},
	{"Action `resource_type`", "max 64 chars", "TestRequestBoundaryValues/ActionCreate/resource_type/max_length"},
	{"Proof TTL", "30..900 seconds; default 300", "TestRequestBoundaryValues/ActionCreate/proof_ttl_seconds/max"},
	{"Client token TTL", "60..3600 seconds; default 900", "TestRequestBoundaryValues/ClientTokenCreate/ttl_seconds/max"},
	{"Authorize `audience`", "1..128 chars", "TestRequestBoundaryValues/AuthorizeRequest/audience/max_length"},
	{"Authorize `nonce`", "16..128 chars", "TestRequestBoundaryValues/AuthorizeRequest/nonce/max_length"},
	{"Authorize `idempotency_key`", "8..128 chars", "TestRequestBoundaryValues/AuthorizeRequest/idempotency_key/max_length"},
	{"Authorize `action`", "max 128 chars", "TestRequestBoundaryValues/AuthorizeRequest/action/max_length"},
	{"Resource `type` / `id`", "1..64 / 1..256 chars", "TestRequestBoundaryValues/Resource/type/max_length"},
	{"Actor `id`", "1..256 chars", "TestRequestBoundaryValues/Actor/id/max_length"},
	{"Policy `freshness_max_ms`", "1000..3600000; default 60000", "TestRequestBoundaryValues/PolicyRequirements/freshness_max_ms/max"},
	{"Policy `max_challenges`", "1..5; default 2", "TestRequestBoundaryValues/PolicyRequirements/max_challenges/max"},
	{"Evaluation `name`", "max 120", "TestRequestBoundaryValues/EvaluationCreate/name/max_length"},
	{"Evaluation `action_keys`", "1..100 items", "TestRequestBoundaryValues/EvaluationCreate/action_keys/max_items"},
	{"`min_shadow_decisions`", "1..1000000", "TestRequestBoundaryValues/EvaluationCriteria/min_shadow_decisions/max"},
	{"Notes (outcome, review)", "max 500 chars", "TestRequestBoundaryValues/OutcomeReport/note/max_length"},
	{"Recovery `anchor_evidence_ref`", "8..256 chars", "TestRequestBoundaryValues/RecoveryBegin/anchor_evidence_ref/max_length"},
	{"Client token `origin`", "1..2048 chars", "TestRequestBoundaryValues/ClientTokenCreate/origin/max_length"},
}
