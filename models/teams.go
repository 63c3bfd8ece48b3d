package models

import "time"

// Team is a group of reviewers of one environment. Policies name it by its key.
type Team struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Key           string
	Name          string
	CreatedAt     time.Time
	CreatedBy     string
	RowMAC        []byte `gorm:"column:row_mac"` // see AttestedTables
}

// TeamMember is one member of a team: an actor that may review, person:<id> or credential:<id>.
type TeamMember struct {
	TeamID        string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Member        string `gorm:"primaryKey"`
	AddedAt       time.Time
	AddedBy       string
	RowMAC        []byte `gorm:"column:row_mac"` // see AttestedTables
}

// HoldTeam says how many approvals a hold requires of a team. Members of EscalateTeam may give them as well from EscalateAt on.
type HoldTeam struct {
	AuthorizationID string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	Team            string `gorm:"primaryKey"` // the key of the team
	Approvals       int
	EscalateTeam    *string
	EscalateAt      *time.Time
	EscalatedAt     *time.Time // when the escalation was recorded; it takes effect at EscalateAt
	RowMAC          []byte     `gorm:"column:row_mac"` // see AttestedTables
}

// Deputy is a person who may approve in the place of another for a period.
type Deputy struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	PersonID      string // who is absent
	DeputyID      string
	StartsAt      time.Time
	EndsAt        time.Time // exclusive; the time of the withdrawal if the person withdrew it
	CreatedAt     time.Time
	RowMAC        []byte `gorm:"column:row_mac"` // see AttestedTables
}
