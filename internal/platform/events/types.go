package events

import "strings"

// Type names an event: a lower-case noun and a past participle, separated by a dot. Types are part of the contract and of
// stored events: never rename one.
type Type string

// Public types appear in the activity list and on the event stream, and are delivered to webhook endpoints.
const (
	AuthorizationDecided Type = "authorization.decided"

	ChallengeRequested Type = "challenge.requested"
	ChallengeCompleted Type = "challenge.completed"
	ChallengeCancelled Type = "challenge.cancelled"
	ChallengeExpired   Type = "challenge.expired"
	ChallengeFailed    Type = "challenge.failed"

	HoldOpened   Type = "hold.opened"
	HoldReminder Type = "hold.reminder"
	HoldApproved Type = "hold.approved"
	// A hold may be approved by a second team as well from now on.
	HoldEscalated Type = "hold.escalated"
	HoldRejected  Type = "hold.rejected"
	HoldExpired   Type = "hold.expired"

	ChangeRequested  Type = "change.requested"
	ChangeApproved   Type = "change.approved"
	ChangeRejected   Type = "change.rejected"
	ChangeWithdrawn  Type = "change.withdrawn"
	ChangeSuperseded Type = "change.superseded"
	ChangeExpired    Type = "change.expired"

	TrustStateChanged Type = "trust.state_changed"
	SessionAnomaly    Type = "session.anomaly"

	EnrollmentCompleted Type = "enrollment.completed"
	EnrollmentFailed    Type = "enrollment.failed"

	RecoveryStarted   Type = "recovery.started"
	RecoveryReady     Type = "recovery.ready"
	RecoveryCompleted Type = "recovery.completed"
	RecoveryExpired   Type = "recovery.expired"

	SubjectCreated           Type = "subject.created"
	SubjectRevoked           Type = "subject.revoked"
	SubjectAdaptationChanged Type = "subject.adaptation_changed"
	SubjectConsentChanged    Type = "subject.consent_changed"
	SubjectExported          Type = "subject.exported"
	SubjectErasureRequested  Type = "subject.erasure_requested"
	SubjectErased            Type = "subject.erased"

	TemplateRolledBack Type = "template.rolled_back"

	PasskeyRegistered Type = "passkey.registered"
	PasskeyRevoked    Type = "passkey.revoked"

	ProofRevoked          Type = "proof.revoked"
	AuthenticationDecided Type = "authentication.decided"
	EvaluationClosed      Type = "evaluation.closed"

	QuotaNearlyUsed Type = "quota.nearly_used"

	WebhookTest      Type = "webhook.test"
	WebhookFailing   Type = "webhook.failing"
	WebhookRecovered Type = "webhook.recovered"
	WebhookDisabled  Type = "webhook.disabled"
)

// Audit-only types appear in the audit log only.
const (
	TenantCreated      Type = "tenant.created"
	EnvironmentCreated Type = "environment.created"
	EnvironmentUpdated Type = "environment.updated"

	CredentialCreated  Type = "credential.created"
	CredentialRotated  Type = "credential.rotated"
	CredentialRevoked  Type = "credential.revoked"
	ClientTokenCreated Type = "client_token.created"
	ClientTokenRevoked Type = "client_token.revoked"

	PersonInvited            Type = "person.invited"
	PersonRolesChanged       Type = "person.roles_changed"
	PersonJoined             Type = "person.joined"
	PersonSignedIn           Type = "person.signed_in"
	PersonConfirmed          Type = "person.confirmed"
	PersonSignedOut          Type = "person.signed_out"
	PersonRevoked            Type = "person.revoked"
	PersonPasskeyCloneWarned Type = "person.clone_warning"
	PersonProvisioned        Type = "person.provisioned"
	PersonIdentityConfirmed  Type = "person.identity_confirmed"
	PersonLinked             Type = "person.linked"
	PersonSignInFailed       Type = "person.sign_in_failed"

	OperationRefused Type = "operation.refused"
	RecordsRead      Type = "records.read"
	RecordAltered    Type = "record.altered"

	IdentityProviderChanged Type = "identity_provider.changed"
	IdentityProviderRemoved Type = "identity_provider.removed"

	TeamCreated     Type = "team.created"
	TeamUpdated     Type = "team.updated"
	TeamDeleted     Type = "team.deleted"
	DeputyNamed     Type = "deputy.named"
	DeputyWithdrawn Type = "deputy.withdrawn"

	ListCreated Type = "list.created"
	ListChanged Type = "list.changed"
	ListDeleted Type = "list.deleted"

	ChatAddressCreated   Type = "chat_address.created"
	ChatAddressDeleted   Type = "chat_address.deleted"
	PersonNoticesChosen  Type = "person.notices_chosen"
	PersonAddressChanged Type = "person.address_changed"

	ActionCreated   Type = "action.created"
	ActionUpdated   Type = "action.updated"
	ActionArchived  Type = "action.archived"
	PolicyCreated   Type = "policy.created"
	PolicyActivated Type = "policy.activated"
	PolicyRetired   Type = "policy.retired"

	SigningKeyCreated   Type = "signing_key.created"
	SigningKeyActivated Type = "signing_key.activated"
	SigningKeyRetired   Type = "signing_key.retired"
	RootKeyUsed         Type = "root_key.used"

	SessionStarted Type = "session.started"
	SessionEnded   Type = "session.ended"
	SessionExpired Type = "session.expired"

	EnrollmentRequested Type = "enrollment.requested"
	EnrollmentStarted   Type = "enrollment.started"
	TemplateTrained     Type = "template.trained"
	TemplateAdapted     Type = "template.adapted"
	TemplateReset       Type = "template.reset"

	BackgroundActivated    Type = "background.activated"
	BackgroundOwnActivated Type = "background.own_activated"
	BackgroundOwnRefused   Type = "background.own_refused"
	BackgroundOwnRetired   Type = "background.own_retired"

	PasskeyRegistrationGranted Type = "passkey.registration_granted"
	PasskeyCloneWarning        Type = "passkey.clone_warning"

	ChallengeLinkCreated   Type = "challenge.link_created"
	ChallengeAttemptFailed Type = "challenge.attempt_failed"
	// One of several approvals.
	HoldReviewed    Type = "hold.reviewed"
	HoldAssigned    Type = "hold.assigned"
	OutcomeReported Type = "outcome.reported"
	ProofConsumed   Type = "proof.consumed"

	EvaluationCreated Type = "evaluation.created"

	ProofRead Type = "proof.read"

	WebhookEndpointCreated  Type = "webhook_endpoint.created"
	WebhookEndpointUpdated  Type = "webhook_endpoint.updated"
	WebhookEndpointDeleted  Type = "webhook_endpoint.deleted"
	WebhookEndpointEnabled  Type = "webhook_endpoint.enabled"
	WebhookSecretRotated    Type = "webhook_endpoint.secret_rotated"
	WebhookEndpointReplayed Type = "webhook_endpoint.replayed"

	ResearchVectorsRemoved Type = "research.vectors_removed"
	ResearchSaltDestroyed  Type = "research.salt_destroyed"
	BackgroundLearned      Type = "background.learned"
	RetentionExecuted      Type = "retention.executed"
	AuditExported          Type = "audit.exported"
	ListExportStarted      Type = "list.export_started"
	ListExportEnded        Type = "list.export_ended"
	HistoryOpened          Type = "history.opened"
	FilterSaved            Type = "filter.saved"
	FilterRenamed          Type = "filter.renamed"
	FilterDeleted          Type = "filter.deleted"
)

// Public reports whether the type appears in the activity list, on the stream and in webhooks.
func (t Type) Public() bool {
	d, ok := Lookup(t)
	return ok && d.Public
}

// Matches reports whether a webhook endpoint subscribed to the patterns receives the type. A pattern is a type, a noun followed
// by ".*" such as "hold.*", or "*". No patterns means every public type.
func Matches(patterns []string, t Type) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		if p == "*" || p == string(t) {
			return true
		}
		if prefix, ok := strings.CutSuffix(p, ".*"); ok && strings.HasPrefix(string(t), prefix+".") {
			return true
		}
	}
	return false
}

// KnownPattern reports whether the pattern matches at least one public type.
func KnownPattern(pattern string) bool {
	for _, d := range catalogue {
		if d.Public && Matches([]string{pattern}, d.Type) {
			return true
		}
	}
	return false
}
