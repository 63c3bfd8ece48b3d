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
	{Name: "given_reviews", Stays: "moves only a hold that is pending", Erased: DeletedWithRow},
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

// AttestedTable is a table whose rows decide what the service allows. Each row carries a MAC over its deciding columns in row_mac, which
// the service writes with the row and checks before it relies on it: a row that was changed, copied or inserted by other means is refused.
type AttestedTable struct {
	Name string
	Row  any // the model
	// Of is the condition of the rows that decide for an environment, with @tenant and @environment.
	Of string
	// Decides are the columns that the MAC covers, in its order. A column that is added here invalidates the MACs that exist.
	Decides []string
	// Free are the other columns, each with the reason why the MAC leaves it out.
	Free map[string]string
}

const (
	ofEnvironment = "tenant_id = @tenant and environment_id = @environment"
	ofPeople      = "person_id in (select id from people where tenant_id = @tenant)"
)

// AttestedTables are all tables whose rows carry a MAC. A test compares the columns with the schema.
var AttestedTables = []AttestedTable{
	{
		Name: "policy_versions", Row: PolicyVersion{}, Of: ofEnvironment,
		Decides: []string{
			"id", "tenant_id", "environment_id", "action_id", "version", "content_hash", "requirements", "context_schema", "allowed_audiences",
			"allowed_callers", "proof_ttl_seconds", "lists", "created_at", "created_by", "reason", "status",
			"activated_at", "activated_by", "retired_at",
		},
	},
	{
		Name: "actions", Row: Action{}, Of: ofEnvironment,
		Decides: []string{
			"id", "tenant_id", "environment_id", "key", "name", "consequence", "risk_class", "resource_type", "mode", "allowed_audiences",
			"allowed_callers", "proof_ttl_seconds", "active_policy_version", "archived_at",
		},
		Free: map[string]string{
			"context_schema": "copied to the first draft, whose content is hashed", "created_at": "decides nothing", "updated_at": "decides nothing",
		},
	},
	{
		Name: "environments", Row: Environment{}, Of: "tenant_id = @tenant and id = @environment",
		Decides: append([]string{"id", "tenant_id", "kind", "rp_id", "research_enabled", "rate_limit", "rate_limit_ceiling"}, settingColumns()...),
		Free:    map[string]string{"created_at": "decides nothing"},
	},
	{
		Name: "environment_passkeys", Row: EnvironmentPasskeys{}, Of: ofEnvironment,
		Decides: []string{"environment_id", "tenant_id", "rp_ids", "related_origins", "attestation", "attestation_roots", "aaguids"},
	},
	{
		Name: "credentials", Row: Credential{}, Of: ofEnvironment,
		Decides: []string{
			"id", "tenant_id", "environment_id", "scope", "permissions", "rate_limit", "created_at", "created_by", "principal", "issuers",
			"former_principal", "expires_at", "lapses_at", "revoked_at",
		},
		Free: map[string]string{
			"name": "decides nothing", "preview": "decides nothing", "last_used_at": "decides nothing", "ends_at": "generated of two of the columns",
		},
	},
	{
		Name: "credential_keys", Row: CredentialKey{}, Of: "credential_id in (select id from credentials where " + ofEnvironment + ")",
		Decides: []string{"mac", "credential_id", "created_at", "expires_at"},
	},
	{
		Name: "passkeys", Row: Passkey{}, Of: ofEnvironment,
		Decides: []string{
			"id", "tenant_id", "environment_id", "subject_uid", "credential_id", "public_key", "attestation_type", "aaguid", "user_verified",
			"backup_eligible", "created_at", "revoked_at", "rp_id",
		},
		Free: map[string]string{
			"transports": "a hint to browsers", "sign_count": "changes with each use; a lower one is a warning", "backup_state": "changes with each use",
			"clone_warning": "a warning", "last_used_at": "decides nothing",
		},
	},
	{
		Name: "signing_keys", Row: SigningKey{}, Of: ofEnvironment,
		Decides: []string{
			"kid", "tenant_id", "environment_id", "status", "backend", "public_jwk", "created_at", "activated_at", "retiring_at", "retired_at",
		},
		Free: map[string]string{"sealed": "sealed with the environment and the kid", "last_used_at": "changes with each use"},
	},
	{
		Name: "rp_ids", Row: RPID{}, Of: "tenant_id = @tenant",
		Decides: []string{"rp_id", "tenant_id"},
	},
	{
		Name: "client_tokens", Row: ClientToken{}, Of: ofEnvironment,
		Decides: []string{
			"mac", "id", "tenant_id", "environment_id", "credential_id", "subject_uid", "origin", "purposes", "session_id", "created_at", "expires_at",
			"revoked_at",
		},
	},
	{
		Name: "registration_grants", Row: RegistrationGrant{}, Of: ofEnvironment,
		Decides: []string{"mac", "id", "tenant_id", "environment_id", "credential_id", "subject_uid", "created_at", "expires_at", "used_at"},
		Free:    map[string]string{"ceremony": "moves with each attempt; an assertion must fit it"},
	},
	{
		Name: "people", Row: Person{}, Of: "tenant_id = @tenant",
		Decides: []string{
			"id", "tenant_id", "created_at", "revoked_at", "identity_provider_id", "provider_subject", "signed_in_at", "confirmed_at", "confirmed_by",
			"shown_to", "mailed_by", "principal", "created_by", "revoked_by",
		},
		Free: map[string]string{"name": "decides nothing", "joined_at": "decides nothing"},
	},
	{
		Name: "person_roles", Row: PersonRole{}, Of: "environment_id = @environment",
		Decides: []string{"person_id", "environment_id", "role", "granted_at", "granted_by"},
	},
	{
		Name: "person_passkeys", Row: PersonPasskey{}, Of: ofPeople,
		Decides: []string{"id", "person_id", "credential_id", "public_key", "attestation_type", "aaguid", "backup_eligible", "created_at"},
		Free: map[string]string{
			"transports": "a hint to browsers", "sign_count": "changes with each use; a lower one is a warning", "backup_state": "changes with each use",
			"clone_warning": "a warning", "last_used_at": "decides nothing",
		},
	},
	{
		Name: "person_invitations", Row: PersonInvitation{}, Of: ofPeople,
		Decides: []string{"id", "mac", "mailed", "person_id", "created_at", "created_by", "expires_at", "used_at"},
		Free:    map[string]string{"ceremony": "moves with each attempt"},
	},
	{
		Name: "console_sessions", Row: ConsoleSession{}, Of: ofPeople,
		Decides: []string{
			"mac", "id", "person_id", "ceremony", "created_at", "confirmed_at", "expires_at", "ended_at", "identity_provider_id", "provider_session",
		},
		Free: map[string]string{"confirming": "moves with each attempt", "last_seen_at": "moves with each use"},
	},
	{
		Name: "identity_providers", Row: IdentityProvider{}, Of: "tenant_id = @tenant",
		Decides: []string{
			"id", "tenant_id", "name", "issuer", "client_id", "client_secret", "scopes", "groups_claim", "grants", "created_at", "updated_at", "removed_at",
		},
		Free: map[string]string{"label": "decides nothing", "listed": "decides nothing"},
	},
	{
		Name: "teams", Row: Team{}, Of: ofEnvironment,
		Decides: []string{"id", "tenant_id", "environment_id", "key", "created_at", "created_by"},
		Free:    map[string]string{"name": "decides nothing"},
	},
	{
		Name: "team_members", Row: TeamMember{}, Of: ofEnvironment,
		Decides: []string{"team_id", "tenant_id", "environment_id", "member", "added_at", "added_by"},
	},
	{
		Name: "deputies", Row: Deputy{}, Of: ofEnvironment,
		Decides: []string{"id", "tenant_id", "environment_id", "person_id", "deputy_id", "starts_at", "ends_at"},
		Free:    map[string]string{"created_at": "decides nothing"},
	},
	{
		Name: "holds", Row: Hold{}, Of: ofEnvironment,
		Decides: []string{
			"authorization_id", "tenant_id", "environment_id", "action_id", "subject_uid", "risk_class", "approvals_required", "teams_required",
			"self_review_barred", "opened_at", "due_at",
		},
		Free: map[string]string{
			"status":    "changes by conditional statements that read no MAC; of its own it approves nothing, and the log has each change",
			"remind_at": "a notice", "reminded_at": "a notice", "resolved_at": "evidence", "resolved_by": "evidence", "child_authorization_id": "evidence",
			"assigned_to": "decides nothing", "assigned_at": "decides nothing",
		},
	},
	{
		Name: "hold_teams", Row: HoldTeam{}, Of: ofEnvironment,
		Decides: []string{"authorization_id", "tenant_id", "environment_id", "team", "approvals", "escalate_team", "escalate_at"},
		Free:    map[string]string{"escalated_at": "a notice; it takes effect at escalate_at"},
	},
	{
		Name: "move_requests", Row: MoveRequest{}, Of: "environment_id = @environment",
		Decides: []string{
			"target", "digest", "environment_id", "authorization_id", "move", "actor", "request_id", "method", "passkey_id", "sign_count", "backup_state",
			"note_digest", "requested_at",
		},
	},
	{
		Name: "lists", Row: List{}, Of: ofEnvironment,
		Decides: []string{"id", "tenant_id", "environment_id", "name", "kind", "personal", "version", "entries", "entries_sum", "created_at", "created_by"},
		Free:    map[string]string{"description": "decides nothing", "secret": "sealed with the id"},
	},
	{
		Name: "list_entries", Row: ListEntry{}, Of: ofEnvironment,
		Decides: []string{"id", "tenant_id", "environment_id", "list_id", "key", "expires_at", "salt"},
		Free: map[string]string{
			"value": "shown; the key is looked up", "reason": "decides nothing", "added_at": "evidence", "added_by": "evidence",
		},
	},
	{
		Name: "reviews", Row: Review{}, Of: "environment_id = @environment",
		Decides: []string{"authorization_id", "environment_id", "reviewer", "principal", "resolution", "at"},
		Free:    map[string]string{"note_digest": "evidence", "receipt": "returned to repeats; the follow-up decision is a row of its own"},
	},
	{
		Name: "given_reviews", Row: GivenReview{}, Of: ofEnvironment,
		Decides: []string{"authorization_id", "environment_id", "tenant_id", "reviewer", "resolution", "request_id", "given_at", "due_at"},
		Free: map[string]string{
			"note": "sealed with the hold and the reviewer", "taken_at": "ends the undoing, and decides nothing of the review", "remark": "shown to the reviewer",
		},
	},
}
