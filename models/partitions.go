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
	// Referred lists the tables whose foreign keys to the table are dropped: Postgres would read them whole under a lock for each partition
	// that is detached. Their rows are written in the statement of the row that they refer to, and deleted with it.
	Referred []string
}

// ReplacedKey is a unique key without the column that the table is divided by. Postgres cannot enforce it over partitions.
type ReplacedKey struct {
	Unique  string
	Plain   string // the index in its place, which is not unique; "" if it needs none
	Primary string // the unique index that becomes the primary key, if Unique was it
	Widened bool   // Unique stays the primary key, of its columns and the one that the table is divided by
	Instead string // what keeps the values unique
}

// PartitionedTables contains what grows with use. A table is after those that lose a reference to another with it.
var PartitionedTables = []PartitionedTable{
	{Table: "frames", Key: "session_id", Prefix: "ses", Period: Weekly, Age: "received_at"},
	{Table: "shown_details", Key: "authorization_id", Prefix: "azn", Period: Monthly, Age: "decided_at"},
	{Table: "kept_values", Key: "authorization_id", Prefix: "azn", Period: Weekly, Age: "decided_at"},
	{Table: "webhook_attempts", Key: "id", Prefix: "dlv", Period: Weekly, Age: "at"},
	{Table: "webhook_deliveries", Key: "event_id", Prefix: "evt", Period: Weekly, Age: "created_at",
		Referred: []string{"webhook_attempts"}, Replace: []ReplacedKey{{
			Unique: "webhook_deliveries_pkey", Widened: true,
			Instead: "an id has 80 random bits; that an event is delivered to an endpoint once rests on the key of the two",
		}}},
	{Table: "events", Key: "id", Prefix: "evt", Period: Monthly, Age: "at"},
	{Table: "audit_chain", Key: "event_id", Prefix: "evt", Period: Monthly, Age: "sealed_at", Replace: []ReplacedKey{{
		Unique: "audit_chain_pkey", Plain: "audit_chain_number", Primary: "audit_chain_event",
		Instead: "links are numbered under the lock of the environment's head; countersign audit verify reports a number that two links have",
	}}},
	{Table: "proofs", Key: "jti", Prefix: "prf", Period: Monthly, Age: "issued_at", Replace: []ReplacedKey{{
		Unique: "proofs_authorization_id_key", Plain: "proofs_authorization",
		Instead: "a proof is written only by the statement that writes its decision, whose id is unique",
	}}},
	{Table: "authorizations", Key: "id", Prefix: "azn", Period: Monthly, Age: "decided_at",
		Referred: DecisionParts, Replace: []ReplacedKey{
			{Unique: "authorizations_nonce", Instead: "decision_keys has it"},
			{Unique: "authorizations_idempotency", Instead: "decision_keys has it"},
			{Unique: "authorizations_child", Plain: "authorizations_children",
				Instead: "a follow-up decision is written in the transaction that settles its challenge or hold, which one transaction can"},
		}},
}

// ReleasedPart is the one of DecisionParts that has no foreign key to decisions on any database once it is contracted: every decision to
// allow writes to it.
const ReleasedPart = "proofs"

// DecisionParts are the tables whose rows are parts of a decision, by authorization_id.
var DecisionParts = []string{"challenges", "holds", "move_requests", "proofs", "shown_details", "kept_values"}
