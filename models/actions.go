package models

import (
	"encoding/json"
	"fmt"
	"time"
)

// Action is a protected action.
type Action struct {
	ID                  string `gorm:"primaryKey"`
	TenantID            string
	EnvironmentID       string
	Key                 string
	Name                string
	Consequence         string
	Labels              JSON // of map[string]ActionText, by language tag; nil or empty for none
	RiskClass           string
	ResourceType        string
	ContextSchema       JSON
	Mode                ActionMode
	AllowedAudiences    Strings
	AllowedCallers      Strings
	ProofTTLSeconds     int `gorm:"column:proof_ttl_seconds"`
	ActivePolicyVersion *int
	CreatedAt           time.Time
	UpdatedAt           time.Time
	ArchivedAt          *time.Time
	RowMAC              []byte `gorm:"column:row_mac"` // see pg.Table
}

// ActionText has the name and the consequence of an action in a language.
type ActionText struct {
	Name        string `json:"name"`
	Consequence string `json:"consequence"`
}

// Texts returns the texts in other languages, by language tag.
func (a Action) Texts() (map[string]ActionText, error) {
	if len(a.Labels) == 0 {
		return nil, nil
	}
	var out map[string]ActionText
	if err := json.Unmarshal(a.Labels, &out); err != nil {
		return nil, fmt.Errorf("labels of action %s: %w", a.ID, err)
	}
	return out, nil
}

// PolicyVersion is one immutable decision contract of an action.
type PolicyVersion struct {
	ID               string `gorm:"primaryKey"`
	TenantID         string
	EnvironmentID    string
	ActionID         string
	Version          int
	Status           PolicyStatus
	ContentHash      string
	Requirements     JSON
	ContextSchema    JSON
	AllowedAudiences Strings
	AllowedCallers   Strings
	ProofTTLSeconds  int `gorm:"column:proof_ttl_seconds"`
	CreatedAt        time.Time
	CreatedBy        string
	Reason           string // why it was made; empty if none was given
	ActivatedAt      *time.Time
	ActivatedBy      *string
	RetiredAt        *time.Time
	Lists            Strings // names of the lists that its rules read
	RowMAC           []byte  `gorm:"column:row_mac"`
}
