package models

import "time"

// SavedFilter is a filter of one of the console's lists that a person saved for themselves.
type SavedFilter struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	PersonID      string
	List          string // reviews or decisions
	Name          string
	Query         string // of the page's URL, without "?"
	CreatedAt     time.Time
}
