package models

// Incident is an event after which nothing that was open for a subject may go on.
type Incident string

// The incidents.
const (
	IncidentRecovery   Incident = "recovery"
	IncidentRevocation Incident = "revocation"
	IncidentErasure    Incident = "erasure"
)

// Deletion is how an erasure deletes the rows of a table.
type Deletion string

// Deletions.
const (
	DeletedBySubject Deletion = "by subject"  // in batches, by their subject_uid
	DeletedWithRow   Deletion = "with parent" // with the row that they refer to
	NotDeleted       Deletion = "not deleted" // emptied of personal data, or the record of the erasure itself
)

// SubjectTable says what becomes of the rows of a table that refers to a subject.
type SubjectTable struct {
	Name string
	// Ends are the incidents that end the open rows at once, in their own transaction (internal/subject.Void).
	Ends []Incident
	// Stays says why nothing of before can be used after the other incidents.
	Stays string
	// Erased is how an erasure deletes the rows.
	Erased Deletion
}

// EndsAt reports whether the incident ends the open rows of the table.
func (t SubjectTable) EndsAt(i Incident) bool {
	for _, one := range t.Ends {
		if one == i {
			return true
		}
	}
	return false
}

var everyIncident = []Incident{IncidentRecovery, IncidentRevocation, IncidentErasure}

// SubjectTables are all tables that refer to a subject, referring tables first. It is the one declaration of what recovery, revocation
// and erasure end and delete; a test compares it with the schema.
//
// A pending hold of before a recovery expires: its request, its evidence and its first approvals are those of a session that may have been
// the attacker's, exactly as with a challenge, and a mark could be overlooked. The relying party requests a new decision.
var SubjectTables = []SubjectTable{
	{Name: "proofs", Ends: everyIncident, Erased: DeletedBySubject},
	{Name: "challenge_links", Stays: "opens only a challenge that is open", Erased: DeletedWithRow},
	{Name: "challenges", Ends: []Incident{IncidentRecovery, IncidentErasure}, Stays: "the follow-up decision of a revoked subject is deny", Erased: DeletedBySubject},
	{Name: "review_notes", Stays: "a record", Erased: DeletedBySubject},
	{Name: "reviews", Stays: "counts only for a hold that is pending", Erased: DeletedWithRow},
	{Name: "hold_teams", Stays: "a record", Erased: DeletedWithRow},
	{Name: "hold_viewers", Stays: "names reviewers only", Erased: DeletedWithRow},
	{Name: "notices", Stays: "names reviewers only", Erased: DeletedWithRow},
	{Name: "holds", Ends: []Incident{IncidentRecovery, IncidentErasure}, Stays: "the follow-up decision of a revoked subject is deny", Erased: DeletedBySubject},
	{Name: "registration_grants", Ends: everyIncident, Erased: DeletedBySubject},
	{Name: "client_tokens", Ends: everyIncident, Erased: DeletedBySubject},
	{Name: "frame_digests", Stays: "recognises a replay", Erased: DeletedBySubject},
	{Name: "typed_passages", Stays: "recognises a replay", Erased: DeletedBySubject},
	{Name: "frames", Stays: "nothing that arrived before a recovery is ready is learned from", Erased: DeletedBySubject},
	{Name: "background_shares", Stays: "recounted by each incident", Erased: DeletedBySubject},
	{Name: "templates", Stays: "a recovery retires them; of a revoked subject every decision is deny", Erased: DeletedBySubject},
	{Name: "enrollments", Stays: "one that is pending trains on nothing of before a recovery, and fails; a revoked subject cannot enroll", Erased: DeletedBySubject},
	{Name: "sessions", Ends: []Incident{IncidentRecovery, IncidentRevocation}, Stays: "deleted; without client tokens no evidence arrives", Erased: DeletedBySubject},
	{Name: "passkeys", Stays: "a recovery may rest on them; the relying party revokes those that it distrusts", Erased: DeletedBySubject},
	{Name: "recoveries", Stays: "a second recovery is refused while one is open; a revoked subject cannot enroll", Erased: DeletedBySubject},
	{Name: "research_consents", Stays: "a ledger", Erased: DeletedBySubject},
	{Name: "shown_details", Stays: "a record", Erased: DeletedBySubject},
	{Name: "kept_values", Stays: "a record", Erased: DeletedBySubject},
	{Name: "aggregate_values", Stays: "counts what was decided; what is revoked or ends is given back", Erased: DeletedBySubject},
	{Name: "aggregate_locks", Stays: "says nothing", Erased: DeletedBySubject},
	{Name: "move_requests", Stays: "moves only a challenge or a hold that is open", Erased: DeletedWithRow},
	{Name: "authorizations", Stays: "a record; what is open of one is in the tables above", Erased: DeletedBySubject},
	{Name: "events", Stays: "the audit chain", Erased: NotDeleted},
	{Name: "erasures", Stays: "the record of the erasure", Erased: NotDeleted},
}
