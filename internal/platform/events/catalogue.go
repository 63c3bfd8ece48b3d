package events

// Fields that several types share.
var (
	subject       = req("subject", text)
	maybeSubject  = opt("subject", text)
	action        = req("action", text)
	authorization = req("authorization", text)
	decision      = req("decision", enum("allow", "challenge", "hold", "deny"))
	maybeDecision = opt("decision", enum("allow", "challenge", "hold", "deny"))
	challenge     = req("challenge", text)
	session       = req("session", text)
	reasonCodes   = req("reason_codes", words)
	coverage      = enum("none", "sparse", "partial", "sufficient")
	child         = opt("child_authorization", text)
	childDecision = opt("child_decision", enum("allow", "challenge", "hold", "deny"))
)

func public(t Type, description string, example map[string]any, fields ...field) Definition {
	example["environment"] = "env_01jqx3k5v8e2sbyk0c4m7t9wzd"
	return Definition{Type: t, Public: true, Description: description, Schema: object(fields), Example: example}
}

func audit(t Type, description string) Definition {
	return Definition{Type: t, Description: description, Schema: auditSchema}
}

// recoveryFields are the same at every stage of a recovery.
var recoveryFields = []field{subject, req("recovery", text),
	req("anchor", enum("none", "customer_session", "idp", "passkey", "verified_identity")),
	opt("ready_at", timestamp), opt("expires_at", timestamp), opt("limitations", words)}

// endpointFields are the same in every notice about a webhook endpoint.
var endpointFields = []field{req("endpoint", text), req("reason", text), opt("failing_since", timestamp),
	opt("failures", count)}

var catalogue = []Definition{
	public(AuthorizationDecided, "A decision was made: at authorize, or again after a challenge or a review.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"decision": "challenge", "mode": "enforce", "policy_version": 3, "reason_codes": []any{"coverage_below_minimum"},
			"coverage": "sparse", "challenge": exampleChallenge},
		subject, action, authorization, decision, req("mode", enum("test", "shadow", "enforce")), req("policy_version", count),
		reasonCodes, opt("coverage", coverage), opt("insufficient_evidence", flag), opt("action_hash", digest),
		opt("trace_id", text), opt("challenge", text), opt("proof_id", text), opt("parent", text), opt("latency_ms", count),
		opt("record_digest", digest)),

	public(ChallengeRequested, "A step-up was asked of the subject.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "methods": []any{"passkey"}, "expires_at": "2026-03-01T09:05:00.000Z"},
		subject, action, authorization, maybeDecision, challenge, req("methods", words), req("expires_at", timestamp),
		opt("display_digest", digest)),
	public(ChallengeCompleted, "The subject completed the step-up; child_authorization is the decision that followed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "method": "passkey", "strength": "phishing_resistant",
			"child_authorization": exampleChild, "child_decision": "allow"},
		subject, action, authorization, maybeDecision, challenge, req("method", enum("passkey", "sandbox_confirm")),
		opt("strength", enum("phishing_resistant", "sandbox")), child, childDecision),
	public(ChallengeCancelled, "The step-up was cancelled, by the relying party or because the subject may no longer act.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge},
		maybeSubject, opt("action", text), authorization, maybeDecision, challenge, opt("reason", text)),
	public(ChallengeExpired, "Nobody completed the step-up in time.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge},
		maybeSubject, opt("action", text), authorization, maybeDecision, challenge, opt("expires_at", timestamp)),
	public(ChallengeFailed, "Too many assertions were refused; the step-up can no longer be completed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"challenge": exampleChallenge, "failures": 5},
		maybeSubject, opt("action", text), authorization, maybeDecision, challenge, opt("failures", count), opt("reason", text)),

	public(HoldOpened, "A decision waits for a reviewer.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"risk_class": "high", "due_at": "2026-03-04T09:00:00.000Z", "approvals_required": 1,
			"reason_codes": []any{"evidence_insufficient"}},
		subject, action, authorization, maybeDecision, req("risk_class", enum("low", "elevated", "high", "critical")),
		req("due_at", timestamp), opt("approvals_required", count), opt("reason_codes", words)),
	public(HoldReminder, "Half of the time for a review has passed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"due_at": "2026-03-04T09:00:00.000Z"},
		maybeSubject, opt("action", text), authorization, maybeDecision, req("due_at", timestamp),
		opt("risk_class", text), opt("opened_at", timestamp)),
	public(HoldApproved, "A reviewer approved; child_authorization is the decision that followed.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "child_authorization": exampleChild,
			"child_decision": "allow"},
		maybeSubject, opt("action", text), authorization, maybeDecision, req("resolved_by", text), opt("approvals", count),
		child, childDecision),
	public(HoldRejected, "A reviewer rejected.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"resolved_by": "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd", "outcome": "manually_rejected"},
		maybeSubject, opt("action", text), authorization, maybeDecision, req("resolved_by", text), opt("outcome", text)),
	public(HoldExpired, "Nobody reviewed in time; the hold was not approved.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"due_at": "2026-03-04T09:00:00.000Z"},
		maybeSubject, opt("action", text), authorization, maybeDecision, opt("due_at", timestamp), opt("opened_at", timestamp),
		opt("reason", text)),

	public(TrustStateChanged, "The trust state of a session moved.",
		map[string]any{"subject": "user-4711", "session": exampleSession, "from": "STABLE", "to": "WATCH",
			"reason_codes": []any{"continuity_uncertain"}},
		maybeSubject, session, req("from", text), req("to", text), reasonCodes, opt("score", number), opt("coverage", coverage)),
	public(SessionAnomaly, "Evidence of a session shows something that should not be: automation, replay or another operator.",
		map[string]any{"subject": "user-4711", "session": exampleSession, "reason_codes": []any{"automation_detected"}},
		maybeSubject, session, reasonCodes, opt("claim", text), opt("status", text), opt("frame", text)),

	public(EnrollmentCompleted, "A subject's template was learned.",
		map[string]any{"subject": "user-4711", "enrollment": "enr_01jqx3k5v8e2sbyk0c4m7t9wzd", "session": exampleSession,
			"windows_accepted": 24, "limitations": []any{}},
		subject, req("enrollment", text), opt("session", text), req("windows_accepted", count), opt("limitations", words),
		opt("modalities", words), opt("anchor", text), opt("forced", flag), opt("device_class", text), opt("refused_sessions", words)),
	public(EnrollmentFailed, "There was too little evidence to learn a template from, or too little of it fits together.",
		map[string]any{"subject": "user-4711", "enrollment": "enr_01jqx3k5v8e2sbyk0c4m7t9wzd", "session": exampleSession,
			"windows_accepted": 3, "limitations": []any{"too_few_windows"}},
		subject, req("enrollment", text), opt("session", text), req("windows_accepted", count), req("limitations", words),
		opt("modalities", words), opt("anchor", text), opt("forced", flag), opt("device_class", text), opt("refused_sessions", words)),

	public(RecoveryStarted, "A recovery began: open challenges and proofs are void, the template is reset.", recoveryExample(), recoveryFields...),
	public(RecoveryReady, "The cooling-down time is over; the subject may enroll again.", recoveryExample(), recoveryFields...),
	public(RecoveryCompleted, "A new enrollment completed the recovery.", recoveryExample(), recoveryFields...),
	public(RecoveryExpired, "The recovery ran out before a new enrollment.", recoveryExample(), recoveryFields...),

	public(SubjectCreated, "A subject was created.", map[string]any{"subject": "user-4711"}, subject, opt("via", text)),
	public(SubjectRevoked, "A subject was revoked: its proofs are void and every decision about it is deny.",
		map[string]any{"subject": "user-4711", "proofs_revoked": 1, "challenges_cancelled": 0},
		subject, opt("proofs_revoked", count), opt("challenges_cancelled", count), opt("reason_digest", digest)),
	public(SubjectAdaptationChanged, "Adaptation of the subject's template was frozen or released.",
		map[string]any{"subject": "user-4711", "frozen": true}, subject, req("frozen", flag), opt("reason_digest", digest)),
	public(SubjectConsentChanged, "Consent to research use was given or withdrawn.",
		map[string]any{"subject": "user-4711", "consented": false, "vectors_removed": 12},
		subject, req("consented", flag), opt("vectors_removed", count)),
	public(SubjectExported, "Everything held about the subject was exported.",
		map[string]any{"subject": "user-4711", "digest": exampleDigest}, subject, opt("digest", digest)),
	public(SubjectErasureRequested, "Erasure of the subject began.",
		map[string]any{"subject": "user-4711", "erasure": "ers_01jqx3k5v8e2sbyk0c4m7t9wzd"}, maybeSubject, req("erasure", text)),
	public(SubjectErased, "Everything held about a subject was removed. The event names the erasure, not the subject.",
		map[string]any{"erasure": "ers_01jqx3k5v8e2sbyk0c4m7t9wzd"}, req("erasure", text), opt("removed", count), opt("events", count)),

	public(TemplateRolledBack, "An earlier version of what was learned of the subject is in force again.",
		map[string]any{"subject": "user-4711", "template": "tpl_01jqx3k5v8e2sbyk0c4m7t9wzd", "modality": "keystroke",
			"device_class": "desktop", "from_version": 4, "to_version": 3},
		subject, req("template", text), req("modality", text), req("device_class", text), req("from_version", count), req("to_version", count)),
	public(PasskeyRegistered, "A passkey was registered for the subject.",
		map[string]any{"subject": "user-4711", "passkey": examplePasskey, "backed_up": true},
		subject, req("passkey", text), opt("backed_up", flag), opt("aaguid", text)),
	public(PasskeyRevoked, "A passkey of the subject was revoked.",
		map[string]any{"subject": "user-4711", "passkey": examplePasskey, "remaining": 1},
		maybeSubject, req("passkey", text), opt("remaining", count), opt("reason", text)),

	public(ProofRevoked, "A proof was revoked before it expired.",
		map[string]any{"subject": "user-4711", "action": "payment.release", "authorization": exampleAuthorization,
			"proof_id": "prf_01jqx3k5v8e2sbyk0c4m7t9wzd", "reason": "subject_revoked"},
		maybeSubject, opt("action", text), opt("authorization", text), maybeDecision, req("proof_id", text), req("reason", text)),
	public(AuthenticationDecided, "The earlier /auth operation decided.",
		map[string]any{"subject": "user-4711", "decision": "accept", "confidence": 0.93, "reason_codes": []any{"match:timing"}},
		subject, req("decision", enum("accept", "challenge", "reject")), reasonCodes, opt("confidence", number)),
	public(EvaluationClosed, "An evaluation ended.",
		map[string]any{"evaluation": "evl_01jqx3k5v8e2sbyk0c4m7t9wzd", "result": "passed", "decisions": 1200},
		req("evaluation", text), req("result", enum("passed", "failed")), opt("decisions", count)),

	public(WebhookTest, "A test, sent on request to one endpoint. It is not in the log.",
		map[string]any{"endpoint": exampleEndpoint}, req("endpoint", text)),
	public(WebhookFailing, "An endpoint keeps failing; deliveries to it wait for a probe to succeed.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "status_500", "failing_since": "2026-03-01T09:00:00.000Z"}, endpointFields...),
	public(WebhookRecovered, "An endpoint that was failing answers again.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "probe_succeeded"}, endpointFields...),
	public(WebhookDisabled, "An endpoint was disabled: it failed for five days, or answered 410.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "failing", "failing_since": "2026-03-01T09:00:00.000Z"}, endpointFields...),

	audit(TenantCreated, "A tenant was created."),
	audit(EnvironmentCreated, "An environment was created."),
	audit(EnvironmentUpdated, "An environment's settings changed."),
	audit(CredentialCreated, "A credential was issued."),
	audit(CredentialRotated, "A credential got a new key."),
	audit(CredentialRevoked, "A credential was revoked."),
	audit(ClientTokenCreated, "A client token was issued."),
	audit(ClientTokenRevoked, "A client token was revoked."),
	audit(PersonInvited, "A person was invited to register a passkey for the console."),
	audit(PersonRolesChanged, "A person's roles in the environment changed."),
	audit(PersonJoined, "A person registered a passkey for the console."),
	audit(PersonSignedIn, "A person signed in to the console."),
	audit(PersonConfirmed, "A person used their passkey again before a change."),
	audit(PersonSignedOut, "A person signed out of the console."),
	audit(PersonRevoked, "A person's access to the console was ended."),
	audit(PersonPasskeyCloneWarned, "The counter of a person's authenticator went back."),
	audit(ActionCreated, "An action was created."),
	audit(ActionUpdated, "An action changed."),
	audit(ActionArchived, "An action was archived."),
	audit(PolicyCreated, "A policy version was created."),
	audit(PolicyActivated, "A policy version was activated."),
	audit(PolicyRetired, "A policy version was retired."),
	audit(SigningKeyCreated, "A signing key was made and published."),
	audit(SigningKeyActivated, "A signing key began to sign."),
	audit(SigningKeyRetired, "A signing key was retired."),
	audit(SessionStarted, "An observation session started."),
	audit(SessionEnded, "An observation session was ended."),
	audit(SessionExpired, "An observation session went idle for too long."),
	audit(EnrollmentStarted, "An enrollment began."),
	audit(EnrollmentRequested, "It was asked to complete an enrollment."),
	audit(TemplateTrained, "A template was learned."),
	audit(TemplateAdapted, "A template adapted to confirmed evidence."),
	audit(TemplateReset, "A template was reset."),
	audit(PasskeyRegistrationGranted, "A grant to register a passkey was issued."),
	audit(PasskeyCloneWarning, "An authenticator's counter went back."),
	audit(ChallengeLinkCreated, "A link to the hosted challenge page was made."),
	audit(ChallengeAttemptFailed, "An assertion was refused."),
	audit(HoldReviewed, "A reviewer spoke where several are needed."),
	audit(OutcomeReported, "The relying party reported an outcome."),
	audit(ProofConsumed, "A proof was consumed."),
	audit(EvaluationCreated, "An evaluation was created."),
	audit(WebhookEndpointCreated, "A webhook endpoint was created."),
	audit(WebhookEndpointUpdated, "A webhook endpoint changed."),
	audit(WebhookEndpointDeleted, "A webhook endpoint was deleted."),
	audit(WebhookEndpointEnabled, "A webhook endpoint was enabled again."),
	audit(WebhookSecretRotated, "A webhook endpoint got a new signing secret."),
	audit(WebhookEndpointReplayed, "Events were queued again for a webhook endpoint."),
	audit(ResearchVectorsRemoved, "Research vectors were removed."),
	audit(ResearchSaltDestroyed, "A research period ended and its salt was destroyed."),
	audit(BackgroundActivated, "Another background model was put in force for the whole deployment."),
	audit(BackgroundLearned, "A background model was learned from research vectors."),
	audit(RetentionExecuted, "Data past its retention was removed."),
	audit(AuditExported, "The audit log was exported."),
	audit(AuditReanchored, "The log goes on behind a restore from a dump; sequence and hash are the chain's last link before it."),
}
