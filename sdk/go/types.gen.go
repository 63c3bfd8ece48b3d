// Code generated from the contract by tools/gosdk; DO NOT EDIT.

package countersign

import "time"

// AccessAction: The action.
type AccessAction struct {
	// The action's key, or the last part of a key `<resource.type>.<name>`.
	Name string `json:"name"`
	// Becomes `action_properties` of the decision's context.
	Properties map[string]any `json:"properties,omitzero"`
}

// AccessContext: Details of the action. All members but `countersign` belong to the context that the action's
// `context_schema` describes.
type AccessContext struct {
	// What the Authorization API has no field for.
	Countersign *AccessOptions `json:"countersign,omitzero"`
}

// AccessDecisionContext: What led to the decision and what would change it: the decision's record, or `error` alone.
type AccessDecisionContext struct {
	// Id of the authorization.
	Authorization string `json:"authorization,omitzero"`
	// What the relying party should do.
	Decision Decision `json:"decision,omitzero"`
	// Why there is no decision. Nothing was recorded.
	Error *AccessError `json:"error,omitzero"`
	// `test`: decisions without proofs. `shadow`: decisions are recorded and have no effect. `enforce`: decisions take
	// effect.
	Mode Mode `json:"mode,omitzero"`
	// Compact JWS; only for `allow` in `enforce` mode.
	Proof string `json:"proof,omitzero"`
	// The proof's `jti`.
	ProofID string `json:"proof_id,omitzero"`
	// Why; the catalogue is at `/api/v1/meta`.
	ReasonCodes []string `json:"reason_codes,omitzero"`
	// A text by language.
	ReasonUser *AccessReason `json:"reason_user,omitzero"`
	// The review that the decision waits for.
	Review *AccessReview `json:"review,omitzero"`
	// What the user can do to be allowed.
	StepUp *AccessStepUp `json:"step_up,omitzero"`
}

// AccessError: Why there is no decision. Nothing was recorded.
type AccessError struct {
	// A code of `/docs/errors`.
	Code string `json:"code"`
	// What is wrong, and what to do.
	Message string `json:"message"`
	// The HTTP status that the code has.
	Status int64 `json:"status"`
}

// AccessEvaluation: One evaluation. `decision` is true only for `allow`.
type AccessEvaluation struct {
	// What led to the decision and what would change it: the decision's record, or `error` alone.
	Context AccessDecisionContext `json:"context"`
	// Whether the subject may perform the action.
	Decision bool `json:"decision"`
}

// AccessEvaluationRequest: The request to decide whether the subject may perform the action on the resource. Unknown
// members are ignored.
type AccessEvaluationRequest struct {
	// The action.
	Action AccessAction `json:"action"`
	// Details of the action. All members but `countersign` belong to the context that the action's `context_schema`
	// describes.
	Context *AccessContext `json:"context,omitzero"`
	// The resource of the action.
	Resource AccessResource `json:"resource"`
	// The person whose access is evaluated.
	Subject AccessSubject `json:"subject"`
}

// AccessEvaluations: The results in the order of the request.
type AccessEvaluations struct {
	// One for each evaluation that was executed.
	Evaluations []AccessEvaluation `json:"evaluations"`
}

// AccessEvaluationsOptions: How the evaluations are executed. Unknown members are ignored.
type AccessEvaluationsOptions struct {
	// Whether to stop at the first false or true.
	EvaluationsSemantic string `json:"evaluations_semantic,omitzero"`
}

// AccessEvaluationsRequest: Several evaluations. The members outside of `evaluations` are defaults for each of them;
// without `evaluations` they are a single evaluation.
type AccessEvaluationsRequest struct {
	// Default of `action`.
	Action map[string]any `json:"action,omitzero"`
	// Default of `context`.
	Context map[string]any `json:"context,omitzero"`
	// The evaluations; each counts as one request of the quota. An invalid one gets `decision: false` with `error`.
	Evaluations []map[string]any `json:"evaluations,omitzero"`
	// How the evaluations are executed. Unknown members are ignored.
	Options *AccessEvaluationsOptions `json:"options,omitzero"`
	// Default of `resource`.
	Resource map[string]any `json:"resource,omitzero"`
	// Default of `subject`.
	Subject map[string]any `json:"subject,omitzero"`
}

// AccessEvaluationsResponse: The results in the order of the request; a single evaluation if the request had no
// `evaluations`.
type AccessEvaluationsResponse struct {
	// What led to the decision and what would change it: the decision's record, or `error` alone.
	Context *AccessDecisionContext `json:"context,omitzero"`
	// Whether the subject may perform the action.
	Decision bool `json:"decision,omitzero"`
	// One for each evaluation that was executed.
	Evaluations []AccessEvaluation `json:"evaluations,omitzero"`
}

// AccessMetadata: The endpoints of the OpenID Authorization API 1.0 that this service supports.
type AccessMetadata struct {
	// URL for one evaluation.
	AccessEvaluationEndpoint string `json:"access_evaluation_endpoint"`
	// URL for several evaluations.
	AccessEvaluationsEndpoint string `json:"access_evaluations_endpoint"`
	// Base URL of the service.
	PolicyDecisionPoint string `json:"policy_decision_point"`
}

// AccessOptions: What the Authorization API has no field for.
type AccessOptions struct {
	// The audience of the proof; required only if the action allows more than one.
	Audience string `json:"audience,omitzero"`
	// The decision that asked for a confirmation or a review, whose follow-up decision is asked for; by default the
	// newest about the same request.
	Authorization string `json:"authorization,omitzero"`
	// Becomes part of the proof, and is refused a second time. Default: a random one.
	Nonce string `json:"nonce,omitzero"`
	// The observation session for this decision; by default the subject's latest.
	Session string `json:"session,omitzero"`
}

// AccessReason: A text by language.
type AccessReason struct {
	// In English.
	En string `json:"en"`
}

// AccessResource: The resource of the action.
type AccessResource struct {
	// The relying party's id of the resource.
	ID string `json:"id"`
	// Becomes `resource_properties` of the decision's context.
	Properties map[string]any `json:"properties,omitzero"`
	// Must be the action's `resource_type`.
	Type string `json:"type"`
}

// AccessReview: The review that the decision waits for.
type AccessReview struct {
	// Reviewers have not decided.
	Status string `json:"status"`
	// The authorization, whose `review_status` and `review_authorization_id` show the result.
	URL string `json:"url"`
}

// AccessStepUp: What the user can do to be allowed.
type AccessStepUp struct {
	// Id of the challenge.
	Challenge string `json:"challenge"`
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// Ways to confirm.
	Methods []ChallengeMethod `json:"methods"`
	// Hosted page at which the user confirms. It is a secret of the user. Omitted if no link could be made: create one
	// with `createChallengeLink`.
	URL string `json:"url,omitzero"`
}

// AccessSubject: The person whose access is evaluated.
type AccessSubject struct {
	// Id of the subject.
	ID string `json:"id"`
	// Becomes `subject_properties` of the decision's context.
	Properties map[string]any `json:"properties,omitzero"`
	// `user`, `person` or `identity`. Any other type gets `decision: false`: subjects are persons.
	Type string `json:"type"`
}

// ActionCreate: A new action. It starts in mode `test` and without an active policy version.
type ActionCreate struct {
	// Relying-party audiences permitted to receive proofs.
	AllowedAudiences []string `json:"allowed_audiences"`
	// Credential ids permitted to authorize; empty permits any server credential in the environment.
	AllowedCallers []string `json:"allowed_callers,omitzero"`
	// Plain-language statement of what happens if the wrong person performs the action.
	Consequence string `json:"consequence"`
	// JSON Schema (object) describing the `context` field of authorize requests: at most 16 KiB, 16 levels and 1,000
	// subschemas, 10,000 with its references written out; a schema that costs more to check is 422 `schema_too_complex`.
	// Extensions: `x-countersign-display` on a property shows its value to the user, `x-countersign-keep` keeps it for
	// simulations, and `x-countersign-aggregate` (`sum` or `distinct`) has rules count by it; one that cannot be used is
	// 422 `display_invalid`, `keep_invalid` or `aggregate_invalid`.
	ContextSchema map[string]any `json:"context_schema,omitzero"`
	// Dotted lower-case key.
	Key string `json:"key"`
	// Extension: name and consequence in other languages, by language tag. The hosted page shows the reader's; the
	// passkey signs all of them.
	Labels map[string]ActionText `json:"labels,omitzero"`
	// Display name.
	Name string `json:"name"`
	// How long a proof is valid (seconds).
	ProofTTLSeconds int64 `json:"proof_ttl_seconds,omitzero"`
	// The type of resource it acts on.
	ResourceType string `json:"resource_type,omitzero"`
	// How much is at stake.
	RiskClass string `json:"risk_class,omitzero"`
}

// ActionText: The name and the consequence of an action in a language.
type ActionText struct {
	// What happens if the wrong person performs the action.
	Consequence string `json:"consequence"`
	// Display name.
	Name string `json:"name"`
}

// ActionUpdate: The fields to change. An omitted or null field keeps its value.
type ActionUpdate struct {
	// What happens if the wrong person performs the action.
	Consequence string `json:"consequence,omitzero"`
	// Extension: name and consequence in other languages, by language tag, in place of those stored; `{}` removes them.
	// Required with a new name or consequence if there are any.
	Labels map[string]ActionText `json:"labels,omitzero"`
	// How decisions take effect.
	Mode string `json:"mode,omitzero"`
	// Display name.
	Name string `json:"name,omitzero"`
}

// ActivityEntry: One entry of the event log.
type ActivityEntry struct {
	// The action key it is about.
	Action string `json:"action,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	At time.Time `json:"at"`
	// The authorization it is about.
	Authorization string `json:"authorization,omitzero"`
	// The payload according to the schema of the type.
	Data map[string]any `json:"data"`
	// Id of the event.
	ID string `json:"id"`
	// The subject it is about.
	Subject string `json:"subject,omitzero"`
	// Its type.
	Type string `json:"type"`
}

// Actor: The actor who performs the action.
type Actor struct {
	// The relying party's id of the actor.
	ID string `json:"id"`
	// Only human actors are supported.
	Type string `json:"type,omitzero"`
}

// AdaptationFreeze: Freezes or unfreezes the adaptation of the template.
type AdaptationFreeze struct {
	// `false` enables adaptation again.
	Frozen *bool `json:"frozen,omitzero"`
	// Why.
	Reason string `json:"reason,omitzero"`
}

// AfterReview: The review of a break-glass.
type AfterReview struct {
	// The action's key.
	Action string `json:"action"`
	// How many verdicts close it.
	Approvals int64 `json:"approvals"`
	// Id of the held authorization.
	Authorization string `json:"authorization"`
	// Who approved alone.
	BrokenBy string `json:"broken_by"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ClosedAt *time.Time `json:"closed_at"`
	// RFC 3339, UTC, with milliseconds.
	DueAt time.Time `json:"due_at"`
	// RFC 3339, UTC, with milliseconds.
	OpenedAt time.Time `json:"opened_at"`
	// Whether it is open and its time has passed.
	Overdue bool `json:"overdue"`
	// Why; null once it was erased.
	Reason string `json:"reason,omitzero"`
	// Its status.
	Status string `json:"status"`
	// As a member of which team.
	Team string `json:"team"`
	// Those that were given.
	Verdicts []AfterReviewVerdictGiven `json:"verdicts"`
}

// AfterReviewVerdict: A verdict about a break-glass.
type AfterReviewVerdict struct {
	// Why. It is stored encrypted.
	Note string `json:"note"`
	// What the reviewer found.
	Verdict string `json:"verdict"`
}

// AfterReviewVerdictGiven: The verdict of one reviewer.
type AfterReviewVerdictGiven struct {
	// RFC 3339, UTC, with milliseconds.
	At time.Time `json:"at"`
	// Why; null once it was erased.
	Note string `json:"note,omitzero"`
	// Who gave it.
	Reviewer string `json:"reviewer"`
	// What they found.
	Verdict string `json:"verdict"`
}

// AssuranceClaim: One claim about the subject.
type AssuranceClaim struct {
	// Name of the claim, e.g. `operator_continuity`.
	Claim string `json:"claim"`
	// How much evidence there is.
	Coverage Coverage `json:"coverage"`
	// Ids of the frames that support it.
	EvidenceRefs []string `json:"evidence_refs,omitzero"`
	// Age in milliseconds of the newest evidence that can support this claim; null if there is none.
	FreshnessMS *int64 `json:"freshness_ms,omitzero"`
	// What limits it.
	Limitations []string `json:"limitations,omitzero"`
	// Why.
	ReasonCodes []string `json:"reason_codes,omitzero"`
	// The status of a claim.
	Status ClaimStatus `json:"status"`
}

// AssuranceProfile: The assessment of the person who uses a session: claims with coverage and freshness.
type AssuranceProfile struct {
	// Seconds of activity that counted.
	ActiveSeconds *float64 `json:"active_seconds,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	AssessedAt time.Time `json:"assessed_at"`
	// One item per claim.
	Claims []AssuranceClaim `json:"claims"`
	// How much evidence there is.
	Coverage Coverage `json:"coverage"`
	// Windows of evidence that counted.
	EvidenceWindows *int64 `json:"evidence_windows,omitzero"`
	// The feature schema of the frames.
	FeatureSchemaVersion string `json:"feature_schema_version"`
	// Age of the newest evidence of any kind in milliseconds.
	FreshnessMS *int64 `json:"freshness_ms,omitzero"`
	// Id of the profile.
	ID string `json:"id"`
	// There is too little evidence for an assessment.
	InsufficientEvidence bool `json:"insufficient_evidence"`
	// What limits the assessment.
	Limitations []string `json:"limitations,omitzero"`
	// Modalities that the evidence has.
	ModalitiesPresent []string `json:"modalities_present,omitzero"`
	// The scoring model.
	ModelVersion string `json:"model_version"`
	// The rules that turn scores into claims.
	RuleVersion string `json:"rule_version"`
	// The session that was assessed.
	Session string `json:"session,omitzero"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// AttemptStatus: Status of an attempt.
type AttemptStatus string

// The values of AttemptStatus.
const (
	AttemptStatusPending   AttemptStatus = "pending"
	AttemptStatusSucceeded AttemptStatus = "succeeded"
	AttemptStatusFailed    AttemptStatus = "failed"
)

// AuditEntry: One change, chained by hash to the previous entry.
type AuditEntry struct {
	// The actor: a credential, a reviewer, a workflow, the command line.
	Actor string `json:"actor"`
	// Digest of the state after.
	After string `json:"after,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	At time.Time `json:"at"`
	// Digest of the state before.
	Before string `json:"before,omitzero"`
	// Hash of this entry.
	Hash string `json:"hash"`
	// Id of the entry.
	ID string `json:"id"`
	// Kind of change.
	Kind string `json:"kind"`
	// Hash of the previous entry.
	PreviousHash string `json:"previous_hash"`
	// The request that made it.
	RequestID string `json:"request_id,omitzero"`
	// Its number in the environment.
	Sequence int64 `json:"sequence"`
	// Id of what was changed.
	Target string `json:"target,omitzero"`
	// The workflow that made it.
	WorkflowID string `json:"workflow_id,omitzero"`
}

// AuditHead: The newest entry of the chain, signed by the environment's key.
type AuditHead struct {
	// RFC 3339, UTC, with milliseconds.
	At time.Time `json:"at"`
	// Id of the environment.
	Environment string `json:"environment"`
	// Its hash.
	Hash string `json:"hash"`
	// Number of the newest entry; 0 if there is none.
	Sequence int64 `json:"sequence"`
	// Compact JWS over environment, sequence, hash and at.
	Signature string `json:"signature"`
}

// AuthenticationResponseJSON: WebAuthn Level 3, AuthenticationResponseJSON, as `PublicKeyCredential.toJSON()` gives
// it.
type AuthenticationResponseJSON struct {
	// Credential id.
	ID string `json:"id,omitzero"`
	// Credential id in base64url.
	RawId string `json:"rawId,omitzero"`
	// clientDataJSON, authenticatorData, signature, userHandle.
	Response map[string]any `json:"response,omitzero"`
	// public-key.
	Type string `json:"type,omitzero"`
}

// AuthorizationTrace: The stored record of a decision. Resource and context are stored as digests.
type AuthorizationTrace struct {
	// The action's key.
	Action string `json:"action"`
	// SHA-256 over RFC 8785 canonical JSON.
	ActionHash string `json:"action_hash"`
	// Who performed the action.
	Actor string `json:"actor"`
	// Only human actors are supported.
	ActorType string `json:"actor_type"`
	// The assessment of the person who uses a session: claims with coverage and freshness.
	Assurance AssuranceProfile `json:"assurance"`
	// The audience of the proof.
	Audience string `json:"audience"`
	// The challenge that it opened.
	Challenge *ChallengeTrace `json:"challenge,omitzero"`
	// Extension: the follow-up decision after a completed challenge or an approved hold; null until then.
	ChildAuthorization string `json:"child_authorization,omitzero"`
	// SHA-256 over RFC 8785 canonical JSON.
	ContextDigest string `json:"context_digest"`
	// RFC 3339, UTC, with milliseconds.
	DecidedAt time.Time `json:"decided_at"`
	// What the relying party should do.
	Decision Decision `json:"decision"`
	// Extension: the details that a person is shown; null for an action that shows none, and once they are past their
	// retention.
	Display *DisplayedDetails `json:"display,omitzero"`
	// Extension: every requirement of the policy with what was required and what was found.
	Explanation []ExplainedRequirement `json:"explanation,omitzero"`
	// Id of the authorization.
	ID string `json:"id"`
	// How long the decision took.
	LatencyMS int64 `json:"latency_ms"`
	// `test`: decisions without proofs. `shadow`: decisions are recorded and have no effect. `enforce`: decisions take
	// effect.
	Mode Mode `json:"mode"`
	// What the relying party reported.
	Outcome string `json:"outcome,omitzero"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	OutcomeReportedAt *time.Time `json:"outcome_reported_at,omitzero"`
	// The authorization of which this one is the follow-up decision.
	Parent string `json:"parent,omitzero"`
	// The version that decided.
	PolicyVersion *int64 `json:"policy_version,omitzero"`
	// The proof it issued.
	Proof *ProofTrace `json:"proof,omitzero"`
	// The proof's `jti`.
	ProofID string `json:"proof_id,omitzero"`
	// Why.
	ReasonCodes []string `json:"reason_codes"`
	// RFC 3339, UTC, with milliseconds.
	RequestedAt time.Time `json:"requested_at"`
	// SHA-256 over RFC 8785 canonical JSON.
	ResourceDigest string `json:"resource_digest"`
	// Type of the resource.
	ResourceType string `json:"resource_type"`
	// The follow-up decision of an approved review.
	ReviewAuthorizationID string `json:"review_authorization_id,omitzero"`
	// Status of a hold.
	ReviewStatus string `json:"review_status,omitzero"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ReviewedAt *time.Time `json:"reviewed_at,omitzero"`
	// The reviewer who resolved the hold.
	ReviewedBy string `json:"reviewed_by,omitzero"`
	// Extension: id of the standing approval that allowed the request; omitted if none did.
	StandingApproval string `json:"standing_approval,omitzero"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// AuthorizeRequest: The request to decide whether this subject may perform this action on this resource for this
// audience.
type AuthorizeRequest struct {
	// The action's key.
	Action string `json:"action"`
	// The actor, if it is to be recorded in addition to the subject.
	Actor *Actor `json:"actor,omitzero"`
	// The audience of the proof.
	Audience string `json:"audience"`
	// Details of the action that match its `context_schema`.
	Context map[string]any `json:"context,omitzero"`
	// A repeated request with the same key and body gets the stored response.
	IdempotencyKey string `json:"idempotency_key"`
	// New for every request; part of the proof.
	Nonce string `json:"nonce"`
	// Unix time in seconds (or, from 1e11 on, in milliseconds) at which the relying party created the request; within 300
	// seconds of the service's clock, else `stale_request`.
	RequestedAt int64 `json:"requested_at"`
	// The resource of the action.
	Resource Resource `json:"resource"`
	// The observation session for this decision and its follow-up decisions; by default the subject's latest. Evidence of
	// a session that has ended or expired is not used.
	Session string `json:"session,omitzero"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// AuthorizeResponse: One decision.
type AuthorizeResponse struct {
	// The action's key.
	Action string `json:"action"`
	// SHA-256 over RFC 8785 canonical JSON.
	ActionHash string `json:"action_hash"`
	// The assessment of the person who uses a session: claims with coverage and freshness.
	Assurance AssuranceProfile `json:"assurance"`
	// The step-up to complete; present for `challenge` in `test` and `enforce` mode.
	Challenge *ChallengeDescriptor `json:"challenge,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	DecidedAt time.Time `json:"decided_at"`
	// What the relying party should do.
	Decision Decision `json:"decision"`
	// Id of the environment.
	Environment string `json:"environment"`
	// Extension: only for `hold` in `test` and `enforce` mode.
	Hold *HoldDescriptor `json:"hold,omitzero"`
	// The decision as text.
	HumanReadable HumanReadable `json:"human_readable"`
	// Id of the authorization.
	ID string `json:"id"`
	// How long the decision took.
	LatencyMS int64 `json:"latency_ms"`
	// `test`: decisions without proofs. `shadow`: decisions are recorded and have no effect. `enforce`: decisions take
	// effect.
	Mode Mode `json:"mode"`
	// The version that decided.
	PolicyVersion int64 `json:"policy_version"`
	// Compact JWS; only for `allow` in `enforce` mode.
	Proof string `json:"proof,omitzero"`
	// The proof's `jti`; only for `allow` in `enforce` mode.
	ProofID string `json:"proof_id,omitzero"`
	// Why; the catalogue is at `/api/v1/meta`.
	ReasonCodes []string `json:"reason_codes"`
	// Extension: id of the standing approval that allowed the request; omitted if none did.
	StandingApproval string `json:"standing_approval,omitzero"`
	// The trace of this request.
	TraceID string `json:"trace_id"`
}

// Background: A background model of the population that a person is compared with.
type Background struct {
	// The data that it was trained on.
	Data string `json:"data"`
	// Licence of the data.
	Licence string `json:"licence"`
	// Whether it was trained on data of this deployment.
	Local bool `json:"local"`
	// The modality.
	Modality string `json:"modality"`
	// Whether the licence excludes commercial use.
	NonCommercial bool `json:"non_commercial"`
	// Number of persons in the data.
	People int64 `json:"people"`
	// Name of the background; part of every profile's model_version.
	Version string `json:"version"`
}

// BackgroundChoice: What the environment compares people with. `prior`: the deployment's background, and nothing is
// learned from people who enroll. `own`: a background learned from the people who enroll in this environment.
// `shared`: one learned from the people of all environments of its kind in this deployment that share. A new sandbox
// has `own`.
type BackgroundChoice string

// The values of BackgroundChoice.
const (
	BackgroundChoicePrior  BackgroundChoice = "prior"
	BackgroundChoiceOwn    BackgroundChoice = "own"
	BackgroundChoiceShared BackgroundChoice = "shared"
)

// Brand: The look of the environment's hosted pages. What is not set is empty. Nothing of it is part of what a passkey
// signs.
type Brand struct {
	// Colour of buttons and links, such as #0f5c5c.
	Accent string `json:"accent"`
	// Language for users whose languages the pages do not have.
	Language string `json:"language"`
	// A PNG, base64.
	Logo string `json:"logo"`
	// The name above the pages; without it `rp_name`.
	Name string `json:"name"`
}

// BrandUpdate: Changes to the look of the hosted pages. Omitted fields keep their value, an empty text removes the
// setting.
type BrandUpdate struct {
	// # and six hex digits. Its contrast with a light page must be at least 4.5:1; pages lighten it in dark mode.
	Accent *string `json:"accent,omitzero"`
	// A language of the pages: `de` or `en`.
	Language *string `json:"language,omitzero"`
	// A PNG of at most 32 KiB with sides of 16 to 1024 pixels, base64. It is decoded and encoded again. SVG is not
	// accepted.
	Logo *string `json:"logo,omitzero"`
	// The name above the pages, without control characters.
	Name *string `json:"name,omitzero"`
}

// CapabilityState: State of a capability.
type CapabilityState string

// The values of CapabilityState.
const (
	CapabilityStateAvailable   CapabilityState = "available"
	CapabilityStateDegraded    CapabilityState = "degraded"
	CapabilityStateUnavailable CapabilityState = "unavailable"
	CapabilityStateUnsupported CapabilityState = "unsupported"
)

// ChallengeBinding: What the WebAuthn challenge of a step-up is the digest of.
type ChallengeBinding struct {
	// SHA-256 over RFC 8785 canonical JSON.
	ActionHash string `json:"action_hash"`
	// Id of the challenge.
	Challenge string `json:"challenge"`
	// SHA-256 over RFC 8785 canonical JSON.
	DisplayDigest string `json:"display_digest"`
	// 32 random bytes of the challenge, base64url.
	Random string `json:"random"`
}

// ChallengeCancelled: The challenge is cancelled.
type ChallengeCancelled struct {
	// Id of the challenge.
	ID string `json:"id"`
	// Cancelled.
	Status string `json:"status"`
}

// ChallengeCompleteRequest: The completed step-up. A passkey requires its assertion.
type ChallengeCompleteRequest struct {
	// The WebAuthn assertion of a passkey; null for sandbox_confirm.
	Assertion *AuthenticationResponseJSON `json:"assertion,omitzero"`
	// The method used.
	Method string `json:"method"`
}

// ChallengeCompletionReceipt: The challenge is completed. Safe for a browser; the relying party's backend reads the
// decision of `authorization` itself.
type ChallengeCompletionReceipt struct {
	// Id of the new authorization.
	Authorization string `json:"authorization"`
	// Id of the challenge.
	Challenge string `json:"challenge"`
	// A step-up method. `sandbox_confirm` is available in sandbox environments only.
	Method ChallengeMethod `json:"method"`
	// Completed.
	Status string `json:"status"`
}

// ChallengeDescriptor: A step-up that the subject can complete.
type ChallengeDescriptor struct {
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// Id of the challenge.
	ID string `json:"id"`
	// Ways to complete it.
	Methods []ChallengeMethod `json:"methods"`
}

// ChallengeDisplay: What is being authorized. The passkey signs its digest.
type ChallengeDisplay struct {
	// The action's name.
	Action string `json:"action"`
	// The action's key.
	ActionKey string `json:"action_key"`
	// The audience of the proof.
	Audience string `json:"audience"`
	// What happens if the wrong person performs it.
	Consequence string `json:"consequence"`
	// SHA-256 over RFC 8785 canonical JSON.
	ContextDigest string `json:"context_digest"`
	// Extension: the details of the request, in order, if the action's context_schema says how to show any. Left out once
	// they are past their retention.
	Details []DisplayDetail `json:"details,omitzero"`
	// Extension: the digest of the canonical JSON of details, which the digest of the display covers. Left out for an
	// action that shows no details.
	DetailsDigest string `json:"details_digest,omitzero"`
	// Extension: name and consequence of the action in other languages, by language tag. Left out if the action has none.
	Labels map[string]ActionText `json:"labels,omitzero"`
	// The application that requests the confirmation.
	RequestingApplication string `json:"requesting_application"`
	// SHA-256 over RFC 8785 canonical JSON.
	ResourceDigest string `json:"resource_digest"`
	// Type of the resource.
	ResourceType string `json:"resource_type"`
}

// ChallengeLink: A short-lived URL that opens this challenge in a browser.
type ChallengeLink struct {
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// The URL to send the user to, complete: the ticket is the part after `#`, which browsers do not send to servers.
	URL string `json:"url"`
}

// ChallengeLinkRequest: Whom the link is for, and where the user continues after the challenge.
type ChallengeLinkRequest struct {
	// `client` for a link that leaves your own pages: handed to an agent or an MCP client, or sent by mail. Its page
	// names your brand and nothing else until the subject uses a passkey there; only that browser sees the request, and a
	// second use confirms it. Five refused attempts end the link, and the challenge stays open. Without `for`, the link
	// itself shows the request and can cancel it.
	For string `json:"for,omitzero"`
	// A URL of one of the environment's origins. The page shows it as a link and adds `challenge` and `status` to its
	// query; read the decision from your backend.
	ReturnURL string `json:"return_url,omitzero"`
}

// ChallengeMethod: A step-up method. `sandbox_confirm` is available in sandbox environments only.
type ChallengeMethod string

// The values of ChallengeMethod.
const (
	ChallengeMethodPasskey        ChallengeMethod = "passkey"
	ChallengeMethodSandboxConfirm ChallengeMethod = "sandbox_confirm"
)

// ChallengePublicView: The challenge as the user sees it before confirming.
type ChallengePublicView struct {
	// Extension: the follow-up decision of a completed challenge; null until then.
	ChildAuthorization string `json:"child_authorization,omitzero"`
	// What is being authorized. The passkey signs its digest.
	Display ChallengeDisplay `json:"display"`
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// Id of the challenge.
	ID string `json:"id"`
	// Ways to complete it.
	Methods []ChallengeMethod `json:"methods"`
	// Status of a challenge.
	Status ChallengeStatus `json:"status"`
}

// ChallengeStatus: Status of a challenge.
type ChallengeStatus string

// The values of ChallengeStatus.
const (
	ChallengeStatusOpen      ChallengeStatus = "open"
	ChallengeStatusCompleted ChallengeStatus = "completed"
	ChallengeStatusCancelled ChallengeStatus = "cancelled"
	ChallengeStatusExpired   ChallengeStatus = "expired"
	ChallengeStatusFailed    ChallengeStatus = "failed"
)

// ChallengeTrace: A challenge in the record of an authorization.
type ChallengeTrace struct {
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	CompletedAt *time.Time `json:"completed_at,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// Id of the challenge.
	ID string `json:"id"`
	// How it was completed.
	MethodUsed string `json:"method_used,omitzero"`
	// Status.
	Status string `json:"status"`
	// `phishing_resistant` or `sandbox`.
	Strength string `json:"strength,omitzero"`
}

// ChangeDifference: A field that a change gives a different value.
type ChangeDifference struct {
	// The proposed value; null if there is none.
	After any `json:"after"`
	// The value in force; null if there is none.
	Before any `json:"before"`
	// Dotted path of the field, such as requirements.coverage_min.
	Field string `json:"field"`
}

// ChangeKind: What a change request changes: the active policy version or the mode of an action, settings of the
// environment, a team of reviewers, what a webhook endpoint receives, a list, the revocation of a subject, the manager
// of a person, an issuer of security events, or a destination of the log.
type ChangeKind string

// The values of ChangeKind.
const (
	ChangeKindPolicyActivate      ChangeKind = "policy.activate"
	ChangeKindActionMode          ChangeKind = "action.mode"
	ChangeKindEnvironmentSettings ChangeKind = "environment.settings"
	ChangeKindTeamCreate          ChangeKind = "team.create"
	ChangeKindTeamUpdate          ChangeKind = "team.update"
	ChangeKindTeamDelete          ChangeKind = "team.delete"
	ChangeKindWebhookCreate       ChangeKind = "webhook.create"
	ChangeKindWebhookUpdate       ChangeKind = "webhook.update"
	ChangeKindListEntries         ChangeKind = "list.entries"
	ChangeKindListDelete          ChangeKind = "list.delete"
	ChangeKindSubjectReinstate    ChangeKind = "subject.reinstate"
	ChangeKindPersonManager       ChangeKind = "person.manager"
	ChangeKindSignalsSet          ChangeKind = "signals.set"
	ChangeKindSignalsRemove       ChangeKind = "signals.remove"
	ChangeKindDestinationSet      ChangeKind = "destination.set"
	ChangeKindDestinationRemove   ChangeKind = "destination.remove"
)

// ChangeReason: Why a change is requested or settled. A policy version's own reason is that of the request to activate
// it unless another is given.
type ChangeReason struct {
	// Why, for the people who approve it or look back at it; it may have several lines.
	Reason string `json:"reason,omitzero"`
}

// ChangeRequest: A change of the configuration that waits, or waited, for a second approver.
type ChangeRequest struct {
	// The action's key; null for other kinds.
	Action string `json:"action,omitzero"`
	// Id of the action; null for other kinds.
	ActionID string `json:"action_id,omitzero"`
	// Whether what it was requested against is in force; an approval of one that does not apply changes nothing. Null in
	// lists and once it is settled.
	Applies *bool `json:"applies,omitzero"`
	// Whether the calling credential may approve it now.
	Approvable bool `json:"approvable"`
	// What changes, field by field.
	Differences []ChangeDifference `json:"differences"`
	// Id of the webhook endpoint to change; null for other kinds and for a new endpoint.
	Endpoint string `json:"endpoint,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// Id of the change request.
	ID string `json:"id"`
	// What a change request changes: the active policy version or the mode of an action, settings of the environment, a
	// team of reviewers, what a webhook endpoint receives, a list, the revocation of a subject, the manager of a person,
	// an issuer of security events, or a destination of the log.
	Kind ChangeKind `json:"kind"`
	// Name of the list; null for other kinds.
	List string `json:"list,omitzero"`
	// The version to activate; null for other kinds.
	PolicyVersion *int64 `json:"policy_version,omitzero"`
	// Why the requester wants it; empty if they did not say.
	Reason string `json:"reason"`
	// RFC 3339, UTC, with milliseconds.
	RequestedAt time.Time `json:"requested_at"`
	// The requester: a credential, a member of staff or a command.
	RequestedBy string `json:"requested_by"`
	// Why it was settled as it was; empty if no one said.
	ResolutionReason string `json:"resolution_reason"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ResolvedAt *time.Time `json:"resolved_at"`
	// The approver or requester who settled it; null while it is pending and if it expired.
	ResolvedBy string `json:"resolved_by,omitzero"`
	// The newest 1000 decisions of the action decided again under the proposed policy version. Null in lists, for other
	// kinds and once it is settled.
	Simulation *PolicySimulation `json:"simulation,omitzero"`
	// Status of a change request. A superseded one was approved when what it was requested against was no longer in
	// force; it was not made.
	Status ChangeStatus `json:"status"`
	// The id of the subject; null for other kinds.
	Subject string `json:"subject,omitzero"`
	// Key of the team; null for other kinds.
	Team string `json:"team,omitzero"`
}

// ChangeStatus: Status of a change request. A superseded one was approved when what it was requested against was no
// longer in force; it was not made.
type ChangeStatus string

// The values of ChangeStatus.
const (
	ChangeStatusPending    ChangeStatus = "pending"
	ChangeStatusApproved   ChangeStatus = "approved"
	ChangeStatusRejected   ChangeStatus = "rejected"
	ChangeStatusWithdrawn  ChangeStatus = "withdrawn"
	ChangeStatusSuperseded ChangeStatus = "superseded"
	ChangeStatusExpired    ChangeStatus = "expired"
)

// ClaimInfo: A claim and the statuses it can have.
type ClaimInfo struct {
	// Name of the claim.
	Claim string `json:"claim"`
	// Meaning of the claim.
	Description string `json:"description"`
	// Statuses it can have.
	Statuses []ClaimStatus `json:"statuses"`
}

// ClaimStatus: The status of a claim.
type ClaimStatus string

// The values of ClaimStatus.
const (
	ClaimStatusConfirmed            ClaimStatus = "confirmed"
	ClaimStatusLikely               ClaimStatus = "likely"
	ClaimStatusUncertain            ClaimStatus = "uncertain"
	ClaimStatusNotConfirmed         ClaimStatus = "not_confirmed"
	ClaimStatusDetected             ClaimStatus = "detected"
	ClaimStatusNotDetected          ClaimStatus = "not_detected"
	ClaimStatusNotPresent           ClaimStatus = "not_present"
	ClaimStatusInsufficientEvidence ClaimStatus = "insufficient_evidence"
	ClaimStatusUnsupported          ClaimStatus = "unsupported"
)

// ClientTokenCreate: A browser credential for one subject and one origin.
type ClientTokenCreate struct {
	// The page's origin, e.g. https://app.example.com.
	Origin string `json:"origin"`
	// Extension: the purposes of the frames that the token may send; both if omitted. `enroll` permits the subject's next
	// enrollment.
	Purposes []string `json:"purposes,omitzero"`
	// Extension: the one session that the token may send frames to; any session of the subject if omitted.
	Session string `json:"session,omitzero"`
	// Id of the subject.
	Subject string `json:"subject"`
	// Life in seconds.
	TTLSeconds int64 `json:"ttl_seconds,omitzero"`
}

// ClientTokenCreated: The token, which is shown only once.
type ClientTokenCreated struct {
	// Send it as a bearer token.
	ClientToken string `json:"client_token"`
	// When it expires (Unix seconds).
	ExpiresAt float64 `json:"expires_at"`
	// The origin it is bound to.
	Origin string `json:"origin"`
	// Extension: the purposes of the frames that it may send.
	Purposes []string `json:"purposes,omitzero"`
	// Extension: the one session that it may send frames to; null for any session of the subject.
	Session string `json:"session,omitzero"`
	// Its life in seconds.
	TTLSeconds int64 `json:"ttl_seconds"`
}

// Coverage: How much evidence there is.
type Coverage string

// The values of Coverage.
const (
	CoverageNone       Coverage = "none"
	CoverageSparse     Coverage = "sparse"
	CoveragePartial    Coverage = "partial"
	CoverageSufficient Coverage = "sufficient"
)

// Credential: A credential without its secret.
type Credential struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ExpiresAt *time.Time `json:"expires_at"`
	// Id of the credential.
	ID string `json:"id"`
	// The actor whose authority the key rests on: the person or the key that issued it, a key that it was given to, or
	// the command line.
	IssuedBy string `json:"issued_by"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LapsesAt *time.Time `json:"lapses_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LastUsedAt *time.Time `json:"last_used_at"`
	// Display name.
	Name string `json:"name,omitzero"`
	// What the key may do within its scope, fixed at its creation; null for everything.
	Permissions []Permission `json:"permissions,omitzero"`
	// The beginning of the key.
	Preview string `json:"preview"`
	// Who the key counts as when people are counted: the person or the key at the beginning of its chain of issue, or
	// itself.
	Principal string `json:"principal"`
	// Requests an hour if not the environment's default.
	RateLimit *int64 `json:"rate_limit,omitzero"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RevokedAt *time.Time `json:"revoked_at"`
	// Scope of a credential.
	Scope CredentialScope `json:"scope"`
}

// CredentialCreate: A new key for this environment.
type CredentialCreate struct {
	// When it expires; when the calling key does if omitted. A later time than that is 422 `expires_after_issuer`.
	ExpiresAt *time.Time `json:"expires_at,omitzero"`
	// Display name.
	Name string `json:"name,omitzero"`
	// What the key may do within its scope; everything if omitted. A key cannot give a permission that it does not have.
	// `config`, `webhooks`, `credentials` and `audit` are for the scope `admin`.
	Permissions []string `json:"permissions,omitzero"`
	// Requests an hour, if not the environment's default. More than the environment's ceiling, which the operator sets,
	// is 422 `rate_limit_ceiling`.
	RateLimit int64 `json:"rate_limit,omitzero"`
	// Scope of the key; `client` is a publishable key.
	Scope string `json:"scope"`
}

// CredentialIdentity: The calling credential, without its secret.
type CredentialIdentity struct {
	// Id of the credential.
	Credential string `json:"credential"`
	// Id of the environment.
	Environment string `json:"environment"`
	// Kind of the environment.
	EnvironmentKind string `json:"environment_kind"`
	// Test or live.
	Mode string `json:"mode"`
	// Extension: what the credential may do within its scope; null for everything.
	Permissions []Permission `json:"permissions,omitzero"`
	// The `iss` of this environment's proofs.
	ProofIssuer string `json:"proof_issuer"`
	// Scope of a credential.
	Scope CredentialScope `json:"scope"`
	// Id of the tenant.
	Tenant string `json:"tenant"`
}

// CredentialScope: Scope of a credential.
type CredentialScope string

// The values of CredentialScope.
const (
	CredentialScopeClient CredentialScope = "client"
	CredentialScopeServer CredentialScope = "server"
	CredentialScopeAdmin  CredentialScope = "admin"
)

// CredentialWithKey: A credential with its secret, which is shown only once.
type CredentialWithKey struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ExpiresAt *time.Time `json:"expires_at"`
	// Id of the credential.
	ID string `json:"id"`
	// The actor whose authority the key rests on: the person or the key that issued it, a key that it was given to, or
	// the command line.
	IssuedBy string `json:"issued_by"`
	// The secret key. It is not shown again.
	Key string `json:"key"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LapsesAt *time.Time `json:"lapses_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LastUsedAt *time.Time `json:"last_used_at"`
	// Display name.
	Name string `json:"name,omitzero"`
	// What the key may do within its scope, fixed at its creation; null for everything.
	Permissions []Permission `json:"permissions,omitzero"`
	// The beginning of the key.
	Preview string `json:"preview"`
	// Who the key counts as when people are counted: the person or the key at the beginning of its chain of issue, or
	// itself.
	Principal string `json:"principal"`
	// Requests an hour if not the environment's default.
	RateLimit *int64 `json:"rate_limit,omitzero"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RevokedAt *time.Time `json:"revoked_at"`
	// Scope of a credential.
	Scope CredentialScope `json:"scope"`
}

// Decision: What the relying party should do.
type Decision string

// The values of Decision.
const (
	DecisionAllow     Decision = "allow"
	DecisionChallenge Decision = "challenge"
	DecisionHold      Decision = "hold"
	DecisionDeny      Decision = "deny"
)

// Destination: A system to which the sealed log is pushed.
type Destination struct {
	// Entries that are sealed and not confirmed.
	Behind int64 `json:"behind"`
	// Certificates that sign the receiver's.
	Ca string `json:"ca,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Encoding of the body; null for syslog.
	Encoding string `json:"encoding,omitzero"`
	// Since when no attempt has succeeded.
	FailingSince *time.Time `json:"failing_since,omitzero"`
	// Whether credentials are stored.
	HasCredentials bool `json:"has_credentials"`
	// Name of the header that has the credential; null for syslog.
	Header string `json:"header,omitzero"`
	// Id of the destination.
	ID string `json:"id"`
	// How a destination takes the log: OTLP logs over HTTP, OCSF events in the body of a POST, or OCSF events in syslog
	// messages over TLS.
	Kind DestinationKind `json:"kind"`
	// Why the last attempt failed; null if it succeeded.
	LastError string `json:"last_error,omitzero"`
	// Name of a destination of the log.
	Name string `json:"name"`
	// When the first of them was sealed.
	OldestBehind *time.Time `json:"oldest_behind,omitzero"`
	// Number of the last entry that the receiver confirmed.
	Position int64 `json:"position"`
	// When the receiver last confirmed entries.
	SentAt *time.Time `json:"sent_at,omitzero"`
	// Entries from before are passed over.
	Since *time.Time `json:"since,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	UpdatedAt time.Time `json:"updated_at"`
	// The whole address.
	URL string `json:"url"`
}

// DestinationCredentials: What a destination of the log is authenticated with.
type DestinationCredentials struct {
	// Client certificate and its chain in PEM.
	Certificate string `json:"certificate,omitzero"`
	// Value of the header.
	Header string `json:"header,omitzero"`
	// Key of the certificate in PEM.
	Key string `json:"key,omitzero"`
}

// DestinationKind: How a destination takes the log: OTLP logs over HTTP, OCSF events in the body of a POST, or OCSF
// events in syslog messages over TLS.
type DestinationKind string

// The values of DestinationKind.
const (
	DestinationKindOtlp   DestinationKind = "otlp"
	DestinationKindHttps  DestinationKind = "https"
	DestinationKindSyslog DestinationKind = "syslog"
)

// DestinationSet: The settings of a destination of the log.
type DestinationSet struct {
	// Certificates in PEM that sign the receiver's; those that the machine trusts if omitted.
	Ca string `json:"ca,omitzero"`
	// Of the body: `protobuf` (the default) or `json` of otlp, `lines` (the default) or `array` of https.
	Encoding string `json:"encoding,omitzero"`
	// Name of the header that has the credential. Default Authorization.
	Header string `json:"header,omitzero"`
	// How a destination takes the log: OTLP logs over HTTP, OCSF events in the body of a POST, or OCSF events in syslog
	// messages over TLS.
	Kind DestinationKind `json:"kind"`
	// Of a new destination: entries from this time on are sent. If omitted, those that are sealed from now on.
	Since *time.Time `json:"since,omitzero"`
	// The whole address, such as `https://collector.example/v1/logs` or `tls://logs.example:6514`.
	URL string `json:"url"`
}

// DeviceClass: Templates of one class of device are never compared with another.
type DeviceClass string

// The values of DeviceClass.
const (
	DeviceClassDesktop DeviceClass = "desktop"
	DeviceClassMobile  DeviceClass = "mobile"
	DeviceClassTablet  DeviceClass = "tablet"
	DeviceClassUnknown DeviceClass = "unknown"
)

// DisplayDetail: One line of what a person is shown of a request. The hosted page writes it in the reader's language.
type DisplayDetail struct {
	// The value without the conventions of a language: 1250.50 EUR, 2026-11-02, or an IBAN without spaces. The hosted
	// page writes it in the reader's language. Left out for text, masked values, and values that do not fit their format.
	Canonical string `json:"canonical,omitzero"`
	// The format of the annotation.
	Format string `json:"format"`
	// The label of the action's annotation.
	Label string `json:"label"`
	// The label in other languages, by language tag. Left out if the annotation has none.
	Labels map[string]string `json:"labels,omitzero"`
	// Whether the value names the request, such as the payee of a payment. Left out if not.
	Title bool `json:"title,omitzero"`
	// The value in the annotation's format. A character that could change how the rest is read is shown as its number,
	// such as [U+202E].
	Value string `json:"value"`
}

// DisplayedDetails: The details of a request that a person is shown.
type DisplayedDetails struct {
	// The details, in order.
	Details []DisplayDetail `json:"details"`
}

// Enrollment: One training of a subject's template.
type Enrollment struct {
	// The evidence for the person's identity.
	Anchor string `json:"anchor"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	CompletedAt *time.Time `json:"completed_at,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Id of the enrollment.
	ID string `json:"id"`
	// What limits the template.
	Limitations []string `json:"limitations,omitzero"`
	// Extension: the sessions that were inconsistent with the others and were not used.
	RefusedSessions []RefusedSession `json:"refused_sessions,omitzero"`
	// Status.
	Status string `json:"status"`
	// Id of the subject.
	Subject string `json:"subject"`
	// Windows of evidence used.
	WindowsAccepted int64 `json:"windows_accepted"`
}

// EnrollmentComplete: Trains the template with the collected evidence.
type EnrollmentComplete struct {
	// Train even if there is less evidence than required.
	Force bool `json:"force,omitzero"`
	// The session that ends the enrollment.
	Session string `json:"session"`
}

// EnrollmentState: State of a subject's enrollment.
type EnrollmentState string

// The values of EnrollmentState.
const (
	EnrollmentStateNone       EnrollmentState = "none"
	EnrollmentStateCollecting EnrollmentState = "collecting"
	EnrollmentStateEnrolled   EnrollmentState = "enrolled"
)

// Environment: The caller's environment and its settings.
type Environment struct {
	// What the environment compares people with. `prior`: the deployment's background, and nothing is learned from people
	// who enroll. `own`: a background learned from the people who enroll in this environment. `shared`: one learned from
	// the people of all environments of its kind in this deployment that share. A new sandbox has `own`.
	Background BackgroundChoice `json:"background"`
	// Bars self-review of every hold, including pending ones, with any credential. A policy's `self_review` cannot allow
	// it again.
	BarSelfReview bool `json:"bar_self_review"`
	// The look of the environment's hosted pages. What is not set is empty. Nothing of it is part of what a passkey
	// signs.
	Brand Brand `json:"brand"`
	// URL of a decision in the case system of the relying party, with placeholders; empty for none.
	CaseLink string `json:"case_link"`
	// Time limit of a challenge (seconds).
	ChallengeTTLSeconds int64 `json:"challenge_ttl_seconds"`
	// Time limit of a change request (seconds).
	ChangeTTLSeconds int64 `json:"change_ttl_seconds"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Whether client tokens send enrollment frames only if their `purposes` name `enroll`.
	EnrollmentGrantRequired bool `json:"enrollment_grant_required"`
	// Days without a sign-in after which the API keys of staff lapse whom an identity provider signs in; 0 is never.
	FederatedKeyDays int64 `json:"federated_key_days"`
	// Origins that may embed hosted pages in a frame.
	FrameAncestors []string `json:"frame_ancestors"`
	// Time limit of a hold (seconds).
	HoldTTLSeconds int64 `json:"hold_ttl_seconds"`
	// Days without working hours.
	Holidays []string `json:"holidays"`
	// Id of the environment.
	ID string `json:"id"`
	// Refuses new API keys without `expires_at`, unless the key that issues them expires. Keys that exist and those of
	// the operator are not affected.
	KeyExpiryRequired bool `json:"key_expiry_required"`
	// Kind of the environment.
	Kind string `json:"kind"`
	// Origins on which passkeys are used.
	Origins []string `json:"origins"`
	// Origin of links to hosted pages; null for the service's own.
	PageOrigin string `json:"page_origin,omitzero"`
	// The rules of passkeys beside `rp_id` and `origins` (`docs/passkeys.md`).
	Passkeys PasskeyRules `json:"passkeys"`
	// Vectors may be stored for research if subject and deployment agree.
	ResearchEnabled bool `json:"research_enabled"`
	// Time for which a challenge or a hold reserves room under the limit of its resource (seconds). After it others may
	// use the room, and the follow-up decision is counted anew.
	ResourceReservationSeconds int64 `json:"resource_reservation_seconds"`
	// Origins that hosted pages may link back to, in addition to `origins`.
	ReturnOrigins []string `json:"return_origins"`
	// Stores the notes of reviews from now on, sealed, so that colleagues can read them; true by default. Of a note with
	// control characters or letters that are easily misread only the digest is stored.
	ReviewNotes bool `json:"review_notes"`
	// The host name that passkeys are bound to; set when the tenant is created.
	RPID string `json:"rp_id"`
	// The name shown to users.
	RPName string `json:"rp_name"`
	// Makes activations of policy versions, changes of an action's mode and changes of these settings wait for a second
	// approver. Switching it off waits too.
	SecondApproverRequired bool `json:"second_approver_required"`
	// Id of the tenant.
	Tenant string `json:"tenant"`
	// Hours that policies with `hours: working` count, such as `mon-fri 09:00-17:00`; empty if the environment has no
	// calendar.
	WorkingHours []string `json:"working_hours"`
	// Time zone of the working hours, of the IANA database; empty for none.
	WorkingZone string `json:"working_zone"`
}

// EnvironmentUpdate: Settings to change. Omitted settings keep their value. Changes apply to new challenges and holds.
type EnvironmentUpdate struct {
	// Whether the environment learns its background from the people who enroll. `prior` deletes what it has learned.
	Background string `json:"background,omitzero"`
	// Bars self-review of every hold, including pending ones, with any credential. A policy's `self_review` cannot allow
	// it again.
	BarSelfReview *bool `json:"bar_self_review,omitzero"`
	// Changes to the look of the hosted pages. Omitted fields keep their value, an empty text removes the setting.
	Brand *BrandUpdate `json:"brand,omitzero"`
	// URL of a decision in your case system: https, with the placeholders `{decision_id}`, `{subject}` and `{action}` in
	// its path or query. The console shows it. Empty for none.
	CaseLink *string `json:"case_link,omitzero"`
	// Time limit of a challenge (seconds).
	ChallengeTTLSeconds int64 `json:"challenge_ttl_seconds,omitzero"`
	// Time limit of a change request (seconds).
	ChangeTTLSeconds int64 `json:"change_ttl_seconds,omitzero"`
	// Whether client tokens send enrollment frames only if their `purposes` name `enroll`.
	EnrollmentGrantRequired *bool `json:"enrollment_grant_required,omitzero"`
	// Days without a sign-in after which the API keys of staff lapse whom an identity provider signs in; 0 is never.
	FederatedKeyDays *int64 `json:"federated_key_days,omitzero"`
	// Origins that may embed hosted pages in a frame, without wildcards. Browsers run no passkey ceremony in such a
	// frame.
	FrameAncestors []string `json:"frame_ancestors,omitzero"`
	// Time limit of a hold (seconds).
	HoldTTLSeconds int64 `json:"hold_ttl_seconds,omitzero"`
	// Days without working hours, such as `2026-12-24`. Every 366 days must have a working minute.
	Holidays []string `json:"holidays,omitzero"`
	// An iCalendar file (RFC 5545) in base64, whose whole-day events replace `holidays` as dates. Refused if one of them
	// repeats.
	HolidaysFile *string `json:"holidays_file,omitzero"`
	// Refuses new API keys without `expires_at`, unless the key that issues them expires. Keys that exist and those of
	// the operator are not affected.
	KeyExpiryRequired *bool `json:"key_expiry_required,omitzero"`
	// Origins on which passkeys are used: https with the host `rp_id` or a subdomain; localhost in a sandbox only.
	// `android:apk-key-hash:` and the SHA-256 of its signing certificate in base64url for an Android app.
	Origins []string `json:"origins,omitzero"`
	// Origin of links to hosted pages; one of `origins`, and its host must reach the service. Empty for the service's
	// own.
	PageOrigin *string `json:"page_origin,omitzero"`
	// Changes to the rules of passkeys. Omitted fields keep their value, an empty list removes the rule. Registered
	// passkeys are kept; those of a removed RP ID cannot be used.
	Passkeys *PasskeyRulesUpdate `json:"passkeys,omitzero"`
	// Time for which a challenge or a hold reserves room under the limit of its resource (seconds). After it others may
	// use the room, and the follow-up decision is counted anew.
	ResourceReservationSeconds int64 `json:"resource_reservation_seconds,omitzero"`
	// Origins that hosted pages may link back to, in addition to `origins`: https, or http on this machine.
	ReturnOrigins []string `json:"return_origins,omitzero"`
	// Stores the notes of reviews from now on, sealed, so that colleagues can read them; true by default. Of a note with
	// control characters or letters that are easily misread only the digest is stored.
	ReviewNotes *bool `json:"review_notes,omitzero"`
	// The name shown to users, without control characters.
	RPName string `json:"rp_name,omitzero"`
	// Makes activations of policy versions, changes of an action's mode and changes of these settings wait for a second
	// approver. Switching it off waits too.
	SecondApproverRequired *bool `json:"second_approver_required,omitzero"`
	// Hours that policies with `hours: working` count: a day or a range of days of one week with its hours, such as
	// `mon-fri 09:00-17:00`. Hours past midnight are two items; `24:00` is the end of a day. Empty for no calendar.
	WorkingHours []string `json:"working_hours,omitzero"`
	// Time zone of the working hours, of the IANA database, such as `Europe/Berlin`. Required with `working_hours`.
	WorkingZone *string `json:"working_zone,omitzero"`
}

// ErasureReceipt: The erasure has begun. The subject is not found by other requests.
type ErasureReceipt struct {
	// Id of the erasure.
	Erasure string `json:"erasure"`
	// RFC 3339, UTC, with milliseconds.
	RequestedAt time.Time `json:"requested_at"`
	// In progress.
	Status string `json:"status"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// Evaluation: An evaluation.
type Evaluation struct {
	// Keys of the actions.
	ActionKeys []string `json:"action_keys"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	EndsAt *time.Time `json:"ends_at,omitzero"`
	// Id of the evaluation.
	ID string `json:"id"`
	// Display name.
	Name string `json:"name"`
	// RFC 3339, UTC, with milliseconds.
	StartsAt time.Time `json:"starts_at"`
	// Status of an evaluation.
	Status EvaluationStatus `json:"status"`
	// The success criteria of an evaluation.
	SuccessCriteria EvaluationCriteria `json:"success_criteria"`
}

// EvaluationCreate: A new evaluation.
type EvaluationCreate struct {
	// Keys of the actions to evaluate.
	ActionKeys []string `json:"action_keys"`
	// End of the window; open until closed if omitted.
	EndsAt *time.Time `json:"ends_at,omitzero"`
	// Display name.
	Name string `json:"name"`
	// Start of the window; now if omitted.
	StartsAt *time.Time `json:"starts_at,omitzero"`
	// The success criteria of an evaluation.
	SuccessCriteria *EvaluationCriteria `json:"success_criteria,omitzero"`
}

// EvaluationCriteria: The success criteria of an evaluation.
type EvaluationCriteria struct {
	// Greatest share of decisions on insufficient evidence.
	MaxAbstentionRate *float64 `json:"max_abstention_rate,omitzero"`
	// Least share of decisions with an outcome other than unknown.
	MinOutcomeCoverage *float64 `json:"min_outcome_coverage,omitzero"`
	// Least decisions in shadow mode.
	MinShadowDecisions int64 `json:"min_shadow_decisions,omitzero"`
}

// EvaluationMetrics: The metrics.
type EvaluationMetrics struct {
	// Share of decisions on insufficient evidence.
	AbstentionRate *float64 `json:"abstention_rate,omitzero"`
	// Decisions by decision.
	ByDecision map[string]int64 `json:"by_decision"`
	// Decisions by mode.
	ByMode map[string]int64 `json:"by_mode"`
	// Decisions that were challenge.
	Challenges int64 `json:"challenges"`
	// Decisions by coverage.
	CoverageDistribution map[string]int64 `json:"coverage_distribution"`
	// Quantiles of the decision's latency; null without decisions.
	DecisionLatencyMS map[string]*int64 `json:"decision_latency_ms"`
	// Decisions of the actions in the window.
	Decisions int64 `json:"decisions"`
	// Decisions that saw an operator change (experimental).
	ExperimentalOperatorChangeIndicators int64 `json:"experimental_operator_change_indicators"`
	// False challenges over challenge decisions with an outcome.
	FalseChallengeProxy *float64 `json:"false_challenge_proxy,omitzero"`
	// How to read the figures.
	Note string `json:"note"`
	// Share of decisions with an outcome other than unknown.
	OutcomeCoverage float64 `json:"outcome_coverage"`
	// Decisions by outcome.
	Outcomes map[string]int64 `json:"outcomes"`
}

// EvaluationReport: An evaluation with its results.
type EvaluationReport struct {
	// Keys of the actions.
	ActionKeys []string `json:"action_keys"`
	// One key per criterion.
	Checks map[string]bool `json:"checks"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	EndsAt *time.Time `json:"ends_at,omitzero"`
	// Id of the evaluation.
	ID string `json:"id"`
	// The metrics.
	Metrics EvaluationMetrics `json:"metrics"`
	// Display name.
	Name string `json:"name"`
	// Passed if every check is true when it is closed.
	Result string `json:"result"`
	// RFC 3339, UTC, with milliseconds.
	StartsAt time.Time `json:"starts_at"`
	// Status of an evaluation.
	Status EvaluationStatus `json:"status"`
	// The success criteria of an evaluation.
	SuccessCriteria EvaluationCriteria `json:"success_criteria"`
}

// EvaluationStatus: Status of an evaluation.
type EvaluationStatus string

// The values of EvaluationStatus.
const (
	EvaluationStatusOpen   EvaluationStatus = "open"
	EvaluationStatusClosed EvaluationStatus = "closed"
)

// EventTypeInfo: A type of event, its schema and an example.
type EventTypeInfo struct {
	// When it happens.
	Description string `json:"description"`
	// A body that follows the schema.
	PayloadExample map[string]any `json:"payload_example"`
	// JSON Schema of a webhook's body of this type.
	PayloadSchema map[string]any `json:"payload_schema"`
	// Name of the type.
	Type string `json:"type"`
}

// EvidenceAck: The result of a frame.
type EvidenceAck struct {
	// Seconds of activity in the session.
	ActiveSeconds float64 `json:"active_seconds"`
	// How much evidence there is.
	Coverage Coverage `json:"coverage"`
	// Whether there is enough evidence to complete an enrollment.
	EnrollmentReady bool `json:"enrollment_ready,omitzero"`
	// Windows of evidence in the session.
	EvidenceWindows int64 `json:"evidence_windows"`
	// Modalities that the evidence has.
	ModalitiesPresent []string `json:"modalities_present,omitzero"`
	// Why it was not accepted.
	ReasonCodes []string `json:"reason_codes,omitzero"`
	// Used, stored without weight, or refused.
	Status string `json:"status"`
}

// ExplainedRequirement: One requirement of the policy with its result.
type ExplainedRequirement struct {
	// What compensated for it if it was not met.
	CompensatedBy string `json:"compensated_by,omitzero"`
	// The decision that this requirement leads to; allow if it passed.
	Effect string `json:"effect"`
	// What was found.
	Found string `json:"found"`
	// Whether it is met or compensated.
	Passed bool `json:"passed"`
	// Name of the requirement, e.g. `coverage` or `claims.operator_continuity`.
	Requirement string `json:"requirement"`
	// Extension: of a rule, the details of the request that it read, and the sums of such that it compared. Without
	// values once they are past their retention.
	Shown []ShownDetail `json:"shown,omitzero"`
	// What the policy requires.
	Wanted string `json:"wanted"`
}

// FeatureFrameRequest: One frame of derived features. It never contains what was typed, shown or filmed.
type FeatureFrameRequest struct {
	// How long it covers.
	DurationMS float64 `json:"duration_ms"`
	// Derived features according to `feature_schema` in `/api/v1/meta`.
	Features map[string]any `json:"features"`
	// The collector's id of the frame. Each id counts once.
	FrameID string `json:"frame_id"`
	// What the frame is for.
	Purpose string `json:"purpose,omitzero"`
	// The pseudonymised vector may be stored for research if subject and deployment agree.
	ResearchOptin bool `json:"research_optin,omitzero"`
	// When the frame was closed (Unix seconds).
	Timestamp float64 `json:"timestamp"`
	// End of the window (Unix seconds).
	WindowEnd *float64 `json:"window_end,omitzero"`
	// Start of the window (Unix seconds).
	WindowStart *float64 `json:"window_start,omitzero"`
}

// HTTPValidationError: Every violation of a request that does not match the API contract.
type HTTPValidationError struct {
	// One item per violation.
	Detail []ValidationError `json:"detail"`
}

// HeldReview: A hold in the queue of reviewers.
type HeldReview struct {
	// The action's key.
	Action string `json:"action"`
	// Extension: whether an approval by it can count now. False also for a reviewer who belongs to none of the teams, who
	// may reject nevertheless.
	Approvable bool `json:"approvable,omitzero"`
	// Approvals given and required.
	Approvals ReviewApprovals `json:"approvals"`
	// Extension: the reviewer who has taken the hold; null if no one has.
	AssignedTo string `json:"assigned_to,omitzero"`
	// Id of the held authorization.
	Authorization string `json:"authorization"`
	// The details that a reviewer is shown; null for an action that shows none.
	Display *DisplayedDetails `json:"display,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	DueAt time.Time `json:"due_at"`
	// RFC 3339, UTC, with milliseconds.
	OpenedAt time.Time `json:"opened_at"`
	// Why it is held.
	ReasonCodes []string `json:"reason_codes"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RemindedAt *time.Time `json:"reminded_at"`
	// Status of a hold.
	ReviewStatus ReviewStatus `json:"review_status"`
	// Whether a review by the calling credential can count now.
	Reviewable bool `json:"reviewable"`
	// How much is at stake.
	RiskClass RiskClass `json:"risk_class"`
	// Whether the requester may review: barred by the policy or by the environment.
	SelfReview string `json:"self_review"`
	// Extension: the steps of the hold; omitted if it has none.
	Steps []HoldStep `json:"steps,omitzero"`
	// Id of the subject.
	Subject string `json:"subject"`
	// Extension: the teams that the hold, or its open step, requires; omitted if it requires none.
	Teams []WantedTeam `json:"teams,omitzero"`
	// The resolution that the calling credential has given so far.
	YourResolution string `json:"your_resolution,omitzero"`
}

// HoldDescriptor: What the person who waits for reviewers may be given.
type HoldDescriptor struct {
	// Opens the status page of the hold: for which team it waits, since when, until when, and its result. It shows no
	// details, amounts or names and changes nothing. It works until seven days after the hold has ended.
	StatusURL string `json:"status_url"`
}

// HoldStep: A step of a hold.
type HoldStep struct {
	// Approvals given and required.
	Approvals ReviewApprovals `json:"approvals"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	DueAt *time.Time `json:"due_at"`
	// Its name in the policy.
	Name string `json:"name"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	OpenedAt *time.Time `json:"opened_at"`
	// Whether it has its approvals, lacks some, or waits for the steps before it.
	State string `json:"state"`
}

// HumanReadable: The decision as text.
type HumanReadable struct {
	// One or two sentences.
	Detail string `json:"detail"`
	// A short heading.
	Status string `json:"status"`
}

// JWK: A public key for ES256.
type JWK struct {
	// The only algorithm.
	Alg string `json:"alg"`
	// Curve.
	Crv string `json:"crv"`
	// Key id.
	Kid string `json:"kid"`
	// Key type.
	Kty string `json:"kty"`
	// For signatures.
	Use string `json:"use,omitzero"`
	// X coordinate.
	X string `json:"x"`
	// Y coordinate.
	Y string `json:"y"`
}

// JWKSet: Public keys (RFC 7517).
type JWKSet struct {
	// Next, current and recently used keys.
	Keys []JWK `json:"keys"`
}

// KeyedCount: One part of a count.
type KeyedCount struct {
	// How many.
	Count int64 `json:"count"`
	// The metrics.
	Key string `json:"key"`
}

// LegacyAuth: A timing sample to compare.
type LegacyAuth struct {
	// Milliseconds.
	KeystrokeIntervals []float64 `json:"keystroke_intervals"`
	// Milliseconds.
	ReactionTimes []float64 `json:"reaction_times"`
	// Stable id of the user.
	UserID string `json:"user_id"`
}

// LegacyAuthResult: The result of the comparison.
type LegacyAuthResult struct {
	// 1 is the enrolled person.
	Confidence float64 `json:"confidence"`
	// What to do.
	Decision string `json:"decision"`
	// The environment of the response, for cross-checking.
	Mode LegacyMode `json:"mode"`
	// Whether the decision is accept.
	Ok bool `json:"ok"`
	// Why.
	ReasonCodes []string `json:"reason_codes"`
}

// LegacyEnrol: A timing sample of a user.
type LegacyEnrol struct {
	// Must be true, else `consent_required`.
	Consent bool `json:"consent,omitzero"`
	// Milliseconds.
	KeystrokeIntervals []float64 `json:"keystroke_intervals"`
	// Milliseconds.
	ReactionTimes []float64 `json:"reaction_times"`
	// Stable id of the user.
	UserID string `json:"user_id"`
}

// LegacyEnrolled: The sample is added.
type LegacyEnrolled struct {
	// Whether there are enough samples.
	Enrolled bool `json:"enrolled"`
	// The environment of the response, for cross-checking.
	Mode LegacyMode `json:"mode"`
	// Samples so far.
	Samples int64 `json:"samples"`
	// Id of the user.
	UserID string `json:"user_id"`
}

// LegacyFrame: A frame. Its features are in `features` or next to `ts`.
type LegacyFrame struct {
	// How long it covers.
	DurationMS *float64 `json:"duration_ms,omitzero"`
	// Derived features according to `feature_schema` in `/api/v1/meta`.
	Features map[string]any `json:"features,omitzero"`
	// What the frame is for.
	Purpose string `json:"purpose,omitzero"`
	// When the frame was closed (Unix milliseconds); it names the frame within its session.
	Ts int64 `json:"ts"`
}

// LegacyIngest: Frames of a session.
type LegacyIngest struct {
	// The frames.
	Frames []LegacyFrame `json:"frames"`
	// Id of the session.
	SessionID string `json:"session_id"`
}

// LegacyIngested: The result of the frames.
type LegacyIngested struct {
	// Frames that were accepted.
	Accepted int64 `json:"accepted"`
	// The environment of the response, for cross-checking.
	Mode LegacyMode `json:"mode"`
	// Frames that were rejected.
	Rejected int64 `json:"rejected"`
	// Trust in a session.
	State TrustState `json:"state"`
}

// LegacyMode: The environment of the response, for cross-checking.
type LegacyMode string

// The values of LegacyMode.
const (
	LegacyModeTest LegacyMode = "test"
	LegacyModeLive LegacyMode = "live"
)

// LegacySessionEnd: End a session.
type LegacySessionEnd struct {
	// Id of the session.
	SessionID string `json:"session_id"`
}

// LegacySessionEnded: The session's final trust record.
type LegacySessionEnded struct {
	// The environment of the response, for cross-checking.
	Mode LegacyMode `json:"mode"`
	// The last score.
	Score float64 `json:"score"`
	// Id of the session.
	SessionID string `json:"session_id"`
	// Trust in a session.
	State TrustState `json:"state"`
}

// LegacySessionStart: Start a continuous trust session after the user logged in.
type LegacySessionStart struct {
	// Stable id of the device.
	DeviceID string `json:"device_id"`
	// Stable id of the user.
	UserID string `json:"user_id"`
}

// LegacySessionStarted: The session has started.
type LegacySessionStarted struct {
	// The environment of the response, for cross-checking.
	Mode LegacyMode `json:"mode"`
	// Id of the session.
	SessionID string `json:"session_id"`
	// Trust in a session.
	State TrustState `json:"state"`
}

// LegacyTrust: The session's score and state.
type LegacyTrust struct {
	// The environment of the response, for cross-checking.
	Mode LegacyMode `json:"mode"`
	// Why.
	ReasonCodes []string `json:"reason_codes"`
	// 1 is the enrolled person.
	Score float64 `json:"score"`
	// Trust in a session.
	State TrustState `json:"state"`
}

// ManualReviewReceipt: The receipt of a review, by resolution.
type ManualReviewReceipt struct {
	// Id of the held authorization.
	Authorization string `json:"authorization"`
	// Extension: one person approved alone; omitted otherwise.
	BreakGlass bool `json:"break_glass,omitzero"`
	// One decision.
	Decision *AuthorizeResponse `json:"decision,omitzero"`
	// The outcome is recorded.
	Outcome *OutcomeReceipt `json:"outcome,omitzero"`
	// Rejected.
	Resolution string `json:"resolution"`
	// Extension: the requester is among the reviewers who approved; omitted otherwise. A live environment bars it unless
	// its settings say otherwise.
	SelfReviewed bool `json:"self_reviewed,omitzero"`
}

// ManualReviewRequest: A review of a hold.
type ManualReviewRequest struct {
	// Stored only as a digest, unless the environment stores notes. That of a break-glass is stored encrypted.
	Note string `json:"note,omitzero"`
	// Approve or reject. Extension: `break_glass` approves alone; it needs a note.
	Resolution string `json:"resolution"`
	// Extension: the step that the approval is for; 409 `conflict` if a different one is open. Without it, the open step;
	// from a reviewer who has approved an earlier step, a repetition of that approval.
	Step string `json:"step,omitzero"`
}

// Meta: The capabilities of this deployment.
type Meta struct {
	// Extension: the background models in use and their data.
	Backgrounds []Background `json:"backgrounds,omitzero"`
	// State of each capability.
	Capabilities map[string]CapabilityState `json:"capabilities"`
	// The claims and the statuses each can have.
	Claims []ClaimInfo `json:"claims"`
	// Version of this document.
	ContractVersion string `json:"contract_version"`
	// Extension: definitions of the metrics and checks of an evaluation's report.
	EvaluationMetrics []MetricDefinition `json:"evaluation_metrics,omitzero"`
	// The schema that frames of evidence follow.
	FeatureSchema map[string]any `json:"feature_schema"`
	// Trust states of the earlier endpoints.
	LegacyStates []string `json:"legacy_states"`
	// Limits of this deployment.
	Limits map[string]any `json:"limits"`
	// Modalities of evidence.
	Modalities []string `json:"modalities"`
	// The catalogue of reason codes.
	ReasonCodes []ReasonCode `json:"reason_codes"`
	// Name of the service.
	Service string `json:"service"`
	// Version of the build.
	Version string `json:"version"`
}

// MetricDefinition: Definition of a metric or check of an evaluation's report.
type MetricDefinition struct {
	// Its definition.
	Definition string `json:"definition"`
	// Kind of metric.
	Kind string `json:"kind"`
	// Its key in `metrics` or `checks`.
	Metric string `json:"metric"`
}

// Mode: `test`: decisions without proofs. `shadow`: decisions are recorded and have no effect. `enforce`: decisions
// take effect.
type Mode string

// The values of Mode.
const (
	ModeTest    Mode = "test"
	ModeShadow  Mode = "shadow"
	ModeEnforce Mode = "enforce"
)

// NamedApprover: The person whom a request names as an approver.
type NamedApprover struct {
	// `manager_of_requester` or a property such as `context.cost_centre_owner`, as the policy says.
	NamedBy string `json:"named_by"`
	// Id of the person who approves; null if members of `group` approve instead, and until the step opens.
	Person string `json:"person,omitzero"`
	// Reason code, if members of `group` approve instead; null otherwise.
	Reason string `json:"reason,omitzero"`
}

// NamedList: A list of values that rules read by `X in list("NAME")`. Values are compared without regard to case and
// white space.
type NamedList struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Who created it: a credential, a member of staff or a command.
	CreatedBy string `json:"created_by"`
	// What the list is for.
	Description string `json:"description"`
	// Number of its entries after the last change.
	Entries int64 `json:"entries"`
	// Id of the list.
	ID string `json:"id"`
	// What the entries are: whole values, countries of two letters, or beginnings of IBANs.
	Kind NamedListKind `json:"kind"`
	// Name of a list, unique in the environment: a lower-case letter, then lower-case letters, digits and underscores.
	Name string `json:"name"`
	// Whether its values are stored as keyed digests only.
	Personal bool `json:"personal"`
	// Number of the last change of its entries: 1 for a list that never had any. Decisions record it.
	Version int64 `json:"version"`
}

// NamedListAdded: A value to add.
type NamedListAdded struct {
	// When the value is no longer in the list; never if omitted.
	ExpiresAt *time.Time `json:"expires_at,omitzero"`
	// Why it is in the list. It is shown to staff, also of a personal list: do not repeat the value.
	Reason string `json:"reason"`
	// The value.
	Value string `json:"value"`
}

// NamedListChange: Entries to add and to remove.
type NamedListChange struct {
	// Values to add, each once.
	Add []NamedListAdded `json:"add,omitzero"`
	// Entries to remove.
	Remove []NamedListRemoved `json:"remove,omitzero"`
}

// NamedListCreate: A new list.
type NamedListCreate struct {
	// What the list is for.
	Description string `json:"description,omitzero"`
	// What the entries are: whole values, countries of two letters, or beginnings of IBANs.
	Kind NamedListKind `json:"kind"`
	// Name of a list, unique in the environment: a lower-case letter, then lower-case letters, digits and underscores.
	Name string `json:"name"`
	// Whether its values are about people; false if it is omitted. They are stored as keyed digests only, which cannot be
	// listed or exported, and compare whole values, so that the kind is text.
	Personal bool `json:"personal,omitzero"`
}

// NamedListEntry: A value of a list.
type NamedListEntry struct {
	// RFC 3339, UTC, with milliseconds.
	AddedAt time.Time `json:"added_at"`
	// Who added it, or changed it last: a credential, a member of staff or a command.
	AddedBy string `json:"added_by"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ExpiresAt *time.Time `json:"expires_at"`
	// Id of the entry. The explanation of a decision names it.
	ID string `json:"id"`
	// Why it is in the list.
	Reason string `json:"reason"`
	// The value as it was given; null in a personal list.
	Value string `json:"value,omitzero"`
}

// NamedListKind: What the entries are: whole values, countries of two letters, or beginnings of IBANs.
type NamedListKind string

// The values of NamedListKind.
const (
	NamedListKindText       NamedListKind = "text"
	NamedListKindCountry    NamedListKind = "country"
	NamedListKindIbanPrefix NamedListKind = "iban_prefix"
)

// NamedListRemoved: An entry to remove, by its id or by its value: exactly one of the two.
type NamedListRemoved struct {
	// Id of the entry.
	ID string `json:"id,omitzero"`
	// The value.
	Value string `json:"value,omitzero"`
}

// OpenAPIDocument: An OpenAPI 3.1 document.
type OpenAPIDocument struct {
	// Shared parts.
	Components map[string]any `json:"components,omitzero"`
	// About this document.
	Info map[string]any `json:"info"`
	// Version of OpenAPI.
	OpenAPI string `json:"openapi"`
	// The operations.
	Paths map[string]any `json:"paths"`
}

// OutcomeReceipt: The outcome is recorded.
type OutcomeReceipt struct {
	// Id of the authorization.
	Authorization string `json:"authorization"`
	// What was reported.
	Outcome string `json:"outcome"`
	// RFC 3339, UTC, with milliseconds.
	ReportedAt time.Time `json:"reported_at"`
}

// OutcomeReport: The outcome of the action.
type OutcomeReport struct {
	// Stored only as a digest.
	Note string `json:"note,omitzero"`
	// The outcome.
	Outcome string `json:"outcome"`
}

// Passkey: A registered passkey.
type Passkey struct {
	// Model of the authenticator.
	AAGUID string `json:"aaguid,omitzero"`
	// It is copied between devices.
	BackedUp bool `json:"backed_up,omitzero"`
	// It can be copied between devices.
	BackupEligible bool `json:"backup_eligible,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Id of the passkey.
	ID string `json:"id"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LastUsedAt *time.Time `json:"last_used_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RevokedAt *time.Time `json:"revoked_at,omitzero"`
	// The RP ID that it is bound to; null for the environment's own.
	RPID string `json:"rp_id,omitzero"`
	// How the authenticator can be reached.
	Transports []string `json:"transports,omitzero"`
}

// PasskeyAssertionOptions: The argument of `navigator.credentials.get`.
type PasskeyAssertionOptions struct {
	// Extension: the values that publicKey.challenge is the digest of, so that you can recompute it from what you show.
	Binding *ChallengeBinding `json:"binding,omitzero"`
	// WebAuthn Level 3, PublicKeyCredentialRequestOptionsJSON.
	PublicKey PublicKeyCredentialRequestOptionsJSON `json:"publicKey"`
}

// PasskeyAssertionOptionsRequest: Where the ceremony takes place.
type PasskeyAssertionOptionsRequest struct {
	// The RP ID of the page, one of the environment's. If omitted, its `rp_id` if the subject has a passkey of it, and
	// that of the newest passkey if not.
	RPID string `json:"rp_id,omitzero"`
}

// PasskeyImport: A passkey that another WebAuthn server registered under one of the environment's RP IDs.
type PasskeyImport struct {
	// Model of the authenticator.
	AAGUID string `json:"aaguid,omitzero"`
	// The signature counter last seen; 0 if the authenticator has none.
	Counter int64 `json:"counter"`
	// The credential's id, base64url.
	CredentialID string `json:"credential_id"`
	// Flags of the authenticator data at the registration, or of the newest assertion.
	Flags PasskeyImportFlags `json:"flags"`
	// Its public key as a COSE key, base64url.
	PublicKey string `json:"public_key"`
	// The RP ID that it is bound to, one of the environment's; its `rp_id` if omitted.
	RPID string `json:"rp_id,omitzero"`
	// How the authenticator can be reached.
	Transports []string `json:"transports,omitzero"`
}

// PasskeyImportFlags: Flags of the authenticator data at the registration, or of the newest assertion.
type PasskeyImportFlags struct {
	// It is copied between devices (BS).
	BackedUp bool `json:"backed_up"`
	// It can be copied between devices (BE). It never changes.
	BackupEligible bool `json:"backup_eligible"`
	// The user was verified (UV).
	UserVerified bool `json:"user_verified,omitzero"`
}

// PasskeyRegistered: The passkey is registered.
type PasskeyRegistered struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Id of the passkey.
	ID string `json:"id"`
}

// PasskeyRegistrationComplete: The passkey that the browser created.
type PasskeyRegistrationComplete struct {
	// WebAuthn Level 3, RegistrationResponseJSON, as `PublicKeyCredential.toJSON()` gives it.
	Credential RegistrationResponseJSON `json:"credential"`
	// The grant's token.
	RegistrationGrant string `json:"registration_grant"`
}

// PasskeyRegistrationGrant: A one-time permission to register a passkey.
type PasskeyRegistrationGrant struct {
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// Send it as `registration_grant`.
	Token string `json:"token"`
}

// PasskeyRegistrationOptions: The argument of `navigator.credentials.create`.
type PasskeyRegistrationOptions struct {
	// WebAuthn Level 3, PublicKeyCredentialCreationOptionsJSON.
	PublicKey PublicKeyCredentialCreationOptionsJSON `json:"publicKey"`
}

// PasskeyRegistrationOptionsRequest: Exchange a grant for registration options.
type PasskeyRegistrationOptionsRequest struct {
	// The grant's token.
	RegistrationGrant string `json:"registration_grant"`
	// Extension: the RP ID to bind the passkey to, one of the environment's; its `rp_id` if omitted.
	RPID string `json:"rp_id,omitzero"`
}

// PasskeyRules: The rules of passkeys beside `rp_id` and `origins` (`docs/passkeys.md`).
type PasskeyRules struct {
	// Models of authenticators that may be registered; empty permits all.
	Aaguids []string `json:"aaguids"`
	// Whether an authenticator must prove its model.
	Attestation string `json:"attestation"`
	// Certificates in PEM that an attestation must lead to.
	AttestationRoots []string `json:"attestation_roots"`
	// Origins of other sites that may use the passkeys.
	RelatedOrigins []string `json:"related_origins"`
	// Further RP IDs, in addition to `rp_id`.
	RPIDs []string `json:"rp_ids"`
}

// PasskeyRulesUpdate: Changes to the rules of passkeys. Omitted fields keep their value, an empty list removes the
// rule. Registered passkeys are kept; those of a removed RP ID cannot be used.
type PasskeyRulesUpdate struct {
	// Models of authenticators that may be registered. Without attestation the authenticator's own word is taken for it.
	Aaguids []string `json:"aaguids,omitzero"`
	// Required: an attestation must lead to one of `attestation_roots`.
	Attestation string `json:"attestation,omitzero"`
	// Certificates that an attestation must lead to, one in PEM each; of a manufacturer or of one model.
	AttestationRoots []string `json:"attestation_roots,omitzero"`
	// Origins of other sites that may use the passkeys: https. Browsers read them from
	// https://RP_ID/.well-known/webauthn.
	RelatedOrigins []string `json:"related_origins,omitzero"`
	// Further RP IDs: host names that the operator has given to the tenant; in a sandbox also `localhost` and names below
	// it. `origins` may be at or below each.
	RPIDs []string `json:"rp_ids,omitzero"`
}

// PasskeySummary: Summary of a passkey.
type PasskeySummary struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Id of the passkey.
	ID string `json:"id"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LastUsedAt *time.Time `json:"last_used_at"`
}

// Permission: One part of what a scope allows. Every operation that requires a server or admin key requires one of
// them.
type Permission string

// The values of Permission.
const (
	PermissionDecide         Permission = "decide"
	PermissionDecisionsRead  Permission = "decisions.read"
	PermissionProofsRead     Permission = "proofs.read"
	PermissionChallenges     Permission = "challenges"
	PermissionReview         Permission = "review"
	PermissionVerify         Permission = "verify"
	PermissionEvidence       Permission = "evidence"
	PermissionEnroll         Permission = "enroll"
	PermissionSubjects       Permission = "subjects"
	PermissionPasskeys       Permission = "passkeys"
	PermissionPolicyWrite    Permission = "policy.write"
	PermissionPolicyActivate Permission = "policy.activate"
	PermissionEvaluations    Permission = "evaluations"
	PermissionEvents         Permission = "events"
	PermissionConfigRead     Permission = "config.read"
	PermissionConfig         Permission = "config"
	PermissionWebhooks       Permission = "webhooks"
	PermissionCredentials    Permission = "credentials"
	PermissionAudit          Permission = "audit"
)

// PersonManager: A member of staff and their manager.
type PersonManager struct {
	// Id of the manager; null for none.
	Manager string `json:"manager,omitzero"`
	// Id of the member of staff.
	Person string `json:"person"`
}

// PersonManagerUpdate: Who manages a member of staff.
type PersonManagerUpdate struct {
	// Id of a member of staff with access who does not report to the person; null for no one.
	Manager string `json:"manager,omitzero"`
}

// PolicyAfterReview: Extension: the review that follows a break-glass.
type PolicyAfterReview struct {
	// How many others say whether it was justified.
	Approvals int64 `json:"approvals"`
	// The time for it. After it, no one can break the glass of the policy until the review is closed.
	WithinSeconds int64 `json:"within_seconds"`
}

// PolicyBreakGlass: Extension: a member of the team may approve a hold alone, with a note that says why. It satisfies
// nothing that denies, and is never for one's own request.
type PolicyBreakGlass struct {
	// Extension: the review that follows a break-glass.
	AfterReview PolicyAfterReview `json:"after_review"`
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Group string `json:"group"`
}

// PolicyRequirements: What a decision requires.
type PolicyRequirements struct {
	// Extension: requirements that a reviewer's approval of a hold satisfies, of those that a completed challenge can
	// satisfy. If omitted, all five. What it leaves out requires a challenge as well, before or after the hold: without
	// `explicit_approval`, the subject and a reviewer must both approve. Part of the content hash only if it is given.
	ApprovalCompensates []string `json:"approval_compensates,omitzero"`
	// Extension: how many distinct reviewers in good standing must approve a hold. Keys that one key issued count as that
	// key. Part of the content hash only if it is given.
	ApprovalsRequired int64 `json:"approvals_required,omitzero"`
	// Extension: who may approve a hold alone, at once; no one if omitted. Part of the content hash only if it is given.
	BreakGlass *PolicyBreakGlass `json:"break_glass,omitzero"`
	// Requirements that a completed challenge satisfies. If omitted, all four.
	ChallengeCompensates []string `json:"challenge_compensates,omitzero"`
	// Methods offered. If omitted: passkey, and sandbox_confirm in a sandbox.
	ChallengeMethods []ChallengeMethod `json:"challenge_methods,omitzero"`
	// Minimum status required per claim.
	Claims map[string]ClaimStatus `json:"claims,omitzero"`
	// Least coverage.
	CoverageMin string `json:"coverage_min,omitzero"`
	// Reason codes that force deny.
	DenyOn []string `json:"deny_on,omitzero"`
	// The subject must approve this very action.
	ExplicitApprovalRequired bool `json:"explicit_approval_required,omitzero"`
	// Greatest age in milliseconds of the evidence of each claim in `claims`, the oldest deciding; without a claim there,
	// of the newest evidence of any kind.
	FreshnessMaxMS int64 `json:"freshness_max_ms,omitzero"`
	// Reason codes that force hold.
	HoldOn []string `json:"hold_on,omitzero"`
	// Extension: which hours the times of a hold count: `within_seconds`, `after_seconds` and the time limit of the hold.
	// `working` needs the environment's `working_hours`, and takes them as they are when a step opens; without them all
	// hours count then. All if omitted. Part of the content hash only if it is given.
	Hours string `json:"hours,omitzero"`
	// The decision if the evidence is insufficient.
	InsufficientEvidence string `json:"insufficient_evidence,omitzero"`
	// Challenges in a chain of parents before the decision is hold.
	MaxChallenges int64 `json:"max_challenges,omitzero"`
	// Extension: models of authenticators whose passkeys complete a challenge of this policy; all if omitted
	// (`docs/passkeys.md`). Part of the content hash only if it is given.
	PasskeyAaguids []string `json:"passkey_aaguids,omitzero"`
	// Extension: whether one person may approve in several steps. Part of the content hash only if it is true.
	RepeatApprovers bool `json:"repeat_approvers,omitzero"`
	// Extension: whose approvals a hold requires: a list of teams, which is one step, or `steps`, one after the other.
	// All entries are needed, each approval by a different person; at most 5 in a step, those of rules included. Without
	// steps, further approvals up to `approvals_required` may be any reviewer's. Part of the content hash only if it is
	// given.
	Review any `json:"review,omitzero"`
	// Extension: requirements that apply to the requests that a condition matches (`docs/policies.md`). The stricter
	// value of each field wins. Part of the content hash only if a rule is given.
	Rules []PolicyRule `json:"rules,omitzero"`
	// Extension: whether the requesting credential, its issuer, or a key of the same issuer may review its own hold. Part
	// of the content hash only if it is given.
	SelfReview string `json:"self_review,omitzero"`
	// Extension: which standing approvals may be given; none if omitted. Part of the content hash only if it is given.
	Standing *PolicyStanding `json:"standing,omitzero"`
}

// PolicyRule: Extension: requirements that apply if a condition is true of a request. They never make a decision
// looser.
type PolicyRule struct {
	// Its name in explanations; unique in the policy.
	Name string `json:"name"`
	// Why the rule exists; shown in the explanation.
	Reason string `json:"reason"`
	// Extension: the requirements that a rule adds, at least one. An omitted field adds none.
	Requirements PolicyRuleRequirements `json:"requirements"`
	// Whether the sums and numbers of values in the condition hold while decisions are made at the same time. They then
	// count what is allowed and what may still be allowed.
	Reserve bool `json:"reserve,omitzero"`
	// A condition in the Common Expression Language (CEL), checked against `context_schema` when the version is created.
	When string `json:"when"`
}

// PolicyRuleRequirements: Extension: the requirements that a rule adds, at least one. An omitted field adds none.
type PolicyRuleRequirements struct {
	// Requirements that a reviewer's approval satisfies; those that the policy lists as well remain.
	ApprovalCompensates []string `json:"approval_compensates,omitzero"`
	// How many distinct reviewers must approve a hold.
	ApprovalsRequired int64 `json:"approvals_required,omitzero"`
	// Requirements that a completed challenge satisfies; those that the policy lists as well remain.
	ChallengeCompensates []string `json:"challenge_compensates,omitzero"`
	// Methods offered; those that the policy offers as well remain.
	ChallengeMethods []ChallengeMethod `json:"challenge_methods,omitzero"`
	// Minimum status required per claim.
	Claims map[string]ClaimStatus `json:"claims,omitzero"`
	// Least coverage.
	CoverageMin string `json:"coverage_min,omitzero"`
	// Further reason codes that force deny. `rule_matched` denies whatever the rule matches.
	DenyOn []string `json:"deny_on,omitzero"`
	// The subject must approve this very action.
	ExplicitApprovalRequired bool `json:"explicit_approval_required,omitzero"`
	// Greatest age of the evidence in milliseconds.
	FreshnessMaxMS int64 `json:"freshness_max_ms,omitzero"`
	// Further reason codes that force hold. `rule_matched` holds whatever the rule matches.
	HoldOn []string `json:"hold_on,omitzero"`
	// The decision if the evidence is insufficient.
	InsufficientEvidence string `json:"insufficient_evidence,omitzero"`
	// Challenges in a chain of parents before the decision is hold.
	MaxChallenges int64 `json:"max_challenges,omitzero"`
	// Approvals of teams, or steps with approvals. Of a team that the policy lists as well, the higher number applies,
	// and an escalation only if both have it. A step of the same name takes the stricter of both; others are added.
	Review any `json:"review,omitzero"`
	// Whether the requesting credential may review its own hold.
	SelfReview string `json:"self_review,omitzero"`
}

// PolicySimulation: The result of a simulation. Nothing is changed.
type PolicySimulation struct {
	// Id of the action.
	Action string `json:"action"`
	// Simulated decisions by decision.
	After map[string]int64 `json:"after"`
	// Stored decisions by decision.
	Before map[string]int64 `json:"before"`
	// Decisions that would have been different.
	Changed int64 `json:"changed"`
	// Stored decisions that were re-evaluated, without those of `not_decidable`.
	Decisions int64 `json:"decisions"`
	// Extension: the lists that the rules read. They were read as they are now, and not as they were when the decisions
	// were made.
	Lists []SimulatedList `json:"lists,omitzero"`
	// Extension: the decisions that would have been different, newest first, at most `list`.
	Moves []SimulatedMove `json:"moves,omitzero"`
	// Extension: stored decisions that were not re-evaluated, because a rule depends on a value that is not stored.
	// Nothing is assumed about them.
	NotDecidable *int64 `json:"not_decidable,omitzero"`
	// Frequency of each reason code before and after.
	Reasons []SimulatedReason `json:"reasons"`
	// Number of changed decisions by old and new decision.
	Transitions []SimulatedTransition `json:"transitions"`
	// Extension: the decisions of `not_decidable`, newest first, at most `list`.
	Undecided []SimulatedUndecided `json:"undecided,omitzero"`
	// The version that was simulated.
	Version int64 `json:"version"`
}

// PolicySimulationRequest: The stored decisions of the action to re-evaluate under this version.
type PolicySimulationRequest struct {
	// The newest decisions to replay.
	Last int64 `json:"last,omitzero"`
	// Extension: how many decisions `moves` and `undecided` list at most, each, newest first. To read on, set `until` to
	// the `decided_at` of the last one.
	List *int64 `json:"list,omitzero"`
	// Only entries at or after this time.
	Since *time.Time `json:"since,omitzero"`
	// Only entries before this time.
	Until *time.Time `json:"until,omitzero"`
}

// PolicyStanding: Extension: an approval given once may allow several requests. One by the subject satisfies
// `explicit_approval_required`; one by reviewers satisfies `hold_on`, `insufficient_evidence: hold`, and the subject's
// approval if `approval_compensates` lists it. Nothing that denies is satisfied, nor what evidence shows of automation
// or replay.
type PolicyStanding struct {
	// Whether one names the agent that may use it: the value of the property marked `x-countersign-agent`. If omitted,
	// `any`.
	Agent string `json:"agent,omitzero"`
	// Who may give one.
	By []string `json:"by"`
	// Extension: all uses of a standing approval together come to at most an amount, which it states.
	MaxAmount *PolicyStandingAmount `json:"max_amount,omitzero"`
	// The longest time of one.
	MaxDurationSeconds int64 `json:"max_duration_seconds"`
	// The most uses of one.
	MaxUses int64 `json:"max_uses"`
	// On which resources one allows the action: the one that is approved, any, or those whose id has a prefix.
	Resource any `json:"resource,omitzero"`
}

// PolicyStandingAmount: Extension: all uses of a standing approval together come to at most an amount, which it
// states.
type PolicyStandingAmount struct {
	// The property of the context, marked `x-countersign-aggregate: sum`.
	Field string `json:"field"`
	// The highest amount that one may state, a decimal.
	Limit string `json:"limit"`
}

// PolicyStandingPrefix: Extension: the ids of resources that a standing approval covers.
type PolicyStandingPrefix struct {
	// What the ids begin with.
	Prefix string `json:"prefix"`
}

// PolicyVersion: One immutable decision contract of an action.
type PolicyVersion struct {
	// Id of the action.
	Action string `json:"action"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ActivatedAt *time.Time `json:"activated_at,omitzero"`
	// Audiences permitted to receive proofs.
	AllowedAudiences []string `json:"allowed_audiences"`
	// Credential ids permitted to authorize.
	AllowedCallers []string `json:"allowed_callers"`
	// SHA-256 over RFC 8785 canonical JSON.
	ContentHash string `json:"content_hash"`
	// JSON Schema of the `context` of authorize requests.
	ContextSchema map[string]any `json:"context_schema"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Id of the version.
	ID string `json:"id"`
	// How long a proof is valid (seconds).
	ProofTTLSeconds int64 `json:"proof_ttl_seconds"`
	// Extension: why the version was made; empty if no one said.
	Reason string `json:"reason,omitzero"`
	// What a decision requires.
	Requirements PolicyRequirements `json:"requirements"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RetiredAt *time.Time `json:"retired_at,omitzero"`
	// Status.
	Status string `json:"status"`
	// Its number: 1, 2, 3 and so on per action.
	Version int64 `json:"version"`
	// Extension: hints about a version that was just created. It can be activated nevertheless. Absent if there is none,
	// and in every other response.
	Warnings []PolicyWarning `json:"warnings,omitzero"`
}

// PolicyVersionCreate: One immutable decision contract. Omitted or null fields are copied from the active version, or
// from the action if there is none.
type PolicyVersionCreate struct {
	// Audiences permitted to receive proofs.
	AllowedAudiences []string `json:"allowed_audiences,omitzero"`
	// Credential ids permitted to authorize.
	AllowedCallers []string `json:"allowed_callers,omitzero"`
	// JSON Schema of the `context` of authorize requests.
	ContextSchema map[string]any `json:"context_schema,omitzero"`
	// How long a proof is valid (seconds).
	ProofTTLSeconds *int64 `json:"proof_ttl_seconds,omitzero"`
	// Extension: why the version is made, for the people who approve it or look back at it; it may have several lines.
	Reason string `json:"reason,omitzero"`
	// What a decision requires.
	Requirements PolicyRequirements `json:"requirements"`
}

// PolicyWarning: Extension: a hint about a policy that is valid, but may not decide as its author expects.
type PolicyWarning struct {
	// Stable code, such as `replay_without_effect`, `automation_without_effect`, `approval_replaces_passkey` and
	// `missing_skips_rule`; more may be added.
	Code string `json:"code"`
	// Place in the request, as in an item of a 422 response; an index is text.
	Loc []string `json:"loc"`
	// What does not decide as expected, and how to change it.
	Message string `json:"message"`
}

// Problem: A problem document (RFC 9457). `code` is stable.
type Problem struct {
	// Stable name of the problem.
	Code string `json:"code"`
	// One sentence for the caller.
	Detail string `json:"detail"`
	// The id to quote to support.
	RequestID string `json:"request_id"`
	// The HTTP status.
	Status int64 `json:"status"`
	// The kind of problem.
	Title string `json:"title"`
	// Path of the documentation of the code.
	Type string `json:"type"`
}

// ProofClaims: The claims of a Proof of Agency.
type ProofClaims struct {
	// The action: key, hash, policy_version, content_hash.
	Act map[string]any `json:"act,omitzero"`
	// The methods behind the decision: behaviour, passkey, sandbox_confirm, review, break_glass, standing.
	Amr []string `json:"amr,omitzero"`
	// Coverage, freshness_ms and claims at the decision.
	Assurance map[string]any `json:"assurance,omitzero"`
	// The audience.
	Aud string `json:"aud"`
	// Id of the authorization.
	Azn string `json:"azn,omitzero"`
	// Digest of the context.
	Ctx string `json:"ctx,omitzero"`
	// Id of the environment.
	Env string `json:"env,omitzero"`
	// Kind of the environment.
	EnvKind string `json:"env_kind,omitzero"`
	// Expires at (Unix seconds).
	Exp float64 `json:"exp"`
	// Extension: id of the standing approval that allowed the action; omitted if none did.
	Grant string `json:"grant,omitzero"`
	// Issued at (Unix seconds).
	Iat float64 `json:"iat"`
	// The issuer.
	Iss string `json:"iss"`
	// Its id.
	JTI string `json:"jti"`
	// The action's mode.
	Mode string `json:"mode,omitzero"`
	// Not before (Unix seconds).
	Nbf float64 `json:"nbf"`
	// The nonce of the authorize request.
	Nonce string `json:"nonce,omitzero"`
	// The resource: type, digest.
	Res map[string]any `json:"res,omitzero"`
	// Id of the subject.
	Sub string `json:"sub"`
}

// ProofState: Status of a proof; `unknown` if the jti is not recognised.
type ProofState string

// The values of ProofState.
const (
	ProofStateActive   ProofState = "active"
	ProofStateConsumed ProofState = "consumed"
	ProofStateRevoked  ProofState = "revoked"
	ProofStateExpired  ProofState = "expired"
	ProofStateUnknown  ProofState = "unknown"
)

// ProofStatus: The status of a proof.
type ProofStatus struct {
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ExpiresAt *time.Time `json:"expires_at,omitzero"`
	// The proof's `jti`.
	JTI string `json:"jti"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RevokedAt *time.Time `json:"revoked_at,omitzero"`
	// Status of a proof; `unknown` if the jti is not recognised.
	Status ProofState `json:"status"`
}

// ProofTrace: A proof in the record of an authorization.
type ProofTrace struct {
	// The compact JWS while the proof is active, if the key requested the decision itself or has the permission
	// `proofs.read`. It is null in lists.
	Compact string `json:"compact,omitzero"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ExpiresAt *time.Time `json:"expires_at,omitzero"`
	// The proof's `jti`.
	ID string `json:"id"`
	// Status.
	Status string `json:"status"`
}

// ProofVerification: The result of the verification.
type ProofVerification struct {
	// The proof's claims; null if it cannot be parsed.
	Claims *ProofClaims `json:"claims,omitzero"`
	// Why it is not valid.
	ReasonCodes []string `json:"reason_codes"`
	// Status of a proof; `unknown` if the jti is not recognised.
	Status ProofState `json:"status"`
	// What the request did not give, so that it was not compared with the proof: compare `sub` or `ctx` of the claims
	// yourself before you act.
	Unchecked []string `json:"unchecked,omitzero"`
	// Whether the proof is authentic, not expired, and matches the expected values.
	Valid bool `json:"valid"`
}

// ProofVerifyRequest: A proof and its expected values.
type ProofVerifyRequest struct {
	// The expected action key.
	Action string `json:"action,omitzero"`
	// The expected audience.
	Audience string `json:"audience,omitzero"`
	// Consumes the proof. Of concurrent callers exactly one succeeds.
	Consume bool `json:"consume,omitzero"`
	// The details of the action as it is about to be performed, in full, or `{}` if it has none. A proof for different
	// details, such as another amount, is not valid.
	Context map[string]any `json:"context,omitzero"`
	// The expected nonce.
	Nonce string `json:"nonce,omitzero"`
	// The compact JWS.
	Proof string `json:"proof"`
	// The resource of the action.
	Resource *Resource `json:"resource,omitzero"`
	// The expected id of the subject.
	Subject string `json:"subject,omitzero"`
}

// ProtectedAction: An action that needs an authorization before it may be performed.
type ProtectedAction struct {
	// The version that decides; null before the first activation.
	ActivePolicyVersion *int64 `json:"active_policy_version,omitzero"`
	// Relying-party audiences permitted to receive proofs.
	AllowedAudiences []string `json:"allowed_audiences"`
	// Credential ids permitted to authorize; empty permits any server credential of the environment.
	AllowedCallers []string `json:"allowed_callers"`
	// What happens if the wrong person performs it.
	Consequence string `json:"consequence"`
	// JSON Schema of the `context` of authorize requests.
	ContextSchema map[string]any `json:"context_schema"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Id of the environment it belongs to.
	Environment string `json:"environment"`
	// The action's id.
	ID string `json:"id"`
	// Its dotted lower-case key.
	Key string `json:"key"`
	// Extension: name and consequence in other languages, by language tag. Left out if none were given.
	Labels map[string]ActionText `json:"labels,omitzero"`
	// `test`: decisions without proofs. `shadow`: decisions are recorded and have no effect. `enforce`: decisions take
	// effect.
	Mode Mode `json:"mode"`
	// Display name.
	Name string `json:"name"`
	// How long a proof is valid (seconds).
	ProofTTLSeconds int64 `json:"proof_ttl_seconds"`
	// The type of resource it acts on.
	ResourceType string `json:"resource_type"`
	// How much is at stake.
	RiskClass RiskClass `json:"risk_class"`
	// RFC 3339, UTC, with milliseconds.
	UpdatedAt time.Time `json:"updated_at"`
}

// PublicKeyCredentialCreationOptionsJSON: WebAuthn Level 3, PublicKeyCredentialCreationOptionsJSON.
type PublicKeyCredentialCreationOptionsJSON struct {
	// Base64url.
	Challenge string `json:"challenge"`
	// Accepted algorithms.
	PubKeyCredParams []map[string]any `json:"pubKeyCredParams"`
	// The relying party.
	RP map[string]any `json:"rp"`
	// The user handle and names.
	User map[string]any `json:"user"`
}

// PublicKeyCredentialRequestOptionsJSON: WebAuthn Level 3, PublicKeyCredentialRequestOptionsJSON.
type PublicKeyCredentialRequestOptionsJSON struct {
	// The subject's passkeys.
	AllowCredentials []map[string]any `json:"allowCredentials,omitzero"`
	// Base64url.
	Challenge string `json:"challenge"`
	// The relying party's id.
	RpId string `json:"rpId,omitzero"`
	// Always required.
	UserVerification string `json:"userVerification,omitzero"`
}

// Reason: An optional reason, stored in the audit log.
type Reason struct {
	// Why.
	Reason string `json:"reason,omitzero"`
}

// ReasonCode: One entry of the catalogue.
type ReasonCode struct {
	// The code.
	Code string `json:"code"`
	// Meaning of the code.
	Description string `json:"description"`
	// Kind of reason.
	Kind string `json:"kind"`
	// What to do about it.
	Remedy string `json:"remedy"`
}

// Recovery: A recovery of a subject.
type Recovery struct {
	// The evidence for the person's identity.
	Anchor string `json:"anchor"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ExpiresAt *time.Time `json:"expires_at"`
	// Id of the recovery.
	ID string `json:"id"`
	// What limits later assessments.
	Limitations []string `json:"limitations"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ReadyAt *time.Time `json:"ready_at"`
	// Extension: the relying party's reference to the case; omitted if there is none.
	Reference string `json:"reference,omitzero"`
	// Status.
	Status string `json:"status"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// RecoveryBegin: Resets a subject whose template can no longer be trusted.
type RecoveryBegin struct {
	// The evidence for the person's identity.
	Anchor string `json:"anchor"`
	// The relying party's reference to that evidence; required for every anchor except none.
	AnchorEvidenceRef string `json:"anchor_evidence_ref,omitzero"`
	// Extension: the relying party's reference to the case, such as a ticket. It is stored as it is; it should not name
	// the person.
	Reference string `json:"reference,omitzero"`
}

// RefusedSession: A session that an enrollment did not use.
type RefusedSession struct {
	// Reason code.
	Reason string `json:"reason"`
	// Id of the session.
	Session string `json:"session"`
}

// RegistrationResponseJSON: WebAuthn Level 3, RegistrationResponseJSON, as `PublicKeyCredential.toJSON()` gives it.
type RegistrationResponseJSON struct {
	// Credential id.
	ID string `json:"id,omitzero"`
	// Credential id in base64url.
	RawId string `json:"rawId,omitzero"`
	// clientDataJSON, attestationObject, transports.
	Response map[string]any `json:"response,omitzero"`
	// public-key.
	Type string `json:"type,omitzero"`
}

// RelatedOrigins: The sites that may use the passkeys of a host (WebAuthn Level 3, section 5.11).
type RelatedOrigins struct {
	// Their origins.
	Origins []string `json:"origins"`
}

// ResearchConsentRecord: The recorded consent.
type ResearchConsentRecord struct {
	// Whether the subject consented.
	Consented bool `json:"consented"`
	// RFC 3339, UTC, with milliseconds.
	RecordedAt time.Time `json:"recorded_at"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// ResearchConsentRequest: The subject's consent to research use.
type ResearchConsentRequest struct {
	// Whether vectors may be stored for research.
	Consented bool `json:"consented"`
}

// Resource: The resource of the action.
type Resource struct {
	// The relying party's id of the resource.
	ID string `json:"id"`
	// Must be the action's `resource_type`.
	Type string `json:"type"`
}

// ReviewApprovals: Approvals given and required.
type ReviewApprovals struct {
	// Distinct approvals so far.
	Given int64 `json:"given"`
	// Distinct approvals needed.
	Required int64 `json:"required"`
}

// ReviewApprovedReceipt: The hold is approved; `decision` is the follow-up decision.
type ReviewApprovedReceipt struct {
	// Id of the held authorization.
	Authorization string `json:"authorization"`
	// Extension: one person approved alone; omitted otherwise.
	BreakGlass bool `json:"break_glass,omitzero"`
	// One decision.
	Decision AuthorizeResponse `json:"decision"`
	// Approved.
	Resolution string `json:"resolution"`
	// Extension: the requester is among the reviewers who approved; omitted otherwise. A live environment bars it unless
	// its settings say otherwise.
	SelfReviewed bool `json:"self_reviewed,omitzero"`
}

// ReviewAssign: Whom the hold is taken from.
type ReviewAssign struct {
	// The reviewer who has the hold, as `assigned_to` shows; omitted for a hold that no one has.
	Previous string `json:"previous,omitzero"`
}

// ReviewAssignment: Who works on a hold.
type ReviewAssignment struct {
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	AssignedAt *time.Time `json:"assigned_at"`
	// The reviewer; null if no one has taken it.
	AssignedTo string `json:"assigned_to,omitzero"`
	// Id of the held authorization.
	Authorization string `json:"authorization"`
}

// ReviewCounts: Counts of pending holds.
type ReviewCounts struct {
	// RFC 3339, UTC, with milliseconds.
	AsOf time.Time `json:"as_of"`
	// The pending holds by action key, most first, at most 200 actions.
	ByAction []KeyedCount `json:"by_action"`
	// The pending holds by the risk class of their action.
	ByRiskClass []KeyedCount `json:"by_risk_class"`
	// Pending holds by remaining time. Each is counted once.
	Due ReviewsDue `json:"due"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	NextDueAt *time.Time `json:"next_due_at"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	OldestOpenedAt *time.Time `json:"oldest_opened_at"`
	// Holds that have some of their approvals.
	PartlyApproved int64 `json:"partly_approved"`
	// Holds that can be reviewed.
	Pending int64 `json:"pending"`
	// Holds for which a reminder was sent after half of their time.
	Reminded int64 `json:"reminded"`
}

// ReviewEntry: Extension: approvals of a step: of members of a team, of a person whom the request names, or, with
// neither `group` nor `approver`, of any reviewer.
type ReviewEntry struct {
	// How many must approve; 1 if omitted.
	Approvals int64 `json:"approvals,omitzero"`
	// The one person who approves: `manager_of_requester`, or `context.` and a property that the context_schema marks
	// with `x-countersign-approver`. The person is fixed when the step opens.
	Approver string `json:"approver,omitzero"`
	// Extension: from some time after the opening of the hold on, members of a second team may give the approvals as
	// well. It approves nothing.
	Escalate *ReviewEscalation `json:"escalate,omitzero"`
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Fallback string `json:"fallback,omitzero"`
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Group string `json:"group,omitzero"`
}

// ReviewEscalation: Extension: from some time after the opening of the hold on, members of a second team may give the
// approvals as well. It approves nothing.
type ReviewEscalation struct {
	// Seconds from the opening of the hold.
	AfterSeconds int64 `json:"after_seconds"`
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Group string `json:"group"`
}

// ReviewPending: The review is recorded and the hold is still pending, for further approvals or for its workflow to
// finish.
type ReviewPending struct {
	// Approvals given and required.
	Approvals ReviewApprovals `json:"approvals"`
	// Id of the held authorization.
	Authorization string `json:"authorization"`
	// The requested resolution.
	Resolution string `json:"resolution"`
	// Status of a hold.
	ReviewStatus ReviewStatus `json:"review_status"`
	// Extension: the steps of the hold; omitted if it has none.
	Steps []HoldStep `json:"steps,omitzero"`
	// The teams that the hold, or its open step, requires; omitted if it requires none.
	Teams []WantedTeam `json:"teams,omitzero"`
}

// ReviewRejectedReceipt: The hold is rejected.
type ReviewRejectedReceipt struct {
	// Id of the held authorization.
	Authorization string `json:"authorization"`
	// The outcome is recorded.
	Outcome OutcomeReceipt `json:"outcome"`
	// Rejected.
	Resolution string `json:"resolution"`
}

// ReviewStatus: Status of a hold.
type ReviewStatus string

// The values of ReviewStatus.
const (
	ReviewStatusPending   ReviewStatus = "pending"
	ReviewStatusApproved  ReviewStatus = "approved"
	ReviewStatusRejected  ReviewStatus = "rejected"
	ReviewStatusExpired   ReviewStatus = "expired"
	ReviewStatusWithdrawn ReviewStatus = "withdrawn"
)

// ReviewStep: Extension: one step of a review.
type ReviewStep struct {
	// All of them are needed, each approval by a different person; at most 5 approvals.
	Entries []ReviewEntry `json:"entries"`
	// Its name; unique in the policy.
	Name string `json:"name"`
	// What follows if the step lacks approvals then: the hold expires (`expire`, also if omitted), or members of a team
	// may give them as well.
	OnTimeout any `json:"on_timeout,omitzero"`
	// Time for the step from its opening. If omitted, as long as the hold waits.
	WithinSeconds int64 `json:"within_seconds,omitzero"`
}

// ReviewSteps: Extension: the steps of a review. A step opens when the previous one has its approvals; one rejection
// in any step rejects the hold.
type ReviewSteps struct {
	// In their order. Steps that rules add keep the order in which they are listed.
	Steps []ReviewStep `json:"steps"`
}

// ReviewTimeout: Extension: the team that may approve a step as well once its time is over.
type ReviewTimeout struct {
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Group string `json:"group"`
}

// ReviewWithdrawal: The request is withdrawn.
type ReviewWithdrawal struct {
	// Id of the authorization.
	Authorization string `json:"authorization"`
	// Status of the hold.
	ReviewStatus string `json:"review_status"`
	// RFC 3339, UTC, with milliseconds.
	WithdrawnAt time.Time `json:"withdrawn_at"`
}

// ReviewsDue: Pending holds by remaining time. Each is counted once.
type ReviewsDue struct {
	// Due later.
	Later int64 `json:"later"`
	// Due within an hour.
	Within1h int64 `json:"within_1h"`
	// Due within 24 hours but not within one.
	Within24h int64 `json:"within_24h"`
}

// RiskClass: How much is at stake.
type RiskClass string

// The values of RiskClass.
const (
	RiskClassLow      RiskClass = "low"
	RiskClassElevated RiskClass = "elevated"
	RiskClassHigh     RiskClass = "high"
	RiskClassCritical RiskClass = "critical"
)

// RotateRequest: How long the old secret remains valid.
type RotateRequest struct {
	// Seconds of overlap.
	OverlapSeconds *int64 `json:"overlap_seconds,omitzero"`
}

// Session: An observation session.
type Session struct {
	// Templates of one class of device are never compared with another.
	DeviceClass DeviceClass `json:"device_class"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	EndedAt *time.Time `json:"ended_at"`
	// Id of the environment.
	Environment string `json:"environment"`
	// Id of the session.
	ID string `json:"id"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LastEvidenceAt *time.Time `json:"last_evidence_at"`
	// RFC 3339, UTC, with milliseconds.
	StartedAt time.Time `json:"started_at"`
	// Whether a session accepts evidence. It expires after 30 idle minutes.
	Status SessionState `json:"status"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// SessionCreate: A new observation session.
type SessionCreate struct {
	// The person's device.
	DeviceClass string `json:"device_class,omitzero"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// SessionState: Whether a session accepts evidence. It expires after 30 idle minutes.
type SessionState string

// The values of SessionState.
const (
	SessionStateActive  SessionState = "active"
	SessionStateEnded   SessionState = "ended"
	SessionStateExpired SessionState = "expired"
)

// SessionStatus: A session and how much evidence it has.
type SessionStatus struct {
	// Seconds of activity.
	ActiveSeconds float64 `json:"active_seconds"`
	// How much evidence there is.
	Coverage Coverage `json:"coverage"`
	// Templates of one class of device are never compared with another.
	DeviceClass DeviceClass `json:"device_class"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	EndedAt *time.Time `json:"ended_at"`
	// Whether there is enough evidence to complete an enrollment.
	EnrollmentReady bool `json:"enrollment_ready"`
	// Id of the environment.
	Environment string `json:"environment"`
	// Windows of evidence.
	EvidenceWindows int64 `json:"evidence_windows"`
	// Id of the session.
	ID string `json:"id"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	LastEvidenceAt *time.Time `json:"last_evidence_at"`
	// Modalities that the evidence has.
	ModalitiesPresent []string `json:"modalities_present"`
	// RFC 3339, UTC, with milliseconds.
	StartedAt time.Time `json:"started_at"`
	// Whether a session accepts evidence. It expires after 30 idle minutes.
	Status SessionState `json:"status"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// ShownDetail: A detail of the request that the user is shown.
type ShownDetail struct {
	// Its label.
	Label string `json:"label"`
	// Its value as it was shown; omitted once it is past its retention.
	Value string `json:"value,omitzero"`
}

// SigningKey: A proof-signing key of the environment. The private half never leaves the service.
type SigningKey struct {
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	ActivatedAt *time.Time `json:"activated_at"`
	// The algorithm.
	Alg string `json:"alg"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Key id.
	Kid string `json:"kid"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RetiresAt *time.Time `json:"retires_at"`
	// `next` is published before its first use, `active` signs, `retiring` verifies until its last proof expires,
	// `retired` is removed.
	Status string `json:"status"`
}

// SimulatedList: A list that the rules of a simulated version read.
type SimulatedList struct {
	// Name of the list.
	Name string `json:"name"`
	// The version of the list now.
	Version int64 `json:"version"`
}

// SimulatedMove: A decision that would have been different.
type SimulatedMove struct {
	// Id of the authorization.
	Authorization string `json:"authorization"`
	// When it was decided.
	DecidedAt time.Time `json:"decided_at"`
	// What the relying party should do.
	From Decision `json:"from"`
	// Names of the rules that apply under the simulated version.
	Rules []string `json:"rules"`
	// What the relying party should do.
	To Decision `json:"to"`
}

// SimulatedReason: Frequency of a reason code before and after.
type SimulatedReason struct {
	// Simulated decisions with it.
	After int64 `json:"after"`
	// Stored decisions with it.
	Before int64 `json:"before"`
	// The reason code.
	Code string `json:"code"`
}

// SimulatedTransition: Decisions that would have changed from one decision to another.
type SimulatedTransition struct {
	// How many.
	Count int64 `json:"count"`
	// What the relying party should do.
	From Decision `json:"from"`
	// What the relying party should do.
	To Decision `json:"to"`
}

// SimulatedUndecided: A decision that a rule could change depending on a value that is not stored.
type SimulatedUndecided struct {
	// Id of the authorization.
	Authorization string `json:"authorization"`
	// When it was decided.
	DecidedAt time.Time `json:"decided_at"`
	// What the relying party should do.
	Decision Decision `json:"decision"`
	// The rules of which it is not known whether they apply.
	Rules []SimulatedUndecidedRule `json:"rules"`
}

// SimulatedUndecidedRule: A rule with the values that it reads and that are not stored.
type SimulatedUndecidedRule struct {
	// Name of the rule, or `standing_approval` for the standing approval that the decision used.
	Rule string `json:"rule"`
	// The values, as its condition writes them.
	Unknown []string `json:"unknown"`
}

// StandingAmount: The most that all uses of a standing approval together may come to.
type StandingAmount struct {
	// A decimal.
	Amount string `json:"amount"`
	// Its currency; null for an amount without one.
	Currency string `json:"currency,omitzero"`
}

// StandingApproval: An approval that allows several requests.
type StandingApproval struct {
	// The action's key.
	Action string `json:"action"`
	// The agent that may use it; null for any.
	Agent string `json:"agent,omitzero"`
	// What they come to; null without a limit.
	AmountUsed string `json:"amount_used,omitzero"`
	// Who receives the proofs.
	Audience string `json:"audience"`
	// The newest decision about its approval.
	Authorization string `json:"authorization"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	BegunAt *time.Time `json:"begun_at"`
	// Who gives it.
	By string `json:"by"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Who asked for it.
	CreatedBy string `json:"created_by"`
	// Why it has ended, such as `revoked`, `expired`, `policy_version_retired` or `passkey_revoked`.
	EndReason string `json:"end_reason,omitzero"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	EndedAt *time.Time `json:"ended_at"`
	// Who ended it.
	EndedBy string `json:"ended_by,omitzero"`
	// RFC 3339, UTC, with milliseconds.
	EndsAt time.Time `json:"ends_at"`
	// Its id.
	ID string `json:"id"`
	// What all uses together may come to; null without a limit.
	MaxAmount *StandingAmount `json:"max_amount,omitzero"`
	// How often it may be used.
	MaxUses int64 `json:"max_uses"`
	// The version that permits it. It ends when another is activated.
	PolicyVersion int64 `json:"policy_version"`
	// On which resources a standing approval allows the action.
	Resource StandingResource `json:"resource"`
	// What it allows, as the person who approves reads it.
	Sentence string `json:"sentence"`
	// `pending` while its challenge or hold is open.
	Status string `json:"status"`
	// Id of the subject.
	Subject string `json:"subject"`
	// How often it was used.
	Uses int64 `json:"uses"`
}

// StandingApprovalCreate: A request for a standing approval, within what the policy permits.
type StandingApprovalCreate struct {
	// The action's key.
	Action string `json:"action"`
	// The agent that may use it, as the property marked `x-countersign-agent` names it; any if omitted.
	Agent string `json:"agent,omitzero"`
	// Who will receive the proofs.
	Audience string `json:"audience"`
	// Whether the subject or reviewers are asked.
	By string `json:"by"`
	// Until when it may be used.
	EndsAt time.Time `json:"ends_at"`
	// What all uses together may come to, if the policy limits an amount.
	MaxAmount *StandingAmount `json:"max_amount,omitzero"`
	// How often it may be used.
	MaxUses int64 `json:"max_uses"`
	// Id of the one resource; omitted if the policy permits a pattern.
	ResourceID string `json:"resource_id,omitzero"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// StandingApprovalOpened: A standing approval that waits, with what it waits for.
type StandingApprovalOpened struct {
	// The challenge that the subject completes; null for a hold.
	Challenge *ChallengeDescriptor `json:"challenge,omitzero"`
	// The hold that reviewers approve; null for a challenge.
	Hold *HoldDescriptor `json:"hold,omitzero"`
	// An approval that allows several requests.
	StandingApproval StandingApproval `json:"standing_approval"`
}

// StandingLink: A short-lived URL that opens the page of a subject's standing approvals.
type StandingLink struct {
	// RFC 3339, UTC, with milliseconds.
	ExpiresAt time.Time `json:"expires_at"`
	// The URL to give to the subject, complete: the ticket is the part after `#`, which browsers do not send to servers.
	URL string `json:"url"`
}

// StandingResource: On which resources a standing approval allows the action.
type StandingResource struct {
	// The one resource; null for a pattern.
	ID string `json:"id,omitzero"`
	// Which resources.
	Pattern string `json:"pattern"`
	// What their ids begin with; null for the other patterns.
	Prefix string `json:"prefix,omitzero"`
	// Their type.
	Type string `json:"type"`
}

// StoredAlias: A name of a subject, of which the format alone is shown.
type StoredAlias struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Format of the name.
	Format string `json:"format"`
}

// Subject: A person whose sessions are assessed.
type Subject struct {
	// Whether the template is not adapted to new sessions.
	AdaptationFrozen bool `json:"adaptation_frozen"`
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// State of a subject's enrollment.
	Enrollment EnrollmentState `json:"enrollment"`
	// Id of the environment.
	Environment string `json:"environment"`
	// The subject's id.
	ID string `json:"id"`
	// Registered passkeys.
	Passkeys []PasskeySummary `json:"passkeys"`
	// Whether the subject agreed to the storage of vectors for research.
	ResearchConsent bool `json:"research_consent"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	RevokedAt *time.Time `json:"revoked_at"`
	// Whether a subject can be authorized.
	Status SubjectStatus `json:"status"`
	// RFC 3339, UTC, with milliseconds.
	UpdatedAt time.Time `json:"updated_at"`
}

// SubjectAlias: A name of a subject in security events: a subject identifier of RFC 9493.
type SubjectAlias struct {
	// E-mail address.
	Email string `json:"email,omitzero"`
	// `iss_sub` needs `iss` and `sub`, `opaque` needs `id`, `email` needs `email`, which is compared without regard to
	// case and white space.
	Format string `json:"format"`
	// Opaque id.
	ID string `json:"id,omitzero"`
	// Issuer of the subject.
	Iss string `json:"iss,omitzero"`
	// Subject at the issuer.
	Sub string `json:"sub,omitzero"`
}

// SubjectAliases: What is stored of the names of a subject.
type SubjectAliases struct {
	// One entry a name, the oldest first.
	Aliases []StoredAlias `json:"aliases"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// SubjectAliasesUpdate: All names of a subject. Names that are left out are removed.
type SubjectAliasesUpdate struct {
	// The names; an empty list removes all.
	Aliases []SubjectAlias `json:"aliases"`
}

// SubjectCreate: A new subject. The service assigns an id if none is sent.
type SubjectCreate struct {
	// The relying party's id of the person. `.` and `..` are refused: they cannot be in a path.
	ID string `json:"id,omitzero"`
}

// SubjectExport: All stored data of a subject.
type SubjectExport struct {
	// The data.
	Data map[string]any `json:"data"`
	// SHA-256 over RFC 8785 canonical JSON.
	Digest string `json:"digest"`
	// RFC 3339, UTC, with milliseconds.
	GeneratedAt time.Time `json:"generated_at"`
	// Version of the shape of `data`.
	SchemaVersion string `json:"schema_version"`
	// Id of the subject.
	Subject string `json:"subject"`
}

// SubjectReinstate: A request to end a revocation.
type SubjectReinstate struct {
	// Why the subject may act again, for the second principal who approves it.
	Reason string `json:"reason"`
}

// SubjectStatus: Whether a subject can be authorized.
type SubjectStatus string

// The values of SubjectStatus.
const (
	SubjectStatusActive  SubjectStatus = "active"
	SubjectStatusRevoked SubjectStatus = "revoked"
)

// Team: A group of reviewers, which policies name by its key.
type Team struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Id of the team.
	ID string `json:"id"`
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Key string `json:"key"`
	// The members in the order of their ids.
	Members []TeamMember `json:"members"`
	// Display name.
	Name string `json:"name"`
}

// TeamCreate: A new team.
type TeamCreate struct {
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Key string `json:"key"`
	// Members that can review in the environment: `person:prs_...` or `credential:crd_...`.
	Members []string `json:"members,omitzero"`
	// Display name.
	Name string `json:"name"`
}

// TeamMember: A member of a team.
type TeamMember struct {
	// Who may approve in the place of the member now; null if the member is not absent.
	Deputy string `json:"deputy,omitzero"`
	// The member: a member of staff or a credential.
	Member string `json:"member"`
	// Whether the member may review now. One who may not stays in the team without effect.
	Reviews bool `json:"reviews"`
}

// TeamReview: Extension: approvals of a hold by members of one team.
type TeamReview struct {
	// How many members must approve.
	Approvals int64 `json:"approvals"`
	// Extension: from some time after the opening of the hold on, members of a second team may give the approvals as
	// well. It approves nothing.
	Escalate *ReviewEscalation `json:"escalate,omitzero"`
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Group string `json:"group"`
}

// TeamUpdate: The fields to change. An omitted or null field keeps its value.
type TeamUpdate struct {
	// The whole list of members.
	Members []string `json:"members,omitzero"`
	// Display name.
	Name string `json:"name,omitzero"`
}

// Template: One version of a subject's template for a modality and a class of device.
type Template struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Templates of one class of device are never compared with another.
	DeviceClass DeviceClass `json:"device_class"`
	// Id of the version.
	ID string `json:"id"`
	// Reason codes of its limitations.
	Limitations []string `json:"limitations"`
	// The modality.
	Modality string `json:"modality"`
	// Background model that it was trained with.
	ModelVersion string `json:"model_version"`
	// Trained by an enrollment, adapted to a confirmed session, or retrained with a new background model.
	Origin string `json:"origin"`
	// Whether claims are capped at likely.
	Provisional bool `json:"provisional"`
	// `active` is in use, `superseded` can be restored, `retired` cannot, after a rollback or a recovery.
	Status string `json:"status"`
	// RFC 3339, UTC, with milliseconds.
	UpdatedAt time.Time `json:"updated_at"`
	// Number of the version, within its modality and class of device.
	Version int64 `json:"version"`
}

// TemplateRollback: The template to roll back.
type TemplateRollback struct {
	// Templates of one class of device are never compared with another.
	DeviceClass DeviceClass `json:"device_class"`
	// Modality of the template.
	Modality string `json:"modality"`
	// A superseded version; if omitted, the newest before the active one.
	Version *int64 `json:"version,omitzero"`
}

// TrustState: Trust in a session.
type TrustState string

// The values of TrustState.
const (
	TrustStateLearning TrustState = "LEARNING"
	TrustStateStable   TrustState = "STABLE"
	TrustStateWatch    TrustState = "WATCH"
	TrustStateDegraded TrustState = "DEGRADED"
	TrustStateBroken   TrustState = "BROKEN"
	TrustStateEnded    TrustState = "ENDED"
)

// ValidationError: One violation with its location and rule.
type ValidationError struct {
	// Path to the field, starting with body, path, query or header.
	Loc []any `json:"loc"`
	// Message that names the field and the rule.
	Msg string `json:"msg"`
	// Stable name of the rule.
	Type string `json:"type"`
}

// ValidationProblem: Every violation as a problem document (RFC 9457), for clients that accept
// `application/problem+json`.
type ValidationProblem struct {
	// Stable name of the problem.
	Code string `json:"code"`
	// One sentence for the caller.
	Detail string `json:"detail"`
	// One item per violation.
	Errors []ValidationError `json:"errors"`
	// The id to quote to support.
	RequestID string `json:"request_id"`
	// The HTTP status.
	Status int64 `json:"status"`
	// The kind of problem.
	Title string `json:"title"`
	// Path of the documentation of the code.
	Type string `json:"type"`
}

// WantedTeam: Approvals that a hold requires of one team. A person counts once in the whole hold.
type WantedTeam struct {
	// Approvals needed.
	Approvals int64 `json:"approvals"`
	// Of an entry with `approver`: whom it names. `group` is then its fallback.
	Approver *NamedApprover `json:"approver,omitzero"`
	// Whether `escalates_at` has passed.
	Escalated bool `json:"escalated"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	EscalatesAt *time.Time `json:"escalates_at"`
	// Key of the team whose members may give them as well from `escalates_at` on; null without an escalation.
	EscalatesTo string `json:"escalates_to,omitzero"`
	// Approvals given.
	Given int64 `json:"given"`
	// Key of a team: a lower-case letter, then lower-case letters, digits and underscores.
	Group string `json:"group"`
}

// WebhookAttempt: One attempt to deliver an event.
type WebhookAttempt struct {
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	At *time.Time `json:"at"`
	// Number of the attempt.
	Attempt int64 `json:"attempt"`
	// Id of the endpoint.
	Endpoint string `json:"endpoint"`
	// Why it failed.
	Error string `json:"error,omitzero"`
	// Id of the event; the same in every attempt, sent as `webhook-id`.
	Event string `json:"event"`
	// Id of the attempt.
	ID string `json:"id"`
	// How long it took.
	LatencyMS *int64 `json:"latency_ms,omitzero"`
	// RFC 3339, UTC, with milliseconds; null if it has not happened.
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	// Digest of the response body.
	ResponseDigest string `json:"response_digest,omitzero"`
	// Status of an attempt.
	Status AttemptStatus `json:"status"`
	// The HTTP status that the endpoint returned.
	StatusCode *int64 `json:"status_code,omitzero"`
	// Type of the event.
	Type string `json:"type"`
}

// WebhookEndpoint: A URL that receives events.
type WebhookEndpoint struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Description.
	Description string `json:"description,omitzero"`
	// Why it is disabled.
	DisabledReason string `json:"disabled_reason,omitzero"`
	// Event types to deliver.
	Events []string `json:"events"`
	// Id of the endpoint.
	ID string `json:"id"`
	// Whether events of holds contain the displayed details of the request.
	IncludeDetails bool `json:"include_details,omitzero"`
	// Whether events are delivered.
	Status string `json:"status"`
	// RFC 3339, UTC, with milliseconds.
	UpdatedAt *time.Time `json:"updated_at,omitzero"`
	// The URL that events are posted to.
	URL string `json:"url"`
}

// WebhookEndpointCreate: A URL that receives events.
type WebhookEndpointCreate struct {
	// Description.
	Description string `json:"description,omitzero"`
	// Event types to deliver; all if omitted.
	Events []string `json:"events,omitzero"`
	// Whether events of holds contain the displayed details of the request, which may be personal data. Default false.
	IncludeDetails bool `json:"include_details,omitzero"`
	// The URL that events are posted to.
	URL string `json:"url"`
}

// WebhookEndpointUpdate: The fields to change. An omitted field keeps its value.
type WebhookEndpointUpdate struct {
	// Description.
	Description *string `json:"description,omitzero"`
	// Event types to deliver; all if empty.
	Events []string `json:"events,omitzero"`
	// Whether events of holds contain the displayed details of the request.
	IncludeDetails *bool `json:"include_details,omitzero"`
	// Whether events are delivered.
	Status string `json:"status,omitzero"`
	// The URL that events are posted to.
	URL string `json:"url,omitzero"`
}

// WebhookEndpointWithSecret: An endpoint with its signing secret, which is shown only once.
type WebhookEndpointWithSecret struct {
	// RFC 3339, UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// Description.
	Description string `json:"description,omitzero"`
	// Why it is disabled.
	DisabledReason string `json:"disabled_reason,omitzero"`
	// Event types to deliver.
	Events []string `json:"events"`
	// Id of the endpoint.
	ID string `json:"id"`
	// Whether events of holds contain the displayed details of the request.
	IncludeDetails bool `json:"include_details,omitzero"`
	// The secret (`whsec_...`) of Standard Webhooks signatures; it is not shown again.
	Secret string `json:"secret"`
	// Whether events are delivered.
	Status string `json:"status"`
	// RFC 3339, UTC, with milliseconds.
	UpdatedAt *time.Time `json:"updated_at,omitzero"`
	// The URL that events are posted to.
	URL string `json:"url"`
}

// WebhookReplay: The scheduled deliveries.
type WebhookReplay struct {
	// Id of the endpoint.
	Endpoint string `json:"endpoint"`
	// How many.
	Scheduled int64 `json:"scheduled"`
}

// WebhookReplayRequest: The deliveries to repeat; all failed ones by default.
type WebhookReplayRequest struct {
	// One event by its id.
	Event string `json:"event,omitzero"`
	// Only entries at or after this time.
	Since *time.Time `json:"since,omitzero"`
	// Which deliveries.
	Status string `json:"status,omitzero"`
	// Only entries before this time.
	Until *time.Time `json:"until,omitzero"`
}

// WebhookTestResult: The result of a `webhook.test` event.
type WebhookTestResult struct {
	// Whether the endpoint returned 2xx.
	Delivered bool `json:"delivered"`
	// Why it was not delivered.
	Error string `json:"error,omitzero"`
	// Id of the test event.
	Event string `json:"event"`
	// How long it took.
	LatencyMS int64 `json:"latency_ms"`
	// The HTTP status that it returned; null if there was no response.
	StatusCode *int64 `json:"status_code,omitzero"`
}
