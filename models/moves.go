package models

import "time"

// MoveRequest is a requested transition of a challenge or a hold. Digest is the hash of the whole request, so that a repeated
// request is the same row.
type MoveRequest struct {
	Target          string `gorm:"primaryKey"` // challenge id, or authorization id of a hold
	Digest          []byte `gorm:"primaryKey"`
	EnvironmentID   string
	AuthorizationID string
	Move            string // complete, cancel, approve or reject
	Actor           string
	RequestID       string
	Method          *string // of a completion
	PasskeyID       *string // the passkey whose assertion was verified
	SignCount       *int64
	BackupState     *bool
	NoteDigest      *string // of a review
	Step            int     // of a review: the step that was open
	RequestedAt     time.Time
	RowMAC          []byte `gorm:"column:row_mac"` // see pg.Table
}
