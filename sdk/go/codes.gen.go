// Code generated from the contract by api/openapi/gosdk; DO NOT EDIT.

package countersign

// ContractVersion is the version of the contract that this package was generated from.
const ContractVersion = "1.0.0"

// The codes of a refusal (Error.Code).
const (
	CodeActionKeyExists            = "action_key_exists"
	CodeAnchorUnavailable          = "anchor_unavailable"
	CodeAssertionBackupFlags       = "assertion_backup_flags"
	CodeAssertionChallengeMismatch = "assertion_challenge_mismatch"
	CodeAssertionCloneWarning      = "assertion_clone_warning"
	CodeAssertionDisplayChanged    = "assertion_display_changed"
	CodeAssertionMalformed         = "assertion_malformed"
	CodeAssertionOriginMismatch    = "assertion_origin_mismatch"
	CodeAssertionRefused           = "assertion_refused"
	CodeAssertionRPIDMismatch      = "assertion_rp_id_mismatch"
	CodeAssertionSignatureInvalid  = "assertion_signature_invalid"
	CodeAssertionUnknownCredential = "assertion_unknown_credential"
	CodeAssertionUserMismatch      = "assertion_user_mismatch"
	CodeAssertionUserNotVerified   = "assertion_user_not_verified"
	CodeAudienceNotAllowed         = "audience_not_allowed"
	CodeBadRequest                 = "bad_request"
	CodeBodyTooLarge               = "body_too_large"
	CodeCallerNotAllowed           = "caller_not_allowed"
	CodeChallengeClosed            = "challenge_closed"
	CodeChallengeExpired           = "challenge_expired"
	CodeConflict                   = "conflict"
	CodeConsentRequired            = "consent_required"
	CodeCredentialRevoked          = "credential_revoked"
	CodeEndpointDisabled           = "endpoint_disabled"
	CodeEvaluationClosed           = "evaluation_closed"
	CodeForbidden                  = "forbidden"
	CodeGrantInvalid               = "grant_invalid"
	CodeIdempotencyInFlight        = "idempotency_in_flight"
	CodeIdempotencyKeyReused       = "idempotency_key_reused"
	CodeInsufficientScope          = "insufficient_scope"
	CodeInternalError              = "internal_error"
	CodeMalformedJSON              = "malformed_json"
	CodeMethodNotAllowed           = "method_not_allowed"
	CodeMethodNotOffered           = "method_not_offered"
	CodeNoActivePolicy             = "no_active_policy"
	CodeNoEarlierTemplate          = "no_earlier_template"
	CodeNonceReplayed              = "nonce_replayed"
	CodeNotFound                   = "not_found"
	CodeNotHeld                    = "not_held"
	CodeOriginNotAllowed           = "origin_not_allowed"
	CodeOutcomeConflict            = "outcome_conflict"
	CodePasskeyExists              = "passkey_exists"
	CodePolicyNotDraft             = "policy_not_draft"
	CodePurposeNotGranted          = "purpose_not_granted"
	CodeRateLimited                = "rate_limited"
	CodeRecoveryInProgress         = "recovery_in_progress"
	CodeRecoveryNotReady           = "recovery_not_ready"
	CodeRegistrationRefused        = "registration_refused"
	CodeReviewExpired              = "review_expired"
	CodeReviewResolved             = "review_resolved"
	CodeRotationInProgress         = "rotation_in_progress"
	CodeSandboxOnly                = "sandbox_only"
	CodeSelfReview                 = "self_review"
	CodeSessionClosed              = "session_closed"
	CodeSubjectExists              = "subject_exists"
	CodeSubjectRevoked             = "subject_revoked"
	CodeTooManyStreams             = "too_many_streams"
	CodeUnauthenticated            = "unauthenticated"
	CodeUnavailable                = "unavailable"
	CodeUnsupportedMediaType       = "unsupported_media_type"
	CodeValidationError            = "validation_error"
)

// The reason codes of decisions, claims, frames and proofs.
const (
	// For a while there was activity by which no template could tell the person: scrolling, pasting, or a pointer that is
	// not enrolled or does not match.
	ReasonActivityUnattributed = "activity_unattributed"
	// The background was learned from other people than this deployment's own.
	ReasonBackgroundNotLocal = "background_not_local"
	// Most key transitions are outside the background's tables, so another language or layout is likely.
	ReasonBackgroundOtherLanguage = "background_other_language"
	// The background was learned on other devices than this one.
	ReasonBackgroundOtherPopulation = "background_other_population"
	// The behaviour matches the enrolled person.
	ReasonContinuityMatch = "continuity_match"
	// The behaviour does not match the enrolled person.
	ReasonContinuityMismatch = "continuity_mismatch"
	// The most recent behaviour does not match the enrolled person.
	ReasonContinuityRecentMismatch = "continuity_recent_mismatch"
	// The behaviour fits the enrolled person and others alike.
	ReasonContinuityUndecided = "continuity_undecided"
	// The behaviour resembles the enrolled person, with less certainty.
	ReasonContinuityWeakMatch = "continuity_weak_match"
	// No usable evidence has arrived in the session.
	ReasonEvidenceNone = "evidence_none"
	// The last evidence that can be held against a template is more than ten minutes old.
	ReasonEvidenceStale = "evidence_stale"
	// There is too little evidence for a claim.
	ReasonEvidenceTooLittle = "evidence_too_little"
	// The claim is experimental and should not decide alone.
	ReasonExperimental = "experimental"
	// Few kinds of transition were seen, for example typing with one hand.
	ReasonFewTransitionClasses = "few_transition_classes"
	// The session matched the enrolled person before and does not now. Experimental.
	ReasonOperatorChangeSuspected = "operator_change_suspected"
	// Only pointer evidence is there; it alone never confirms.
	ReasonPointerOnly = "pointer_only"
	// The action is archived; nothing is authorized under it any more.
	ReasonActionArchived = "action_archived"
	// The automation claim is not what the policy asks for: input looks scripted.
	ReasonAutomationNotMet = "automation_not_met"
	// The newest frame that the tests of automation could read is older than freshness_max_ms, or there is none.
	ReasonAutomationTooOld = "automation_too_old"
	// A completed challenge made good what the policy lets a challenge compensate.
	ReasonChallengeSatisfied = "challenge_satisfied"
	// A claim this version of the service cannot assess is asked for by the policy.
	ReasonClaimNotMet = "claim_not_met"
	// The evidence covers less than the policy's coverage_min.
	ReasonCoverageBelowMinimum = "coverage_below_minimum"
	// A reason code that the policy lists in deny_on is present.
	ReasonDenyOnMatched = "deny_on_matched"
	// The evidence_replay claim is not what the policy asks for: evidence looks recorded earlier.
	ReasonEvidenceReplayNotMet = "evidence_replay_not_met"
	// The newest frame that could be compared for evidence_replay is older than freshness_max_ms, or there is none.
	ReasonEvidenceReplayTooOld = "evidence_replay_too_old"
	// The policy asks the subject to approve this very action.
	ReasonExplicitApprovalRequired = "explicit_approval_required"
	// The newest evidence of a claim that the policy asks for is older than its freshness_max_ms, or there is none; where
	// it asks for no claim, the newest evidence of any kind.
	ReasonFreshnessExceeded = "freshness_exceeded"
	// A reviewer approved the held authorization.
	ReasonHoldApproved = "hold_approved"
	// A reason code that the policy lists in hold_on is present.
	ReasonHoldOnMatched = "hold_on_matched"
	// The human_presence claim is below the policy's minimum.
	ReasonHumanPresenceNotMet = "human_presence_not_met"
	// The newest frame that the tests of human_presence could read is older than freshness_max_ms, or there is none.
	ReasonHumanPresenceTooOld = "human_presence_too_old"
	// There is too little evidence to assess the subject, or a claim the policy asks for.
	ReasonInsufficientEvidence = "insufficient_evidence"
	// A challenge is due, but this chain of authorizations has used all max_challenges allows.
	ReasonMaxChallengesReached = "max_challenges_reached"
	// A challenge is due, but the subject can use none of the policy's challenge methods.
	ReasonNoChallengeMethod = "no_challenge_method"
	// The experimental operator_change claim is not what the policy asks for.
	ReasonOperatorChangeNotMet = "operator_change_not_met"
	// The newest evidence that can carry the experimental operator_change is older than freshness_max_ms, or there is
	// none.
	ReasonOperatorChangeTooOld = "operator_change_too_old"
	// The operator_continuity claim is below the policy's minimum: the person may not be the enrolled one.
	ReasonOperatorContinuityNotMet = "operator_continuity_not_met"
	// The newest evidence that can carry operator_continuity, such as typing held against the subject's template, is
	// older than freshness_max_ms, or there is none.
	ReasonOperatorContinuityTooOld = "operator_continuity_too_old"
	// Every requirement of the policy version is met.
	ReasonRequirementsMet = "requirements_met"
	// The subject is revoked; no action of theirs is authorized.
	ReasonSubjectRevoked = "subject_revoked"
	// The class of device is unknown.
	ReasonDeviceUnknown = "device_unknown"
	// Sessions of the enrollment do not agree with each other.
	ReasonEnrollmentInconsistent = "enrollment_inconsistent"
	// The environment requires that enrolling is granted by name, and it was not.
	ReasonEnrollmentNotGranted = "enrollment_not_granted"
	// The subject is enrolled on another class of device.
	ReasonNoTemplateForDevice = "no_template_for_device"
	// The subject has no template.
	ReasonNotEnrolled = "not_enrolled"
	// The enrollment is provisional, so claims are capped at likely.
	ReasonProvisionalEnrollment = "provisional_enrollment"
	// After a recovery claims are capped at likely for a while.
	ReasonRecoveryCap = "recovery_cap"
	// A recovery of the subject is cooling down; nothing is learned from evidence of this time.
	ReasonRecoveryCoolingDown = "recovery_cooling_down"
	// The enrollment stands on one session only.
	ReasonSingleSessionEnrollment = "single_session_enrollment"
	// The template has adapted to confirmed sessions since enrollment.
	ReasonTemplateAdapted = "template_adapted"
	// The template was learned under another model version.
	ReasonTemplateOtherModel = "template_other_model"
	// The collector's clock is coarse, so timing says less.
	ReasonClockCoarse = "clock_coarse"
	// A frame's time does not fit the service's clock.
	ReasonClockInconsistent = "clock_inconsistent"
	// Parts of the frame cannot be true together.
	ReasonFeaturesContradictory = "features_contradictory"
	// An event count is not one of the bins 0, 2, 7.
	ReasonFeaturesCountsNotBinned = "features_counts_not_binned"
	// Nothing happened in the frame.
	ReasonFeaturesEmpty = "features_empty"
	// A value is outside the range its formula can give.
	ReasonFeaturesImpossibleValue = "features_impossible_value"
	// The features object is not the JSON the schema describes.
	ReasonFeaturesMalformed = "features_malformed"
	// The frame holds text, keys, positions or images, or a place where they could be.
	ReasonFeaturesRawContent = "features_raw_content"
	// The frame names another feature schema version.
	ReasonFeaturesSchemaUnsupported = "features_schema_unsupported"
	// The frame names a cell or field the schema does not have.
	ReasonFeaturesUnknownCell = "features_unknown_cell"
	// The frame claims more active time than it lasted.
	ReasonFrameContradictsDuration = "frame_contradicts_duration"
	// A frame is older than one already taken.
	ReasonFramesOutOfOrder = "frames_out_of_order"
	// Frames of the session overlap in time.
	ReasonFramesOverlap = "frames_overlap"
	// Only modalities without a background model have been seen; they are kept and not scored.
	ReasonModalityNotScored = "modality_not_scored"
	// The template has too few samples to decide by.
	ReasonInsufficientSamples = "insufficient:samples"
	// The timings agree with the enrolled template.
	ReasonMatchTiming = "match:timing"
	// The timings do not agree with the enrolled template.
	ReasonMismatchTiming = "mismatch:timing"
	// Agent mandates are not supported.
	ReasonAgentMandateUnsupported = "agent_mandate_unsupported"
	// Pointer steps are regular the way scripts move.
	ReasonAutomationPointerPattern = "automation_pointer_pattern"
	// Timing statistics lie outside what people produce.
	ReasonAutomationRange = "automation_range"
	// One test hints at automation; it is not enough to tell.
	ReasonAutomationSuspected = "automation_suspected"
	// Typing times do not follow the keys the way they do in people.
	ReasonAutomationTypingPattern = "automation_typing_pattern"
	// Timing varies with what is typed and moved the way it does in people.
	ReasonHumanPattern = "human_pattern"
	// Signs of automation forbid confirmed and likely.
	ReasonVetoedByAutomation = "vetoed_by_automation"
	// The proof authorizes another action.
	ReasonProofActionMismatch = "proof_action_mismatch"
	// The header names an algorithm other than ES256.
	ReasonProofAlgorithmInvalid = "proof_algorithm_invalid"
	// The proof is meant for another audience.
	ReasonProofAudienceMismatch = "proof_audience_mismatch"
	// The signed claims are incomplete or not of the shape a proof has.
	ReasonProofClaimsInvalid = "proof_claims_invalid"
	// The proof was consumed before: it is good for one use.
	ReasonProofConsumed = "proof_consumed"
	// The proof is of another environment, such as a sandbox proof shown to live.
	ReasonProofEnvironmentMismatch = "proof_environment_mismatch"
	// The proof's time is over.
	ReasonProofExpired = "proof_expired"
	// The protected header lacks a key id, or holds a parameter a proof never has.
	ReasonProofHeaderInvalid = "proof_header_invalid"
	// The proof is of another issuer.
	ReasonProofIssuerMismatch = "proof_issuer_mismatch"
	// No published key has the header's key id.
	ReasonProofKeyUnknown = "proof_key_unknown"
	// The text is not one compact JWS in canonical form.
	ReasonProofMalformed = "proof_malformed"
	// The proof answers a request with another nonce.
	ReasonProofNonceMismatch = "proof_nonce_mismatch"
	// The proof is not valid yet.
	ReasonProofNotYetValid = "proof_not_yet_valid"
	// The proof authorizes the action on another resource.
	ReasonProofResourceMismatch = "proof_resource_mismatch"
	// The proof was revoked, as happens on subject revocation, recovery and erasure.
	ReasonProofRevoked = "proof_revoked"
	// The signature does not verify under the named key.
	ReasonProofSignatureInvalid = "proof_signature_invalid"
	// The header's typ is not poa+jwt: this is some other kind of token.
	ReasonProofTypeInvalid = "proof_type_invalid"
	// The proof's id is not on record in this environment.
	ReasonProofUnknown = "proof_unknown"
	// No frame repeats another.
	ReasonNoReplaySeen = "no_replay_seen"
	// A frame repeats an earlier frame exactly.
	ReasonReplayExact = "replay_exact"
	// A frame is nearer to an earlier frame than two recordings of a person are.
	ReasonReplayNearDuplicate = "replay_near_duplicate"
	// A frame was seen before in another session or of another subject.
	ReasonReplayOtherSession = "replay_other_session"
	// Signs of replay forbid confirmed and likely.
	ReasonVetoedByReplay = "vetoed_by_replay"
	// The session has ended; its evidence counts for nothing any more.
	ReasonSessionEnded = "session_ended"
	// The session was without activity for half an hour and has expired; its evidence counts for nothing any more.
	ReasonSessionExpired = "session_expired"
)
