package models

import "time"

// MoveRequest is what somebody asked of a challenge or a hold. Digest is over the whole request, so that the same request
// is one row however often it is made.
type MoveRequest struct {
	Target          string `gorm:"primaryKey"` // challenge id, or authorization id of a hold
	Digest          []byte `gorm:"primaryKey"`
	AuthorizationID string
	Move            string // complete, cancel, approve or reject
	Actor           string
	RequestID       string
	Method          *string // of a completion
	PasskeyID       *string // the passkey whose assertion was verified
	SignCount       *int64
	BackupState     *bool
	NoteDigest      *string // of a review
	RequestedAt     time.Time
}
