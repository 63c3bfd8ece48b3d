package models

import "time"

// Period is the span of time of one partition of a table.
type Period int

// Periods, in UTC. A week begins on Monday.
const (
	Weekly Period = iota
	Monthly
)

// Next returns the first boundary of periods after t.
func (p Period) Next(t time.Time) time.Time {
	t = t.UTC()
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	if p == Monthly {
		return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	}
	return day.AddDate(0, 0, 7-(int(day.Weekday())+6)%7)
}

// PartitionedTable is a table that countersign migrate --partition divides by time. Ids sort by the time that they were made at, so that
// ranges of the key are ranges of time, and no column is added.
type PartitionedTable struct {
	Table  string
	Key    string // a column of the primary key and of every unique key
	Prefix string // of the ids in Key
	Period Period
	Age    string // the column of time that retention judges a row by
}

// PartitionedTables contains what has a retention and no reference to it. Decisions are not in it: the keys of their nonces and of their
// idempotency keys are unique for all time and contain no time.
var PartitionedTables = []PartitionedTable{
	{"frames", "session_id", "ses", Weekly, "received_at"},
	{"shown_details", "authorization_id", "azn", Monthly, "decided_at"},
	{"kept_values", "authorization_id", "azn", Weekly, "decided_at"},
	{"webhook_attempts", "id", "dlv", Weekly, "at"},
}
