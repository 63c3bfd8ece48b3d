// Code generated from the contract by tools/gosdk; DO NOT EDIT.

package countersign

// ContractVersion is the version of the contract that this package was generated from.
const ContractVersion = "1.1.0"

// The problem codes (Error.Code).
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
	CodeChangeExpired              = "change_expired"
	CodeChangeSettled              = "change_settled"
	CodeChangeSuperseded           = "change_superseded"
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
	CodeIssuerChainTooLong         = "issuer_chain_too_long"
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
	CodeSelfApproval               = "self_approval"
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
	// The approver is the person who requests.
	ReasonApproverIsRequester = "approver_is_requester"
	// The request leaves out the property that names the approver.
	ReasonApproverNotNamed = "approver_not_named"
	// The approver reports to the person who requests, and self-review is barred.
	ReasonApproverReportsToRequester = "approver_reports_to_requester"
	// No member of staff is known by the name that the request gives, several are, or the requester has no known manager.
	ReasonApproverUnknown = "approver_unknown"
	// The approver is not a reviewer of the environment, or has lost that role since the step opened.
	ReasonApproverWithoutAuthority = "approver_without_authority"
	// The policy wants the manager of the requester, and no member of staff is known by the requester's id or address.
	ReasonRequesterUnknown = "requester_unknown"
	// For a while there was only activity that no template can attribute to the person: scrolling, pasting, or a pointer
	// that is not enrolled or does not match.
	ReasonActivityUnattributed = "activity_unattributed"
	// The background rests on fewer than 30 people, so claims are capped at likely.
	ReasonBackgroundFewPeople = "background_few_people"
	// The background is stated or was trained on people outside this deployment.
	ReasonBackgroundNotLocal = "background_not_local"
	// The background was trained on other classes of device.
	ReasonBackgroundOtherPopulation = "background_other_population"
	// The behaviour matches the enrolled person.
	ReasonContinuityMatch = "continuity_match"
	// The behaviour does not match the enrolled person.
	ReasonContinuityMismatch = "continuity_mismatch"
	// The most recent behaviour does not match the enrolled person.
	ReasonContinuityRecentMismatch = "continuity_recent_mismatch"
	// The behaviour fits the enrolled person and other people equally well.
	ReasonContinuityUndecided = "continuity_undecided"
	// The behaviour resembles the enrolled person, with less certainty.
	ReasonContinuityWeakMatch = "continuity_weak_match"
	// No usable evidence has arrived in the session.
	ReasonEvidenceNone = "evidence_none"
	// The last evidence that can be compared with a template is more than ten minutes old.
	ReasonEvidenceStale = "evidence_stale"
	// There is too little evidence for a claim.
	ReasonEvidenceTooLittle = "evidence_too_little"
	// The claim is experimental and should not decide alone.
	ReasonExperimental = "experimental"
	// Few kinds of transition were seen, for example typing with one hand.
	ReasonFewTransitionClasses = "few_transition_classes"
	// The session matched the enrolled person before and does not now. Experimental.
	ReasonOperatorChangeSuspected = "operator_change_suspected"
	// There is only pointer evidence, which never confirms alone.
	ReasonPointerOnly = "pointer_only"
	// The action is archived and no longer authorized.
	ReasonActionArchived = "action_archived"
	// The automation claim is not the status that the policy requires: the input looks scripted.
	ReasonAutomationNotMet = "automation_not_met"
	// The newest frame that the tests of automation could use is older than freshness_max_ms, or there is none.
	ReasonAutomationTooOld = "automation_too_old"
	// A completed challenge compensated for the requirements that the policy lets a challenge compensate.
	ReasonChallengeSatisfied = "challenge_satisfied"
	// The policy requires a claim that this version of the service cannot assess.
	ReasonClaimNotMet = "claim_not_met"
	// The evidence covers less than the policy's coverage_min.
	ReasonCoverageBelowMinimum = "coverage_below_minimum"
	// A reason code that the policy lists in deny_on is present.
	ReasonDenyOnMatched = "deny_on_matched"
	// The evidence_replay claim is not the status that the policy requires: the evidence looks recorded earlier.
	ReasonEvidenceReplayNotMet = "evidence_replay_not_met"
	// The newest frame that could be compared for evidence_replay is older than freshness_max_ms, or there is none.
	ReasonEvidenceReplayTooOld = "evidence_replay_too_old"
	// The policy requires the subject to approve this action explicitly.
	ReasonExplicitApprovalRequired = "explicit_approval_required"
	// The newest evidence of a claim that the policy requires is older than freshness_max_ms, or there is none; if it
	// requires no claim, the newest evidence of any kind.
	ReasonFreshnessExceeded = "freshness_exceeded"
	// A reviewer approved the held authorization.
	ReasonHoldApproved = "hold_approved"
	// A reason code that the policy lists in hold_on is present.
	ReasonHoldOnMatched = "hold_on_matched"
	// The human_presence claim is below the policy's minimum.
	ReasonHumanPresenceNotMet = "human_presence_not_met"
	// The newest frame that the tests of human_presence could use is older than freshness_max_ms, or there is none.
	ReasonHumanPresenceTooOld = "human_presence_too_old"
	// There is too little evidence to assess the subject, or a claim that the policy requires.
	ReasonInsufficientEvidence = "insufficient_evidence"
	// A challenge is required, but this chain of authorizations has used all challenges that max_challenges allows.
	ReasonMaxChallengesReached = "max_challenges_reached"
	// A challenge is required, but the subject can use none of the policy's challenge methods.
	ReasonNoChallengeMethod = "no_challenge_method"
	// The experimental operator_change claim is not the status that the policy requires.
	ReasonOperatorChangeNotMet = "operator_change_not_met"
	// The newest evidence that can carry the experimental operator_change is older than freshness_max_ms, or there is
	// none.
	ReasonOperatorChangeTooOld = "operator_change_too_old"
	// The operator_continuity claim is below the policy's minimum: the person may not be the enrolled one.
	ReasonOperatorContinuityNotMet = "operator_continuity_not_met"
	// The newest evidence that can carry operator_continuity, such as typing compared with the subject's template, is
	// older than freshness_max_ms, or there is none.
	ReasonOperatorContinuityTooOld = "operator_continuity_too_old"
	// Every requirement of the policy version is met.
	ReasonRequirementsMet = "requirements_met"
	// A rule of the policy could not be evaluated for this request, so its requirements apply.
	ReasonRuleFailed = "rule_failed"
	// A rule of the policy matched the request and added its requirements.
	ReasonRuleMatched = "rule_matched"
	// The identity provider reported a security event about the subject, who must confirm each action for a time.
	ReasonSecurityEvent = "security_event"
	// A standing approval that was given before satisfies what the policy asks of the subject or of reviewers.
	ReasonStandingApproval = "standing_approval"
	// Reviewers are asked for a standing approval.
	ReasonStandingApprovalRequested = "standing_approval_requested"
	// The subject is revoked; none of its actions is authorized.
	ReasonSubjectRevoked = "subject_revoked"
	// The class of device is unknown.
	ReasonDeviceUnknown = "device_unknown"
	// The sessions of the enrollment are inconsistent with each other.
	ReasonEnrollmentInconsistent = "enrollment_inconsistent"
	// The environment requires an explicit grant to enroll, and there is none.
	ReasonEnrollmentNotGranted = "enrollment_not_granted"
	// The subject is enrolled on another class of device.
	ReasonNoTemplateForDevice = "no_template_for_device"
	// The subject has no template.
	ReasonNotEnrolled = "not_enrolled"
	// The enrollment is provisional, so claims are capped at likely.
	ReasonProvisionalEnrollment = "provisional_enrollment"
	// After a recovery, claims are capped at likely for a while.
	ReasonRecoveryCap = "recovery_cap"
	// A recovery of the subject is cooling down; evidence from this time is not learned from.
	ReasonRecoveryCoolingDown = "recovery_cooling_down"
	// The enrollment has only one session.
	ReasonSingleSessionEnrollment = "single_session_enrollment"
	// The template has adapted to confirmed sessions since enrollment.
	ReasonTemplateAdapted = "template_adapted"
	// The template was trained with another model version.
	ReasonTemplateOtherModel = "template_other_model"
	// The collector's clock is coarse, so its timing is less informative.
	ReasonClockCoarse = "clock_coarse"
	// A frame's time is inconsistent with the service's clock.
	ReasonClockInconsistent = "clock_inconsistent"
	// Parts of the frame contradict each other.
	ReasonFeaturesContradictory = "features_contradictory"
	// An event count is not one of the bins 0, 2, 7.
	ReasonFeaturesCountsNotBinned = "features_counts_not_binned"
	// The frame has no input events.
	ReasonFeaturesEmpty = "features_empty"
	// A value is outside the range of its formula.
	ReasonFeaturesImpossibleValue = "features_impossible_value"
	// The features object does not match the feature schema.
	ReasonFeaturesMalformed = "features_malformed"
	// The frame contains text, keys, positions or images, or a field that could contain them.
	ReasonFeaturesRawContent = "features_raw_content"
	// The frame has an unsupported feature schema version.
	ReasonFeaturesSchemaUnsupported = "features_schema_unsupported"
	// The frame has a cell or field that is not in the schema.
	ReasonFeaturesUnknownCell = "features_unknown_cell"
	// The active time of the frame exceeds its duration.
	ReasonFrameContradictsDuration = "frame_contradicts_duration"
	// A frame is older than one already received.
	ReasonFramesOutOfOrder = "frames_out_of_order"
	// Frames of the session overlap in time.
	ReasonFramesOverlap = "frames_overlap"
	// Only modalities without a background model have been seen; they are stored but not scored.
	ReasonModalityNotScored = "modality_not_scored"
	// The session is on a phone or a tablet, and nothing was typed on keys or pointed at with a mouse. What a finger does
	// is neither recorded nor scored.
	ReasonTouchNotScored = "touch_not_scored"
	// The template has too few samples for a decision.
	ReasonInsufficientSamples = "insufficient:samples"
	// The timings match the enrolled template.
	ReasonMatchTiming = "match:timing"
	// The timings do not match the enrolled template.
	ReasonMismatchTiming = "mismatch:timing"
	// Agent mandates are not supported.
	ReasonAgentMandateUnsupported = "agent_mandate_unsupported"
	// Pointer movement is as regular as that of scripts.
	ReasonAutomationPointerPattern = "automation_pointer_pattern"
	// Timing statistics are outside the range of people.
	ReasonAutomationRange = "automation_range"
	// One test suggests automation, which is not enough for a conclusion.
	ReasonAutomationSuspected = "automation_suspected"
	// Typing times do not depend on the keys as they do for people.
	ReasonAutomationTypingPattern = "automation_typing_pattern"
	// Timing varies with the input as it does for people.
	ReasonHumanPattern = "human_pattern"
	// Typing differs from one passage to the next as noise around a person's averages does: a program may imitate the
	// person. Rules out confirmed and likely.
	ReasonImitationSuspected = "imitation_suspected"
	// Signs of automation rule out confirmed and likely.
	ReasonVetoedByAutomation = "vetoed_by_automation"
	// The proof is valid, and the request did not say for whom: it may have been issued for another audience.
	ReasonAudienceNotChecked = "audience_not_checked"
	// The proof authorizes another action, another subject, or the action with other details (its context).
	ReasonProofActionMismatch = "proof_action_mismatch"
	// The header names an algorithm other than ES256.
	ReasonProofAlgorithmInvalid = "proof_algorithm_invalid"
	// The proof is for another audience.
	ReasonProofAudienceMismatch = "proof_audience_mismatch"
	// The signed claims are incomplete or malformed.
	ReasonProofClaimsInvalid = "proof_claims_invalid"
	// The proof was already consumed: it is valid for one use.
	ReasonProofConsumed = "proof_consumed"
	// The proof is from another environment, for example a sandbox proof presented to live.
	ReasonProofEnvironmentMismatch = "proof_environment_mismatch"
	// The proof has expired.
	ReasonProofExpired = "proof_expired"
	// The protected header lacks a key id, or contains a parameter that a proof never has.
	ReasonProofHeaderInvalid = "proof_header_invalid"
	// The proof is from another issuer.
	ReasonProofIssuerMismatch = "proof_issuer_mismatch"
	// No published key has the header's key id.
	ReasonProofKeyUnknown = "proof_key_unknown"
	// The text is not one compact JWS in canonical form.
	ReasonProofMalformed = "proof_malformed"
	// The proof belongs to a request with another nonce.
	ReasonProofNonceMismatch = "proof_nonce_mismatch"
	// The proof is not valid yet.
	ReasonProofNotYetValid = "proof_not_yet_valid"
	// The proof authorizes the action on another resource.
	ReasonProofResourceMismatch = "proof_resource_mismatch"
	// The proof was revoked, for example by a revocation, recovery or erasure of the subject.
	ReasonProofRevoked = "proof_revoked"
	// The signature does not verify under the named key.
	ReasonProofSignatureInvalid = "proof_signature_invalid"
	// The header's typ is not poa+jwt: this is a different kind of token.
	ReasonProofTypeInvalid = "proof_type_invalid"
	// No proof with this id was issued in this environment.
	ReasonProofUnknown = "proof_unknown"
	// No frame repeats another.
	ReasonNoReplaySeen = "no_replay_seen"
	// A frame repeats an earlier frame exactly.
	ReasonReplayExact = "replay_exact"
	// A frame is more similar to an earlier frame than two recordings of one person are.
	ReasonReplayNearDuplicate = "replay_near_duplicate"
	// A frame was seen before in another session or of another subject.
	ReasonReplayOtherSession = "replay_other_session"
	// Signs of replay rule out confirmed and likely.
	ReasonVetoedByReplay = "vetoed_by_replay"
	// The session has ended; its evidence no longer counts.
	ReasonSessionEnded = "session_ended"
	// The session expired after half an hour without activity; its evidence no longer counts.
	ReasonSessionExpired = "session_expired"
	// The subject has no session: no evidence was collected.
	ReasonSessionMissing = "session_missing"
)
