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
	Table   string
	Key     string // a column of the primary key and of every unique key
	Prefix  string // of the ids in Key
	Period  Period
	Age     string // the column of time that retention judges a row by
	Replace []ReplacedKey
}

// ReplacedKey is a unique key without the column that the table is divided by. Postgres cannot enforce it over partitions.
type ReplacedKey struct {
	Unique  string
	Plain   string // the index in its place, which is not unique
	Primary string // the unique index that becomes the primary key, if Unique was it
	Instead string // what keeps the values unique
}

// PartitionedTables contains what grows with use and has no reference to it. Decisions are not in it: the keys of their nonces and of
// their idempotency keys are unique for all time and contain no time.
var PartitionedTables = []PartitionedTable{
	{Table: "frames", Key: "session_id", Prefix: "ses", Period: Weekly, Age: "received_at"},
	{Table: "shown_details", Key: "authorization_id", Prefix: "azn", Period: Monthly, Age: "decided_at"},
	{Table: "kept_values", Key: "authorization_id", Prefix: "azn", Period: Weekly, Age: "decided_at"},
	{Table: "webhook_attempts", Key: "id", Prefix: "dlv", Period: Weekly, Age: "at"},
	{Table: "events", Key: "id", Prefix: "evt", Period: Monthly, Age: "at"},
	{Table: "audit_chain", Key: "event_id", Prefix: "evt", Period: Monthly, Age: "sealed_at", Replace: []ReplacedKey{{
		Unique: "audit_chain_pkey", Plain: "audit_chain_number", Primary: "audit_chain_event",
		Instead: "links are numbered under the lock of the environment's head; countersign audit verify reports a number that two links have",
	}}},
}
