package models

import "time"

// StandingStatus is the stored status of a standing approval. Whether one that is active allows anything depends on its source, its uses and the time.
type StandingStatus string

// The states.
const (
	StandingPending StandingStatus = "pending" // its challenge or hold waits, or was not approved
	StandingActive  StandingStatus = "active"
	StandingEnded   StandingStatus = "ended"
)

// StandingApproval is an approval that allows several requests (internal/authz/standing).
type StandingApproval struct {
	ID              string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	SubjectUID      string `gorm:"column:subject_uid"`
	ActionID        string
	ActionKey       string
	PolicyVersion   int
	PolicyHash      string
	Mode            ActionMode // of the action; a request in another mode does not use it
	Source          string     // passkey or review
	Audience        string
	ResourceType    string
	Terms           []byte // sealed: on which resources, and for which agent
	MaxUses         int
	MaxAmount       *string // an exact decimal
	Currency        string  // of MaxAmount; empty for an amount without one
	EndsAt          time.Time
	CreatedAt       time.Time
	CreatedBy       string // the actor
	Status          StandingStatus
	AuthorizationID string  // the newest decision about its approval
	PasskeyID       *string // with which the subject signed it
	HoldID          *string // the decision that reviewers approved
	BegunAt         *time.Time
	Uses            int
	AmountUsed      string // an exact decimal
	Revision        int64  // rises with each change, so that no state of an active one comes again
	EndedAt         *time.Time
	EndedBy         *string // the actor
	EndReason       *string
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}

// StandingLink opens the page on which a subject sees and revokes standing approvals.
type StandingLink struct {
	MAC           []byte `gorm:"column:mac;primaryKey"`
	ID            string
	TenantID      string
	EnvironmentID string
	SubjectUID    string `gorm:"column:subject_uid"`
	CredentialID  string // that requested it, and with which it ends
	CreatedAt     time.Time
	ExpiresAt     time.Time
	Failures      int     // refused attempts to open it
	Random        []byte  // signed to open it; replaced when it is opened
	PasskeyID     *string // that opened it last
	Opened        []byte  // MAC of the secret of the browser that opened it last
}
