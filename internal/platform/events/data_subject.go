package events

// Types of the events of subjects, sessions, templates and passkeys.
const (
	TrustStateChanged          Type = "trust.state_changed"
	SessionAnomaly             Type = "session.anomaly"
	EnrollmentCompleted        Type = "enrollment.completed"
	EnrollmentFailed           Type = "enrollment.failed"
	RecoveryStarted            Type = "recovery.started"
	RecoveryReady              Type = "recovery.ready"
	RecoveryCompleted          Type = "recovery.completed"
	RecoveryExpired            Type = "recovery.expired"
	SubjectCreated             Type = "subject.created"
	SubjectRevoked             Type = "subject.revoked"
	SubjectReinstated          Type = "subject.reinstated"
	SubjectAdaptationChanged   Type = "subject.adaptation_changed"
	SubjectConsentChanged      Type = "subject.consent_changed"
	SubjectClaimsCapped        Type = "subject.claims_capped"
	SubjectAliasesChanged      Type = "subject.aliases_changed"
	SubjectChallengeRequired   Type = "subject.challenge_required"
	SubjectExported            Type = "subject.exported"
	SubjectErasureRequested    Type = "subject.erasure_requested"
	SubjectErased              Type = "subject.erased"
	TemplateRolledBack         Type = "template.rolled_back"
	PasskeyRegistered          Type = "passkey.registered"
	PasskeyRevoked             Type = "passkey.revoked"
	SessionStarted             Type = "session.started"
	SessionEnded               Type = "session.ended"
	SessionExpired             Type = "session.expired"
	EnrollmentRequested        Type = "enrollment.requested"
	EnrollmentStarted          Type = "enrollment.started"
	TemplateTrained            Type = "template.trained"
	TemplateAdapted            Type = "template.adapted"
	TemplateReset              Type = "template.reset"
	PasskeyRegistrationGranted Type = "passkey.registration_granted"
	PasskeyCloneWarning        Type = "passkey.clone_warning"
)

// SubjectCreatedData has Via if the subject was not created by POST /subjects.
type SubjectCreatedData struct {
	Via string `json:"via,omitempty"`
}

// SubjectRevokedData counts what became void with the subject. ReasonDigest covers the reason given, if any.
type SubjectRevokedData struct {
	ProofsRevoked       *int   `json:"proofs_revoked,omitempty"`
	ChallengesCancelled *int   `json:"challenges_cancelled,omitempty"`
	ReasonDigest        string `json:"reason_digest,omitempty" schema:"digest"`
}

// SubjectReinstatedData names the change request by which a second principal ended the revocation.
type SubjectReinstatedData struct {
	Change string `json:"change"`
}

// SubjectAdaptationChangedData says whether the subject's templates may adapt. ReasonDigest covers the reason given, if any.
type SubjectAdaptationChangedData struct {
	Frozen       bool   `json:"frozen"`
	ReasonDigest string `json:"reason_digest,omitempty" schema:"digest"`
}

// SubjectClaimsCappedData says until when claims about the subject are capped.
type SubjectClaimsCappedData struct {
	Until string `json:"until" schema:"date-time"`
}

// SubjectChallengeRequiredData says until when a security event requires challenges of the subject.
type SubjectChallengeRequiredData struct {
	Until string `json:"until" schema:"date-time"`
}

// SubjectAliasesChangedData says how many names the subject has in security events, by their format, such as "email 1".
type SubjectAliasesChangedData struct {
	Formats []string `json:"formats"`
}

// SubjectConsentChangedData has VectorsRemoved only if consent was withdrawn.
type SubjectConsentChangedData struct {
	Consented      bool   `json:"consented"`
	VectorsRemoved *int64 `json:"vectors_removed,omitempty"`
}

// SubjectExportedData has the digest of the exported document.
type SubjectExportedData struct {
	Digest string `json:"digest,omitempty" schema:"digest"`
}

// SubjectErasureRequestedData names the erasure that began.
type SubjectErasureRequestedData struct {
	Erasure string `json:"erasure"`
}

// SubjectErasedData names a completed erasure, never its subject. Removed counts rows, Events those of the event log. Kinds are the numbers of
// the receipt, such as "frames 12", in the order of their names.
type SubjectErasedData struct {
	Erasure string   `json:"erasure"`
	Removed *int64   `json:"removed,omitempty"`
	Events  *int64   `json:"events,omitempty"`
	Kinds   []string `json:"kinds,omitzero"`
}

// TrustStateChangedData is a transition of a session's trust state. Score is between 0 and 1.
type TrustStateChangedData struct {
	Session     string   `json:"session"`
	From        string   `json:"from"`
	To          string   `json:"to"`
	ReasonCodes []string `json:"reason_codes"`
	Score       *float64 `json:"score,omitempty"`
	Coverage    string   `json:"coverage,omitempty" schema:"none|sparse|partial|sufficient"`
}

// SessionAnomalyData names the alarming claim, and the evidence frame with which it was first detected.
type SessionAnomalyData struct {
	Session     string   `json:"session"`
	ReasonCodes []string `json:"reason_codes"`
	Claim       string   `json:"claim,omitempty"`
	Status      string   `json:"status,omitempty"`
	Frame       string   `json:"frame,omitempty"`
}

// SessionStartedData names an observation session.
type SessionStartedData struct {
	Session string `json:"session"`
}

// SessionExpiredData names a session that was idle for too long.
type SessionExpiredData SessionStartedData

// SessionEndedData has a reason if the service ended the session and none if the relying party did.
type SessionEndedData struct {
	Session string `json:"session"`
	Reason  string `json:"reason,omitempty"`
}

// EnrollmentStartedData names the session whose evidence began the enrollment.
type EnrollmentStartedData SessionStartedData

// EnrollmentRequestedData describes a request to complete an enrollment. Forced enrollments accept less evidence.
type EnrollmentRequestedData struct {
	Enrollment string `json:"enrollment"`
	Session    string `json:"session"`
	Forced     bool   `json:"forced"`
}

// EnrollmentCompletedData describes what the template was trained on. RefusedSessions did not match the others.
type EnrollmentCompletedData struct {
	Enrollment      string   `json:"enrollment"`
	Session         string   `json:"session,omitempty"`
	WindowsAccepted int      `json:"windows_accepted"`
	Limitations     []string `json:"limitations,omitzero"`
	Modalities      []string `json:"modalities,omitzero"`
	Anchor          string   `json:"anchor,omitempty"`
	Forced          *bool    `json:"forced,omitempty"`
	DeviceClass     string   `json:"device_class,omitempty"`
	RefusedSessions []string `json:"refused_sessions,omitzero"`
}

// EnrollmentFailedData differs from EnrollmentCompletedData in that it always names the limitations.
type EnrollmentFailedData struct {
	Enrollment      string   `json:"enrollment"`
	Session         string   `json:"session,omitempty"`
	WindowsAccepted int      `json:"windows_accepted"`
	Limitations     []string `json:"limitations"`
	Modalities      []string `json:"modalities,omitzero"`
	Anchor          string   `json:"anchor,omitempty"`
	Forced          *bool    `json:"forced,omitempty"`
	DeviceClass     string   `json:"device_class,omitempty"`
	RefusedSessions []string `json:"refused_sessions,omitzero"`
}

// TemplateTrainedData describes a template that was trained again for another model version.
type TemplateTrainedData struct {
	Template     string `json:"template"`
	Modality     string `json:"modality"`
	DeviceClass  string `json:"device_class"`
	FromModel    string `json:"from_model" schema:"empty"`
	ModelVersion string `json:"model_version"`
}

// TemplateAdaptedData describes a template that adapted to a session. Adaptations counts them since enrollment.
type TemplateAdaptedData struct {
	Template     string `json:"template"`
	Modality     string `json:"modality"`
	DeviceClass  string `json:"device_class"`
	Session      string `json:"session"`
	Adaptations  int    `json:"adaptations"`
	ModelVersion string `json:"model_version"`
}

// TemplateResetData counts the templates that a recovery retired.
type TemplateResetData struct {
	Templates int64  `json:"templates"`
	Recovery  string `json:"recovery"`
}

// TemplateRolledBackData names the version that is active again.
type TemplateRolledBackData struct {
	Template    string `json:"template"`
	Modality    string `json:"modality"`
	DeviceClass string `json:"device_class"`
	FromVersion int    `json:"from_version"`
	ToVersion   int    `json:"to_version"`
}

// PasskeyRegistrationGrantedData names the grant, never its token.
type PasskeyRegistrationGrantedData struct {
	Grant string `json:"grant"`
}

// PasskeyRegisteredData has the AAGUID if the authenticator reported one.
type PasskeyRegisteredData struct {
	Passkey  string `json:"passkey"`
	BackedUp *bool  `json:"backed_up,omitempty"`
	AAGUID   string `json:"aaguid,omitempty"`
	Imported *bool  `json:"imported,omitempty"` // from another relying party server, without a ceremony here
}

// PasskeyRevokedData counts the subject's remaining active passkeys.
type PasskeyRevokedData struct {
	Passkey   string `json:"passkey"`
	Remaining *int   `json:"remaining,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// PasskeyCloneWarningData has the last accepted counter, which the authenticator's counter did not exceed.
type PasskeyCloneWarningData struct {
	Passkey   string `json:"passkey"`
	SignCount int64  `json:"sign_count"`
}

// RecoveryStartedData describes a recovery. The other recovery events carry the same fields.
type RecoveryStartedData struct {
	Recovery    string   `json:"recovery"`
	Anchor      string   `json:"anchor" schema:"none|customer_session|idp|passkey|verified_identity"`
	ReadyAt     string   `json:"ready_at,omitempty" schema:"date-time"`
	ExpiresAt   string   `json:"expires_at,omitempty" schema:"date-time"`
	Limitations []string `json:"limitations,omitzero"`
}

// RecoveryReadyData has the fields of RecoveryStartedData.
type RecoveryReadyData RecoveryStartedData

// RecoveryCompletedData has the fields of RecoveryStartedData.
type RecoveryCompletedData RecoveryStartedData

// RecoveryExpiredData has the fields of RecoveryStartedData.
type RecoveryExpiredData RecoveryStartedData

func (SubjectCreatedData) EventType() Type             { return SubjectCreated }
func (SubjectRevokedData) EventType() Type             { return SubjectRevoked }
func (SubjectReinstatedData) EventType() Type          { return SubjectReinstated }
func (SubjectAdaptationChangedData) EventType() Type   { return SubjectAdaptationChanged }
func (SubjectConsentChangedData) EventType() Type      { return SubjectConsentChanged }
func (SubjectClaimsCappedData) EventType() Type        { return SubjectClaimsCapped }
func (SubjectChallengeRequiredData) EventType() Type   { return SubjectChallengeRequired }
func (SubjectAliasesChangedData) EventType() Type      { return SubjectAliasesChanged }
func (SubjectExportedData) EventType() Type            { return SubjectExported }
func (SubjectErasureRequestedData) EventType() Type    { return SubjectErasureRequested }
func (SubjectErasedData) EventType() Type              { return SubjectErased }
func (TrustStateChangedData) EventType() Type          { return TrustStateChanged }
func (SessionAnomalyData) EventType() Type             { return SessionAnomaly }
func (SessionStartedData) EventType() Type             { return SessionStarted }
func (SessionExpiredData) EventType() Type             { return SessionExpired }
func (SessionEndedData) EventType() Type               { return SessionEnded }
func (EnrollmentStartedData) EventType() Type          { return EnrollmentStarted }
func (EnrollmentRequestedData) EventType() Type        { return EnrollmentRequested }
func (EnrollmentCompletedData) EventType() Type        { return EnrollmentCompleted }
func (EnrollmentFailedData) EventType() Type           { return EnrollmentFailed }
func (TemplateTrainedData) EventType() Type            { return TemplateTrained }
func (TemplateAdaptedData) EventType() Type            { return TemplateAdapted }
func (TemplateResetData) EventType() Type              { return TemplateReset }
func (TemplateRolledBackData) EventType() Type         { return TemplateRolledBack }
func (PasskeyRegistrationGrantedData) EventType() Type { return PasskeyRegistrationGranted }
func (PasskeyRegisteredData) EventType() Type          { return PasskeyRegistered }
func (PasskeyRevokedData) EventType() Type             { return PasskeyRevoked }
func (PasskeyCloneWarningData) EventType() Type        { return PasskeyCloneWarning }
func (RecoveryStartedData) EventType() Type            { return RecoveryStarted }
func (RecoveryReadyData) EventType() Type              { return RecoveryReady }
func (RecoveryCompletedData) EventType() Type          { return RecoveryCompleted }
func (RecoveryExpiredData) EventType() Type            { return RecoveryExpired }

var subjectEvents = []Definition{
	public(TrustStateChangedData{}, "The trust state of a session changed.",
		map[string]any{"subject": "user-4711", "session": exampleSession, "from": "STABLE", "to": "WATCH",
			"reason_codes": []any{"continuity_uncertain"}}, maybeSubject),
	public(SessionAnomalyData{}, "The evidence of a session is anomalous: automation, replay or a different operator.",
		map[string]any{"subject": "user-4711", "session": exampleSession, "reason_codes": []any{"automation_detected"}}, maybeSubject),
	public(EnrollmentCompletedData{}, "A subject's template was learned.",
		map[string]any{"subject": "user-4711", "enrollment": "enr_01jqx3k5v8e2sbyk0c4m7t9wzd", "session": exampleSession,
			"windows_accepted": 24, "limitations": []any{}}, subject),
	public(EnrollmentFailedData{}, "There was too little consistent evidence to learn a template.",
		map[string]any{"subject": "user-4711", "enrollment": "enr_01jqx3k5v8e2sbyk0c4m7t9wzd", "session": exampleSession,
			"windows_accepted": 3, "limitations": []any{"too_few_windows"}}, subject),
	public(RecoveryStartedData{}, "A recovery began: open challenges and proofs are void, the template is reset.",
		recoveryExample(), subject),
	public(RecoveryReadyData{}, "The cooling-down time is over; the subject may enroll again.",
		recoveryExample(), subject),
	public(RecoveryCompletedData{}, "A new enrollment completed the recovery.",
		recoveryExample(), subject),
	public(RecoveryExpiredData{}, "The recovery expired before a new enrollment.",
		recoveryExample(), subject),
	public(SubjectCreatedData{}, "A subject was created.",
		map[string]any{"subject": "user-4711"}, subject),
	public(SubjectRevokedData{}, "A subject was revoked: its proofs are void and every later decision is deny.",
		map[string]any{"subject": "user-4711", "proofs_revoked": 1, "challenges_cancelled": 0}, subject),
	public(SubjectReinstatedData{}, "A second principal ended the revocation of a subject.",
		map[string]any{"subject": "user-4711", "change": exampleChange}, subject),
	public(SubjectAdaptationChangedData{}, "Adaptation of the subject's template was frozen or released.",
		map[string]any{"subject": "user-4711", "frozen": true}, subject),
	public(SubjectConsentChangedData{}, "Consent to research use was given or withdrawn.",
		map[string]any{"subject": "user-4711", "consented": false, "vectors_removed": 12}, subject),
	public(SubjectExportedData{}, "Everything stored about the subject was exported.",
		map[string]any{"subject": "user-4711", "digest": exampleDigest}, subject),
	public(SubjectErasureRequestedData{}, "Erasure of the subject began.",
		map[string]any{"subject": "user-4711", "erasure": "ers_01jqx3k5v8e2sbyk0c4m7t9wzd"}, maybeSubject),
	public(SubjectErasedData{}, "Everything stored about a subject was removed. The event names the erasure, not the subject.",
		map[string]any{"erasure": "ers_01jqx3k5v8e2sbyk0c4m7t9wzd"}),
	public(TemplateRolledBackData{}, "A template of the subject was rolled back to an earlier version.",
		map[string]any{"subject": "user-4711", "template": "tpl_01jqx3k5v8e2sbyk0c4m7t9wzd", "modality": "keystroke",
			"device_class": "desktop", "from_version": 4, "to_version": 3}, subject),
	public(PasskeyRegisteredData{}, "A passkey was registered for the subject.",
		map[string]any{"subject": "user-4711", "passkey": examplePasskey, "backed_up": true}, subject),
	public(PasskeyRevokedData{}, "A passkey of the subject was revoked.",
		map[string]any{"subject": "user-4711", "passkey": examplePasskey, "remaining": 1}, maybeSubject),
	audit("An observation session started.", SessionStartedData{}),
	audit("An observation session was ended.", SessionEndedData{}),
	audit("An observation session expired after being idle.", SessionExpiredData{}),
	audit("An enrollment began.", EnrollmentStartedData{}),
	audit("The completion of an enrollment was requested.", EnrollmentRequestedData{}),
	audit("Claims about a subject were capped, because of a recovery.", SubjectClaimsCappedData{}),
	audit("The names by which security events know a subject changed.", SubjectAliasesChangedData{}),
	audit("A security event requires challenges of a subject for a time.", SubjectChallengeRequiredData{}),
	audit("A template was learned.", TemplateTrainedData{}),
	audit("A template adapted to confirmed evidence.", TemplateAdaptedData{}),
	audit("A template was reset.", TemplateResetData{}),
	audit("A grant to register a passkey was issued.", PasskeyRegistrationGrantedData{}),
	audit("The signature counter of an authenticator decreased: it may be cloned.", PasskeyCloneWarningData{}),
}
