package models

import "time"

// Subject is a person in one environment. UID is our id; ExternalID is the relying party's.
type Subject struct {
	UID              string `gorm:"column:uid;primaryKey"`
	TenantID         string
	EnvironmentID    string
	ExternalID       string
	Status           SubjectStatus
	Enrollment       EnrollmentState
	AdaptationFrozen bool
	ResearchConsent  bool
	ClaimCapUntil    *time.Time // after a recovery without anchor, claims are capped at likely until then
	ChallengeUntil   *time.Time // after a security event, every decision requires a challenge until then
	// EnrollmentAskedAt is when the next enrollment was requested explicitly; nil after an enrollment or a recovery.
	EnrollmentAskedAt *time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
	RevokedAt         *time.Time
	ReinstatedAt      *time.Time // when the last revocation ended
	RecoveryID        *string    // the recovery that began last; nil for none
	RowMAC            []byte     `gorm:"column:row_mac"` // see pg.Table
}

// Capped reports whether the subject's claims are capped at likely at a time.
func (s Subject) Capped(at time.Time) bool {
	return s.ClaimCapUntil != nil && at.Before(*s.ClaimCapUntil)
}

// Suspected reports whether a security event requires a challenge of the subject at a time.
func (s Subject) Suspected(at time.Time) bool {
	return s.ChallengeUntil != nil && at.Before(*s.ChallengeUntil)
}

// Session is one observation session. State is the running assurance (internal/behavior/scoring), sealed.
type Session struct {
	ID              string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	DeviceClass     string
	Status          SessionStatus
	Legacy          bool
	StartedAt       time.Time
	EndedAt         *time.Time
	LastActivityAt  time.Time
	LastEvidenceAt  *time.Time
	Coverage        string
	EvidenceWindows int
	ActiveSeconds   float64
	Modalities      Strings
	EnrollmentReady bool
	TrustState      string
	State           []byte
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// Frame is one feature frame: its digest, for replay detection, and its vector (derived cells only) while it is needed.
type Frame struct {
	SessionID     string `gorm:"primaryKey"`
	FrameID       string `gorm:"primaryKey"`
	EnvironmentID string
	SubjectUID    string `gorm:"column:subject_uid"`
	Purpose       string
	Status        string
	ReasonCodes   Strings
	ReceivedAt    time.Time
	At            time.Time
	DurationMS    float64 `gorm:"column:duration_ms"`
	Digest        []byte
	Vector        []byte
	Keys          *int // number of keystrokes of an enrollment frame; nil for other frames
}

// Template is one version of the behavior learned of a subject, in one modality on one class of device.
type Template struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	SubjectUID    string `gorm:"column:subject_uid"`
	Modality      string
	DeviceClass   string
	Version       int
	Status        TemplateStatus
	ModelVersion  string
	Provisional   bool
	Limitations   Strings
	Origin        TemplateOrigin
	OriginRef     string
	Data          []byte
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Enrollment is one attempt to learn the templates of a subject.
type Enrollment struct {
	ID              string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	SessionID       string
	Anchor          string
	Status          EnrollmentStatus
	Force           bool
	WindowsAccepted int
	Limitations     Strings
	RefusedSessions Strings // sessions that did not fit the others and were left out
	CreatedAt       time.Time
	CompletedAt     *time.Time
}

// Passkey is a WebAuthn credential of a subject.
type Passkey struct {
	ID              string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	CredentialID    []byte
	RPID            *string `gorm:"column:rp_id"` // nil is the environment's own
	PublicKey       []byte
	AttestationType string
	AAGUID          []byte `gorm:"column:aaguid"`
	Transports      Strings
	SignCount       int64
	UserVerified    bool
	BackupEligible  bool
	BackupState     bool
	CloneWarning    bool
	CreatedAt       time.Time
	LastUsedAt      *time.Time
	RevokedAt       *time.Time
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// RegistrationGrant lets one passkey be registered for one subject, once.
type RegistrationGrant struct {
	MAC           []byte `gorm:"column:mac;primaryKey"`
	ID            string
	TenantID      string
	EnvironmentID string
	CredentialID  string // that requested it, and with which it ends
	SubjectUID    string `gorm:"column:subject_uid"`
	Ceremony      JSON
	CreatedAt     time.Time
	ExpiresAt     time.Time
	UsedAt        *time.Time
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// Recovery is one recovery of a subject.
type Recovery struct {
	ID                   string `gorm:"primaryKey"`
	TenantID             string
	EnvironmentID        string
	SubjectUID           string `gorm:"column:subject_uid"`
	Status               RecoveryStatus
	Anchor               string
	AnchorEvidenceDigest *string
	Reference            string // the relying party's, to the case; empty for none
	Limitations          Strings
	CreatedAt            time.Time
	ReadyAt              time.Time
	ExpiresAt            time.Time
	CompletedAt          *time.Time
	RowMAC               []byte `gorm:"column:row_mac"` // see pg.Table
}

// ResearchConsent is one entry of the consent ledger.
type ResearchConsent struct {
	ID            string `gorm:"primaryKey"`
	EnvironmentID string
	SubjectUID    string `gorm:"column:subject_uid"`
	Consented     bool
	RecordedAt    time.Time
}

// ResearchVector is a pseudonymised vector for training a background. Neither its id nor CreatedAt, which is a day, reveals
// the time of its frame.
type ResearchVector struct {
	ID            string `gorm:"primaryKey"`
	EnvironmentID string
	Pseudonym     []byte
	DeviceClass   string
	Vector        []byte
	CreatedAt     time.Time
	PeriodID      *string
}

// ResearchPeriod is a time in which a subject has one pseudonym. Salt is sealed, and nil after the period has ended.
type ResearchPeriod struct {
	ID            string `gorm:"primaryKey"`
	EnvironmentID string
	Salt          []byte
	StartedAt     time.Time
	EndedAt       *time.Time
}

// ResearchLink maps a keyed hash of a subject to its pseudonym of one period, which is sealed.
type ResearchLink struct {
	EnvironmentID string
	Holder        []byte
	PeriodID      string
	Pseudonym     []byte
}

// Erasure is the erasure of a subject and, when it is completed, its receipt. SubjectUID and Subject are set only until then.
type Erasure struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Status        string
	SubjectUID    *string `gorm:"column:subject_uid"`
	Subject       *string // the relying party's id
	RequestedBy   string
	RequestedAt   time.Time
	CompletedAt   *time.Time
	Removed       JSON
}

// Background is a background that is or was active for the whole deployment.
type Background struct {
	Version     string `gorm:"primaryKey"`
	Modality    string
	Status      BackgroundStatus
	Body        []byte // in the format of internal/behavior/scoring
	Digest      string // SHA-256 of the body
	Comparison  JSON   // with the previous one, measured before the activation
	ActivatedBy string
	ActivatedAt time.Time
	RetiredAt   *time.Time
}

// ErasedTerms are the terms that the next subject with the id of an erased one takes over, until ExpiresAt.
type ErasedTerms struct {
	EnvironmentID  string  `gorm:"primaryKey"`
	MAC            []byte  `gorm:"column:mac;primaryKey"` // of the relying party's id
	Anchor         *string // of the open recovery; nil if there was none
	Limitations    Strings
	ReadyAt        *time.Time
	EndsAt         *time.Time
	ClaimCapUntil  *time.Time
	ChallengeUntil *time.Time
	RevokedAt      *time.Time
	Frozen         bool // adaptation of templates
	ExpiresAt      time.Time
}
