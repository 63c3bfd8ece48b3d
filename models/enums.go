package models

// EnvironmentKind tells a sandbox from a live environment.
type EnvironmentKind string

// Environment kinds.
const (
	Sandbox EnvironmentKind = "sandbox"
	Live    EnvironmentKind = "live"
)

// Mode is test or live as SPEC section 5.3 names the mode of a credential.
func (k EnvironmentKind) Mode() string {
	if k == Live {
		return "live"
	}
	return "test"
}

// Scope is what a credential may do.
type Scope string

// Scopes, from least to most. Admin may all that server may.
const (
	ScopeClient Scope = "client"
	ScopeServer Scope = "server"
	ScopeAdmin  Scope = "admin"
)

// ActionMode says how far a decision reaches.
type ActionMode string

// Action modes (SPEC section 2, DESIGN section 4).
const (
	ModeTest    ActionMode = "test"
	ModeShadow  ActionMode = "shadow"
	ModeEnforce ActionMode = "enforce"
)

// PolicyStatus is the life of a policy version.
type PolicyStatus string

// Policy version states.
const (
	PolicyDraft   PolicyStatus = "draft"
	PolicyActive  PolicyStatus = "active"
	PolicyRetired PolicyStatus = "retired"
)

// SubjectStatus is the life of a subject.
type SubjectStatus string

// Subject states.
const (
	SubjectActive  SubjectStatus = "active"
	SubjectRevoked SubjectStatus = "revoked"
	SubjectErasing SubjectStatus = "erasing"
)

// EnrollmentState is how far a subject has come.
type EnrollmentState string

// Enrollment states of a subject.
const (
	EnrollmentNone       EnrollmentState = "none"
	EnrollmentCollecting EnrollmentState = "collecting"
	EnrollmentEnrolled   EnrollmentState = "enrolled"
)

// EnrollmentStatus is the life of one enrollment.
type EnrollmentStatus string

// Enrollment states (SPEC section 3).
const (
	EnrollmentPending   EnrollmentStatus = "pending"
	EnrollmentCompleted EnrollmentStatus = "completed"
	EnrollmentFailed    EnrollmentStatus = "failed"
)

// SessionStatus is the life of an observation session.
type SessionStatus string

// Session states.
const (
	SessionActive  SessionStatus = "active"
	SessionEnded   SessionStatus = "ended"
	SessionExpired SessionStatus = "expired"
)

// ChallengeStatus is the life of a challenge.
type ChallengeStatus string

// Challenge states.
const (
	ChallengeOpen      ChallengeStatus = "open"
	ChallengeCompleted ChallengeStatus = "completed"
	ChallengeCancelled ChallengeStatus = "cancelled"
	ChallengeExpired   ChallengeStatus = "expired"
	ChallengeFailed    ChallengeStatus = "failed"
)

// HoldStatus is the life of a hold, shown as review_status.
type HoldStatus string

// Hold states.
const (
	HoldPending  HoldStatus = "pending"
	HoldApproved HoldStatus = "approved"
	HoldRejected HoldStatus = "rejected"
	HoldExpired  HoldStatus = "expired"
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

// KeyStatus is the life of a signing key.
type KeyStatus string

// Signing key states: published before first use, kept until the last proof it signed is dead.
const (
	KeyNext     KeyStatus = "next"
	KeyActive   KeyStatus = "active"
	KeyRetiring KeyStatus = "retiring"
	KeyRetired  KeyStatus = "retired"
)

// RecoveryStatus is the life of a recovery.
type RecoveryStatus string

// Recovery states.
const (
	RecoveryPending     RecoveryStatus = "pending"
	RecoveryCoolingDown RecoveryStatus = "cooling_down"
	RecoveryReady       RecoveryStatus = "ready"
	RecoveryCompleted   RecoveryStatus = "completed"
	RecoveryExpired     RecoveryStatus = "expired"
)

// TemplateStatus is the life of a template version; superseded ones are kept for rollback.
type TemplateStatus string

// Template states.
const (
	TemplateActive     TemplateStatus = "active"
	TemplateSuperseded TemplateStatus = "superseded"
	TemplateRetired    TemplateStatus = "retired"
)

// TemplateOrigin is where a template version comes from.
type TemplateOrigin string

// Origins of templates.
const (
	OriginEnrollment TemplateOrigin = "enrollment" // OriginRef is the enrollment
	OriginAdaptation TemplateOrigin = "adaptation" // OriginRef is the confirmed session
	OriginRetraining TemplateOrigin = "retraining" // OriginRef is the version that was carried over to another background
)

// BackgroundStatus is the life of a background model that was put in force.
type BackgroundStatus string

// Background states.
const (
	BackgroundActive  BackgroundStatus = "active"
	BackgroundRetired BackgroundStatus = "retired"
)

// EvaluationStatus is the life of an evaluation.
type EvaluationStatus string

// Evaluation states.
const (
	EvaluationOpen   EvaluationStatus = "open"
	EvaluationClosed EvaluationStatus = "closed"
)

// DeliveryStatus is the life of one delivery to one endpoint.
type DeliveryStatus string

// Delivery states.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliverySucceeded DeliveryStatus = "succeeded"
	DeliveryFailed    DeliveryStatus = "failed"
	DeliveryDiscarded DeliveryStatus = "discarded"
)
