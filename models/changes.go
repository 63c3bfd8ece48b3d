package models

import "time"

// Change is a change request: a change of the configuration that waits for a second principal.
type Change struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Kind          ChangeKind
	Status        ChangeStatus
	Target        string // id of the action, the environment, the team or the list; the key of a new team
	Action        string // the action's key; empty for other kinds
	Proposed      JSON   // what is proposed
	Base          JSON   // what was in force then, in the same form
	Differences   JSON   // field by field
	Digest        []byte // of kind, target, Proposed and Base: the same proposal is one row while it is pending
	ProposedBy    string // actor
	Principal     string // the principal of the proposer (the column principal of people and credentials)
	CreatedAt     time.Time
	ExpiresAt     time.Time
	ResolvedAt    *time.Time
	ResolvedBy    *string // actor; nil for an expiry
	Reason        string  // the requester's; empty if none was given
	ResolvedFor   string  // the reason of ResolvedBy; empty if none was given
	RowMAC        []byte  `gorm:"column:row_mac"` // see pg.Table
}
