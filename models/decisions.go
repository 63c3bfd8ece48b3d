package models

import "time"

// SigningKey signs the proofs of one environment; Sealed is the private key under the keyring.
type SigningKey struct {
	KID           string `gorm:"column:kid;primaryKey"`
	TenantID      string
	EnvironmentID string
	Status        KeyStatus
	PublicJWK     JSON `gorm:"column:public_jwk"`
	Sealed        []byte
	CreatedAt     time.Time
	ActivatedAt   *time.Time
	RetiringAt    *time.Time
	RetiredAt     *time.Time
}

// Authorization is one decision. It is written once; only the outcome is added later. A new decision is a new row
// with ParentID set.
type Authorization struct {
	ID                 string `gorm:"primaryKey"`
	TenantID           string
	EnvironmentID      string
	CredentialID       string
	ActionID           string
	ActionKey          string
	SubjectUID         string `gorm:"column:subject_uid"`
	SessionID          *string
	SessionPinned      bool // the request named SessionID; otherwise it was the subject's latest when it was decided
	ParentID           *string
	Actor              string
	ResourceType       string
	ResourceDigest     string
	ContextDigest      string
	ActionHash         string
	Audience           string
	Nonce              string
	IdempotencyKey     *string
	RequestHash        []byte
	RequestedAt        time.Time
	DecidedAt          time.Time
	LatencyMS          int    `gorm:"column:latency_ms"`
	TraceID            string `gorm:"column:trace_id"`
	Mode               ActionMode
	Decision           string
	ReasonCodes        Strings
	PolicyVersion      int
	PolicyHash         string
	Coverage           string
	Insufficient       bool
	OperatorChanged    bool
	ChallengesUsed     int
	ChallengeCompleted *string // the method of a completed challenge in the chain
	HoldApproved       bool
	Assurance          JSON
	Explanation        JSON
	Response           []byte // the answer for a repeated idempotency key, byte for byte but for the proof, which is sealed in its own row
	Outcome            *string
	OutcomeReportedAt  *time.Time
	OutcomeNoteDigest  *string
}

// Challenge is a step-up asked of the subject.
type Challenge struct {
	ID                   string `gorm:"primaryKey"`
	TenantID             string
	EnvironmentID        string
	AuthorizationID      string
	SubjectUID           string `gorm:"column:subject_uid"`
	Status               ChallengeStatus
	Methods              Strings
	Display              JSON
	DisplayDigest        string
	ActionHash           string
	Random               []byte
	Failures             int
	CreatedAt            time.Time
	ExpiresAt            time.Time
	SettledAt            *time.Time
	MethodUsed           *string
	Strength             *string
	CompletionHash       []byte
	ChildAuthorizationID *string
}

// ShownDetails are the details that a person was shown of the request behind a decision, sealed (internal/authz/display). There is no
// row for an action that shows none.
type ShownDetails struct {
	AuthorizationID string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	Details         []byte
	DecidedAt       time.Time
}

// ChallengeLink opens one challenge in a browser.
type ChallengeLink struct {
	MAC         []byte `gorm:"column:mac;primaryKey"`
	ChallengeID string
	ReturnURL   *string `gorm:"column:return_url"` // where the person goes on when the challenge is over
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// Hold waits for a reviewer.
type Hold struct {
	AuthorizationID      string `gorm:"primaryKey"`
	TenantID             string
	EnvironmentID        string
	ActionID             string
	SubjectUID           string `gorm:"column:subject_uid"`
	RiskClass            string
	Status               HoldStatus
	ApprovalsRequired    int
	SelfReviewBarred     bool // who stands behind the credential that asked may not review
	OpenedAt             time.Time
	RemindAt             time.Time
	RemindedAt           *time.Time
	DueAt                time.Time
	ResolvedAt           *time.Time
	ResolvedBy           *string
	ChildAuthorizationID *string
}

// Review is what one reviewer said of one hold; Receipt is the answer they got.
type Review struct {
	AuthorizationID string `gorm:"primaryKey"`
	Reviewer        string `gorm:"primaryKey"`
	Principal       string // who stands behind the reviewer (store.Principal)
	Resolution      string
	NoteDigest      *string
	At              time.Time
	Receipt         []byte
}

// Proof is a signed proof of agency. Expiry is computed from ExpiresAt.
type Proof struct {
	JTI             string `gorm:"column:jti;primaryKey"`
	TenantID        string
	EnvironmentID   string
	AuthorizationID string
	SubjectUID      string `gorm:"column:subject_uid"`
	KID             string `gorm:"column:kid"`
	Audience        string
	Status          ProofStatus
	Compact         *string // nil on new rows: Sealed has it
	Sealed          []byte  // the proof as it was issued (internal/authz/signing)
	IssuedAt        time.Time
	ExpiresAt       time.Time
	ConsumedAt      *time.Time
	ConsumedBy      *string
	RevokedAt       *time.Time
	RevokedReason   *string
}

// Evaluation watches the decisions of some actions over a window.
type Evaluation struct {
	ID              string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	Name            string
	ActionKeys      Strings
	ActionIDs       Strings `gorm:"column:action_ids"`
	SuccessCriteria JSON
	Status          EvaluationStatus
	StartsAt        time.Time
	EndsAt          *time.Time
	CreatedAt       time.Time
	ClosedAt        *time.Time
	Report          JSON
}
