package models

// EnvironmentKind is sandbox or live.
type EnvironmentKind string

// Environment kinds.
const (
	Sandbox EnvironmentKind = "sandbox"
	Live    EnvironmentKind = "live"
)

// Mode returns the mode of the environment's credentials in the contract: test or live.
func (k EnvironmentKind) Mode() string {
	if k == Live {
		return "live"
	}
	return "test"
}

// Scope is the kind of a credential, which its permissions can narrow.
type Scope string

// Scopes, from least to most. Admin includes server.
const (
	ScopeClient Scope = "client"
	ScopeServer Scope = "server"
	ScopeAdmin  Scope = "admin"
)

// ActionMode says whether a decision is enforced.
type ActionMode string

// Action modes.
const (
	ModeTest    ActionMode = "test"
	ModeShadow  ActionMode = "shadow"
	ModeEnforce ActionMode = "enforce"
)

// PolicyStatus is the status of a policy version.
type PolicyStatus string

// Policy version states.
const (
	PolicyDraft   PolicyStatus = "draft"
	PolicyActive  PolicyStatus = "active"
	PolicyRetired PolicyStatus = "retired"
)

// SubjectStatus is the status of a subject.
type SubjectStatus string

// Subject states.
const (
	SubjectActive  SubjectStatus = "active"
	SubjectRevoked SubjectStatus = "revoked"
	SubjectErasing SubjectStatus = "erasing"
)

// EnrollmentState is the progress of a subject's enrollment.
type EnrollmentState string

// Enrollment states of a subject.
const (
	EnrollmentNone       EnrollmentState = "none"
	EnrollmentCollecting EnrollmentState = "collecting"
	EnrollmentEnrolled   EnrollmentState = "enrolled"
)

// EnrollmentStatus is the status of one enrollment.
type EnrollmentStatus string

// Enrollment states.
const (
	EnrollmentPending   EnrollmentStatus = "pending"
	EnrollmentCompleted EnrollmentStatus = "completed"
	EnrollmentFailed    EnrollmentStatus = "failed"
)

// SessionStatus is the status of an observation session.
type SessionStatus string

// Session states.
const (
	SessionActive  SessionStatus = "active"
	SessionEnded   SessionStatus = "ended"
	SessionExpired SessionStatus = "expired"
)

// ChallengeStatus is the status of a challenge.
type ChallengeStatus string

// Challenge states.
const (
	ChallengeOpen      ChallengeStatus = "open"
	ChallengeCompleted ChallengeStatus = "completed"
	ChallengeCancelled ChallengeStatus = "cancelled"
	ChallengeExpired   ChallengeStatus = "expired"
	ChallengeFailed    ChallengeStatus = "failed"
)

// HoldStatus is the status of a hold, shown as review_status.
type HoldStatus string

// Hold states.
const (
	HoldPending   HoldStatus = "pending"
	HoldApproved  HoldStatus = "approved"
	HoldRejected  HoldStatus = "rejected"
	HoldExpired   HoldStatus = "expired"
	HoldWithdrawn HoldStatus = "withdrawn"
)

// ChangeKind says what a change request changes.
type ChangeKind string

// Kinds of change requests.
const (
	ChangePolicyActivate      ChangeKind = "policy.activate"
	ChangeActionMode          ChangeKind = "action.mode"
	ChangeEnvironmentSettings ChangeKind = "environment.settings"
	ChangeTeamCreate          ChangeKind = "team.create"
	ChangeTeamUpdate          ChangeKind = "team.update"
	ChangeTeamDelete          ChangeKind = "team.delete"
	ChangeSubjectReinstate    ChangeKind = "subject.reinstate"
	ChangePersonManager       ChangeKind = "person.manager"
	ChangeSignalsSet          ChangeKind = "signals.set"
	ChangeSignalsRemove       ChangeKind = "signals.remove"
	ChangeDestinationSet      ChangeKind = "destination.set"
	ChangeDestinationRemove   ChangeKind = "destination.remove"
	ChangeWebhookCreate       ChangeKind = "webhook.create"
	ChangeWebhookUpdate       ChangeKind = "webhook.update"
	ChangeListEntries         ChangeKind = "list.entries"
	ChangeListDelete          ChangeKind = "list.delete"
)

// ChangeStatus is the status of a change request.
type ChangeStatus string

// Change request states. A superseded change was approved when what it was proposed against was no longer in force.
const (
	ChangePending    ChangeStatus = "pending"
	ChangeApproved   ChangeStatus = "approved"
	ChangeRejected   ChangeStatus = "rejected"
	ChangeWithdrawn  ChangeStatus = "withdrawn"
	ChangeSuperseded ChangeStatus = "superseded"
	ChangeExpired    ChangeStatus = "expired"
)

// ProofStatus is the stored state of a proof; expired is computed from expires_at.
type ProofStatus string

// Proof states.
const (
	ProofActive   ProofStatus = "active"
	ProofConsumed ProofStatus = "consumed"
	ProofRevoked  ProofStatus = "revoked"
	ProofExpired  ProofStatus = "expired"
	ProofUnknown  ProofStatus = "unknown"
)

// KeyStatus is the status of a signing key.
type KeyStatus string

// Signing key states: published before first use, retired when the last proof it signed has expired.
const (
	KeyNext     KeyStatus = "next"
	KeyActive   KeyStatus = "active"
	KeyRetiring KeyStatus = "retiring"
	KeyRetired  KeyStatus = "retired"
)

// RecoveryStatus is the status of a recovery.
type RecoveryStatus string

// Recovery states.
const (
	RecoveryPending     RecoveryStatus = "pending"
	RecoveryCoolingDown RecoveryStatus = "cooling_down"
	RecoveryReady       RecoveryStatus = "ready"
	RecoveryCompleted   RecoveryStatus = "completed"
	RecoveryExpired     RecoveryStatus = "expired"
)

// TemplateStatus is the status of a template version; superseded versions are stored for a rollback.
type TemplateStatus string

// Template states.
const (
	TemplateActive     TemplateStatus = "active"
	TemplateSuperseded TemplateStatus = "superseded"
	TemplateRetired    TemplateStatus = "retired"
)

// TemplateOrigin says how a template version was made.
type TemplateOrigin string

// Origins of templates.
const (
	OriginEnrollment TemplateOrigin = "enrollment" // OriginRef is the enrollment
	OriginAdaptation TemplateOrigin = "adaptation" // OriginRef is the confirmed session
	OriginRetraining TemplateOrigin = "retraining" // OriginRef is the version that was carried over to another background
)

// BackgroundStatus is the status of a background that is or was active.
type BackgroundStatus string

// Background states.
const (
	BackgroundActive  BackgroundStatus = "active"
	BackgroundRetired BackgroundStatus = "retired"
)

// EvaluationStatus is the status of an evaluation.
type EvaluationStatus string

// Evaluation states.
const (
	EvaluationOpen   EvaluationStatus = "open"
	EvaluationClosed EvaluationStatus = "closed"
)

// DeliveryStatus is the status of one delivery to one endpoint.
type DeliveryStatus string

// Delivery states.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliverySucceeded DeliveryStatus = "succeeded"
	DeliveryFailed    DeliveryStatus = "failed"
	DeliveryDiscarded DeliveryStatus = "discarded"
)
