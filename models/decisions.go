package models

import "time"

// SigningKey signs the proofs of one environment. Sealed is the private key of a software key, and the reference of a key that
// another backend holds, sealed by the keyring.
type SigningKey struct {
	KID           string `gorm:"column:kid;primaryKey"`
	TenantID      string
	EnvironmentID string
	Status        KeyStatus
	Backend       string // where the private key is: internal/platform/keys
	PublicJWK     JSON   `gorm:"column:public_jwk"`
	Sealed        []byte
	CreatedAt     time.Time
	ActivatedAt   *time.Time
	LastUsedAt    *time.Time // to about a minute
	RetiringAt    *time.Time
	RetiredAt     *time.Time
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// Authorization is one decision. It is written once; only the outcome is added later. A follow-up decision is a row of its
// own with ParentID set.
type Authorization struct {
	ID                 string `gorm:"primaryKey"`
	TenantID           string
	EnvironmentID      string
	CredentialID       string
	ActionID           string
	ActionKey          string
	SubjectUID         string `gorm:"column:subject_uid"`
	SessionID          *string
	SessionPinned      bool // the request named SessionID; otherwise it is the subject's latest session at the time of the decision
	ParentID           *string
	Actor              string
	ResourceType       string
	ResourceDigest     string
	ContextDigest      string
	ActionHash         string
	Audience           string
	Nonce              string
	IdempotencyKey     *string
	RequestHash        Hex
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
	BreakGlass         bool    // a hold in the chain of parents was approved by break-glass
	StandingID         *string // the standing approval that allowed it
	StandingAmount     *string // what it counts towards the amount of StandingID; an exact decimal
	OpensStanding      *string // the standing approval that the request asks for
	Assurance          JSON
	Explanation        JSON
	Response           JSON // the fields of the response that no other column has, for a repeat of the request
	Outcome            *string
	OutcomeReportedAt  *time.Time
	OutcomeNoteDigest  *string
	RowMAC             []byte `gorm:"column:row_mac"` // see pg.Table
}

// Challenge requests a stronger authentication from the subject.
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
	RowMAC               []byte `gorm:"column:row_mac"` // see pg.Table
}

// ShownDetails are the details of a request that a person is shown before approving it, sealed (internal/authz/display).
// There is no row for an action that shows none.
type ShownDetails struct {
	AuthorizationID string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	Details         []byte
	DecidedAt       time.Time
}

// KeptValues are the values of a request that are kept for simulations, sealed (internal/authz/storedvalues). There is no row for an
// action that keeps none.
type KeptValues struct {
	AuthorizationID string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	Kept            []byte
	DecidedAt       time.Time
}

// AggregateValue is an amount of a request, or the digest of a value, by which rules count (internal/authz/aggregate).
type AggregateValue struct {
	RequestID      string `gorm:"primaryKey"` // the first decision about the request
	Field          string `gorm:"primaryKey"`
	Decision       string `gorm:"primaryKey"`
	EnvironmentID  string `gorm:"primaryKey"`
	TenantID       string
	SubjectUID     string  `gorm:"column:subject_uid"`
	ResourceDigest *string // nil unless a rule of the action counts by the resource
	ActionKey      string
	First          bool // the row of the first decision
	Currency       string
	Amount         *string // an exact decimal; nil for a digest
	Digest         []byte
	DecidedAt      time.Time
	Reserved       string
	ReservedAt     time.Time // since when Reserved has its value
	// ResourceUntil is until when a request that waits counts towards the limits of its resource; nil is until it is settled.
	ResourceUntil *time.Time
}

// ChallengeLink opens one challenge in a browser.
type ChallengeLink struct {
	MAC           []byte `gorm:"column:mac;primaryKey"`
	EnvironmentID string
	ChallengeID   string
	CredentialID  string  // that requested it, and with which it ends
	ReturnURL     *string `gorm:"column:return_url"` // the page to continue on after the challenge
	CreatedAt     time.Time
	ExpiresAt     time.Time
	// ForClient is set for a link that shows the request only to a browser in which the subject used a passkey.
	ForClient bool
	Failures  int    // refused attempts to open the link
	Random    []byte // signed to open the link; replaced when it is opened
	Opened    []byte // MAC of the secret of the browser that opened it last
}

// Hold stops an action until reviewers approve or reject it, or until DueAt.
type Hold struct {
	AuthorizationID      string `gorm:"primaryKey"`
	TenantID             string
	EnvironmentID        string
	ActionID             string
	SubjectUID           string `gorm:"column:subject_uid"`
	RiskClass            string
	Status               HoldStatus
	ApprovalsRequired    int
	TeamsRequired        int     // the number of its rows in hold_teams and hold_steps
	SelfReviewBarred     bool    // the principal of the requesting credential may not review
	RepeatApprovers      bool    // one person may approve in several steps
	WorkingHours         bool    // its times count working hours, as the calendar of the environment is when a step opens
	RequesterPerson      *string // the member of staff who requests, if the person is known
	GlassTeam            *string // whose members may approve alone (break-glass); nil for none
	GlassApprovals       int     // verdicts that the review after a break-glass needs
	GlassSeconds         int64   // the time for it
	OpenedAt             time.Time
	RemindAt             time.Time
	RemindedAt           *time.Time
	DueAt                time.Time  // of a hold with steps: when it expires unless the open step is approved
	EndsAt               *time.Time // of a hold with steps: when it expires at the latest
	ResolvedAt           *time.Time
	ResolvedBy           *string
	ChildAuthorizationID *string
	AssignedTo           *string // the reviewer who has taken the hold; anyone else may still review it
	AssignedAt           *time.Time
	RowMAC               []byte `gorm:"column:row_mac"` // see pg.Table
}

// GivenReview is a review that a person has given in the console and that is made at DueAt, unless the person undoes it before.
type GivenReview struct {
	AuthorizationID string `gorm:"primaryKey"`
	Reviewer        string `gorm:"primaryKey"`
	EnvironmentID   string `gorm:"primaryKey"`
	TenantID        string
	Step            int // the step that was open
	Resolution      string
	Note            []byte // sealed (internal/authz/reviewnote); nil for none
	RequestID       string // reviews with the same one were given together
	GivenAt         time.Time
	DueAt           time.Time
	TakenAt         *time.Time // since when it cannot be undone
	Remark          *string    // why it was not made; empty: it was, but the decision that followed is not allow; nil while it waits
	RowMAC          []byte     `gorm:"column:row_mac"` // see pg.Table
}

// ReviewNote is the note of a reviewer's review, sealed (internal/authz/reviewnote).
type ReviewNote struct {
	AuthorizationID string
	Reviewer        string
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	NoteDigest      string
	Note            []byte
	WrittenAt       time.Time
}

// Review is the resolution of one hold by one reviewer. Receipt is the response to the review that settled the hold.
type Review struct {
	AuthorizationID string `gorm:"primaryKey"`
	EnvironmentID   string
	Reviewer        string `gorm:"primaryKey"`
	Step            int    `gorm:"primaryKey"` // the position of the step, from 0
	Principal       string // the principal of the reviewer (the column principal of people and credentials)
	Resolution      string
	NoteDigest      *string
	At              time.Time
	Receipt         []byte
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// Proof is a signed proof of agency. Whether it has expired is computed from ExpiresAt.
type Proof struct {
	JTI             string `gorm:"column:jti;primaryKey"`
	TenantID        string
	EnvironmentID   string
	AuthorizationID string
	SubjectUID      string `gorm:"column:subject_uid"`
	KID             string `gorm:"column:kid"`
	Audience        string
	Status          ProofStatus
	Sealed          []byte // the proof as it was issued (internal/authz/signing)
	IssuedAt        time.Time
	ExpiresAt       time.Time
	ConsumedAt      *time.Time
	ConsumedBy      *string
	RevokedAt       *time.Time
	RevokedReason   *string
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// Evaluation reports on the decisions of some actions over a window.
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
