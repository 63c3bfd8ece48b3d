package events

// Envelope fields as a type's schema names them: required, or optional.
var (
	subject       = req("subject", text)
	maybeSubject  = opt("subject", text)
	action        = req("action", text)
	maybeAction   = opt("action", text)
	authorization = req("authorization", text)
	maybeAuthz    = opt("authorization", text)
	decision      = req("decision", enum("allow", "challenge", "hold", "deny"))
	maybeDecision = opt("decision", enum("allow", "challenge", "hold", "deny"))
	verdict       = req("decision", enum("accept", "challenge", "reject"))
)

// public defines a type that is shown outside the audit log. The example is the data as it is shown, envelope fields included.
func public(data Data, description string, example map[string]any, envelope ...field) Definition {
	example["environment"] = "env_01jqx3k5v8e2sbyk0c4m7t9wzd"
	return Definition{Type: data.EventType(), Public: true, Description: description,
		Schema: object(append(envelope, fieldsOf(data)...)), Example: example, data: []Data{data}}
}

// audit defines an audit-only type. A type whose events have different fields names a struct for each.
func audit(description string, data ...Data) Definition {
	envelope := []field{maybeSubject, maybeAction, maybeAuthz, opt("decision", text)}
	return Definition{Type: data[0].EventType(), Description: description, Schema: auditObject(envelope, data), data: data}
}

// catalogue defines every type in the order of docs/events.md, whose table repeats the descriptions (a test compares them). The
// public part is a published contract: testdata/catalogue.jsonl pins its schemas and examples.
var catalogue = []Definition{
	public(AuthorizationDecidedData{}, "A decision was made: at authorize, or again after a challenge or a review.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"decision": "challenge", "mode": "enforce", "policy_version": 3, "reason_codes": []any{"coverage_below_minimum"},
			"coverage": "sparse", "challenge": exampleChallenge}, subject, action, authorization, decision),

	public(ChallengeRequestedData{}, "A step-up was asked of the subject.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "methods": []any{"passkey"}, "expires_at": "2026-03-01T09:05:00.000Z"}, subject, action, authorization, maybeDecision),
	public(ChallengeCompletedData{}, "The subject completed the step-up; child_authorization is the decision that followed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "method": "passkey", "strength": "phishing_resistant",
			"child_authorization": exampleChild, "child_decision": "allow"}, subject, action, authorization, maybeDecision),
	public(ChallengeCancelledData{}, "The step-up was cancelled, by the relying party or because the subject may no longer act.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(ChallengeExpiredData{}, "The step-up was not completed in time.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(ChallengeFailedData{}, "Too many assertions were refused; the step-up can no longer be completed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "failures": 5}, maybeSubject, maybeAction, authorization, maybeDecision),

	public(HoldOpenedData{}, "A decision waits for a reviewer.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"risk_class": "high", "due_at": "2026-03-04T09:00:00.000Z", "approvals_required": 1,
			"reason_codes": []any{"evidence_insufficient"}}, subject, action, authorization, maybeDecision),
	public(HoldReminderData{}, "Half of the time for a review has passed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"due_at": "2026-03-04T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldEscalatedData{}, "A team has not approved in time; a second team may approve as well. Nothing is approved.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"team": "finance", "escalated_to": "finance_leads", "due_at": "2026-03-04T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldApprovedData{}, "A reviewer approved; child_authorization is the decision that followed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "child_authorization": exampleChild,
			"child_decision": "allow"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldRejectedData{}, "A reviewer rejected.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "outcome": "manually_rejected"}, maybeSubject, maybeAction, authorization, maybeDecision),
	public(HoldExpiredData{}, "The hold was not reviewed in time and was not approved.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"due_at": "2026-03-04T09:00:00.000Z"}, maybeSubject, maybeAction, authorization, maybeDecision),

	public(ChangeRequestedData{}, "A change of the configuration waits for a second approver.",
		waitingExample(), maybeAction),
	public(ChangeApprovedData{}, "A second approver approved a change, which is in force from now on.",
		changeExample(), maybeAction),
	public(ChangeRejectedData{}, "A second approver rejected a change.",
		changeExample(), maybeAction),
	public(ChangeWithdrawnData{}, "The requester withdrew a change.",
		changeExample(), maybeAction),
	public(ChangeSupersededData{}, "A change was approved after what it was requested against had changed; it was not made.",
		changeExample(), maybeAction),
	public(ChangeExpiredData{}, "A change was not approved in time.",
		waitingExample(), maybeAction),

	public(TrustStateChangedData{}, "The trust state of a session moved.",
		map[string]any{"subject": "user-4711", "session": exampleSession, "from": "STABLE", "to": "WATCH",
			"reason_codes": []any{"continuity_uncertain"}}, maybeSubject),
	public(SessionAnomalyData{}, "Evidence of a session shows something that should not be: automation, replay or another operator.",
		map[string]any{"subject": "user-4711", "session": exampleSession, "reason_codes": []any{"automation_detected"}}, maybeSubject),

	public(EnrollmentCompletedData{}, "A subject's template was learned.",
		map[string]any{"subject": "user-4711", "enrollment": "enr_01jqx3k5v8e2sbyk0c4m7t9wzd", "session": exampleSession,
			"windows_accepted": 24, "limitations": []any{}}, subject),
	public(EnrollmentFailedData{}, "There was too little evidence to learn a template from, or too little of it fits together.",
		map[string]any{"subject": "user-4711", "enrollment": "enr_01jqx3k5v8e2sbyk0c4m7t9wzd", "session": exampleSession,
			"windows_accepted": 3, "limitations": []any{"too_few_windows"}}, subject),

	public(RecoveryStartedData{}, "A recovery began: open challenges and proofs are void, the template is reset.",
		recoveryExample(), subject),
	public(RecoveryReadyData{}, "The cooling-down time is over; the subject may enroll again.",
		recoveryExample(), subject),
	public(RecoveryCompletedData{}, "A new enrollment completed the recovery.",
		recoveryExample(), subject),
	public(RecoveryExpiredData{}, "The recovery ran out before a new enrollment.",
		recoveryExample(), subject),

	public(SubjectCreatedData{}, "A subject was created.",
		map[string]any{"subject": "user-4711"}, subject),
	public(SubjectRevokedData{}, "A subject was revoked: its proofs are void and every decision about it is deny.",
		map[string]any{"subject": "user-4711", "proofs_revoked": 1, "challenges_cancelled": 0}, subject),
	public(SubjectAdaptationChangedData{}, "Adaptation of the subject's template was frozen or released.",
		map[string]any{"subject": "user-4711", "frozen": true}, subject),
	public(SubjectConsentChangedData{}, "Consent to research use was given or withdrawn.",
		map[string]any{"subject": "user-4711", "consented": false, "vectors_removed": 12}, subject),
	public(SubjectExportedData{}, "Everything held about the subject was exported.",
		map[string]any{"subject": "user-4711", "digest": exampleDigest}, subject),
	public(SubjectErasureRequestedData{}, "Erasure of the subject began.",
		map[string]any{"subject": "user-4711", "erasure": "ers_01jqx3k5v8e2sbyk0c4m7t9wzd"}, maybeSubject),
	public(SubjectErasedData{}, "Everything held about a subject was removed. The event names the erasure, not the subject.",
		map[string]any{"erasure": "ers_01jqx3k5v8e2sbyk0c4m7t9wzd"}),

	public(TemplateRolledBackData{}, "An earlier version of what was learned of the subject is in force again.",
		map[string]any{"subject": "user-4711", "template": "tpl_01jqx3k5v8e2sbyk0c4m7t9wzd", "modality": "keystroke",
			"device_class": "desktop", "from_version": 4, "to_version": 3}, subject),
	public(PasskeyRegisteredData{}, "A passkey was registered for the subject.",
		map[string]any{"subject": "user-4711", "passkey": examplePasskey, "backed_up": true}, subject),
	public(PasskeyRevokedData{}, "A passkey of the subject was revoked.",
		map[string]any{"subject": "user-4711", "passkey": examplePasskey, "remaining": 1}, maybeSubject),

	public(ProofRevokedData{}, "A proof was revoked before it expired.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"proof_id": "prf_01jqx3k5v8e2sbyk0c4m7t9wzd", "reason": "subject_revoked"}, maybeSubject, maybeAction, maybeAuthz, maybeDecision),
	public(AuthenticationDecidedData{}, "The earlier /auth operation decided.",
		map[string]any{"subject": "user-4711", "decision": "accept", "confidence": 0.93, "reason_codes": []any{"match:timing"}}, subject, verdict),
	public(EvaluationClosedData{}, "An evaluation ended.",
		map[string]any{"evaluation": "evl_01jqx3k5v8e2sbyk0c4m7t9wzd", "result": "passed", "decisions": 1200}),

	public(WebhookTestData{}, "A test, sent on request to one endpoint. It is not in the log.",
		map[string]any{"endpoint": exampleEndpoint}),
	public(WebhookFailingData{}, "An endpoint keeps failing; deliveries to it wait for a probe to succeed.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "status_500", "failing_since": "2026-03-01T09:00:00.000Z"}),
	public(WebhookRecoveredData{}, "An endpoint that was failing accepts deliveries again.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "probe_succeeded"}),
	public(WebhookDisabledData{}, "An endpoint was disabled: it failed for five days, or returned 410.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "failing", "failing_since": "2026-03-01T09:00:00.000Z"}),

	audit("A tenant was created.", TenantCreatedData{}),
	audit("An environment was created.", EnvironmentCreatedData{}),
	audit("An environment's settings changed.", EnvironmentSettingsChangedData{}, EnvironmentCeilingChangedData{}, EnvironmentResearchChangedData{}),
	audit("A credential was issued.", CredentialCreatedData{}),
	audit("A credential got a new key.", CredentialRotatedData{}),
	audit("A credential was revoked.", CredentialRevokedData{}),
	audit("A client token was issued.", ClientTokenCreatedData{}),
	audit("A client token was revoked.", ClientTokenRevokedData{}),
	audit("A person was invited to register a passkey for the console.", PersonInvitedData{}),
	audit("A person's roles in the environment changed.", PersonRolesChangedData{}),
	audit("A person registered a passkey for the console.", PersonJoinedData{}),
	audit("A person signed in to the console.", PersonSignedInData{}),
	audit("A person used their passkey again before a change.", PersonConfirmedData{}),
	audit("A person signed out of the console.", PersonSignedOutData{}),
	audit("A person's access to the console was ended.", PersonRevokedData{}),
	audit("The counter of a person's authenticator went back.", PersonPasskeyCloneWarnedData{}),
	audit("A team of reviewers was created.", TeamCreatedData{}),
	audit("A team of reviewers changed.", TeamUpdatedData{}),
	audit("A team of reviewers was deleted.", TeamDeletedData{}),
	audit("A person named a deputy for a period.", DeputyNamedData{}),
	audit("A person withdrew a deputy.", DeputyWithdrawnData{}),
	audit("An action was created.", ActionCreatedData{}),
	audit("An action changed.", ActionUpdatedData{}),
	audit("An action was archived.", ActionArchivedData{}),
	audit("A policy version was created.", PolicyCreatedData{}),
	audit("A policy version was activated.", PolicyActivatedData{}),
	audit("A policy version was retired.", PolicyRetiredData{}),
	audit("A signing key was made and published.", SigningKeyCreatedData{}),
	audit("A signing key began to sign.", SigningKeyActivatedData{}),
	audit("A signing key was retired.", SigningKeyRetiredData{}),
	audit("An observation session started.", SessionStartedData{}),
	audit("An observation session was ended.", SessionEndedData{}),
	audit("An observation session went idle for too long.", SessionExpiredData{}),
	audit("An enrollment began.", EnrollmentStartedData{}),
	audit("It was asked to complete an enrollment.", EnrollmentRequestedData{}),
	audit("A template was learned.", TemplateTrainedData{}),
	audit("A template adapted to confirmed evidence.", TemplateAdaptedData{}),
	audit("A template was reset.", TemplateResetData{}),
	audit("A grant to register a passkey was issued.", PasskeyRegistrationGrantedData{}),
	audit("An authenticator's counter went back.", PasskeyCloneWarningData{}),
	audit("A link to the hosted challenge page was made.", ChallengeLinkCreatedData{}),
	audit("An assertion was refused.", ChallengeAttemptFailedData{}),
	audit("A reviewer spoke where several are needed.", HoldReviewedData{}),
	audit("A reviewer took a hold or released it.", HoldAssignedData{}),
	audit("The relying party reported an outcome.", OutcomeReportedData{}),
	audit("A proof was consumed.", ProofConsumedData{}),
	audit("An evaluation was created.", EvaluationCreatedData{}),
	audit("A webhook endpoint was created.", WebhookEndpointCreatedData{}),
	audit("A webhook endpoint changed.", WebhookEndpointUpdatedData{}),
	audit("A webhook endpoint was deleted.", WebhookEndpointDeletedData{}),
	audit("A webhook endpoint was enabled again.", WebhookEndpointEnabledData{}),
	audit("A webhook endpoint got a new signing secret.", WebhookSecretRotatedData{}),
	audit("Events were queued again for a webhook endpoint.", WebhookEndpointReplayedData{}),
	audit("Research vectors were removed.", ResearchVectorsRemovedData{}),
	audit("A research period ended and its salt was destroyed.", ResearchSaltDestroyedData{}),
	audit("Another background model was put in force for the whole deployment.", BackgroundActivatedData{}),
	audit("A background that the environment learned from its own people was put in force.", BackgroundOwnActivatedData{}),
	audit("A background that the environment learned was worse than the one in force, and was refused.", BackgroundOwnRefusedData{}),
	audit("A background that the environment learned was taken out of force.", BackgroundOwnRetiredData{}),
	audit("A background model was learned from research vectors.", BackgroundLearnedData{}),
	audit("Data past its retention was removed.", RetentionExecutedData{}),
	audit("The audit log was exported.", AuditExportedData{}),
	audit("The log goes on behind a restore from a dump; sequence and hash are the chain's last link before it.", AuditReanchoredData{}),
}
