package models

import "time"

// Left is a state that a row has left and that never comes again (internal/platform/pg.Ends). An earlier copy of the row, which has it, is refused.
type Left struct {
	Record  string `gorm:"primaryKey"` // the table of the row
	State   string `gorm:"primaryKey"`
	EndedAt time.Time
	// UselessAt is from when on the row could not be used in any case, so that nothing needs the ending; nil is never.
	UselessAt *time.Time
}

// RecordOf returns the table of the row that ended.
func (l Left) RecordOf() string { return l.Record }

// Ending is the ending of a row of an environment.
type Ending struct {
	EnvironmentID string `gorm:"primaryKey"`
	TenantID      string
	Left
	RowMAC []byte `gorm:"column:row_mac"` // see pg.Table
}

// TenantEnding is the ending of a row of a table that every server has a copy of.
type TenantEnding struct {
	TenantID string
	Left
	RowMAC []byte `gorm:"column:row_mac"` // see pg.Table
}
