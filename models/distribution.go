package models

// Placement says where the rows of a table are on a Postgres that is distributed over several servers.
type Placement string

// Placements.
const (
	// PlacedByEnvironment: each row is on the server of its environment. Every key contains environment_id.
	PlacedByEnvironment Placement = "environment"
	// PlacedEverywhere: every server has a copy. The table is small and written rarely.
	PlacedEverywhere Placement = "everywhere"
	// PlacedOnCoordinator: only the server that statements are sent to has the table.
	PlacedOnCoordinator Placement = "coordinator"
)

// DistributedTables have their rows on the server of their environment: what grows with the use of the service. A table is after those
// that it refers to.
var DistributedTables = []string{
	"subjects", "sessions", "frames", "frame_digests", "typed_passages", "enrollments", "templates", "passkeys", "recoveries", "registration_grants",
	"client_tokens", "background_shares", "background_sums",
	"research_consents", "research_links", "research_vectors",
	"authorizations", "idempotency_keys", "challenges", "challenge_links", "holds", "hold_teams", "hold_viewers", "reviews", "given_reviews", "review_notes",
	"move_requests", "notices", "proofs", "kept_values", "shown_details", "aggregate_values", "aggregate_locks",
	"events", "audit_heads", "audit_chain", "webhook_deliveries", "webhook_attempts",
	"erasures", "erased_terms", "evaluations", "changes", "lists", "list_entries",
}

// ReferenceTables have a copy on every server: the configuration of tenants and environments, credentials and staff. A table is after
// those that it refers to.
var ReferenceTables = []string{
	"tenants", "rp_ids", "environments", "environment_brands", "environment_passkeys", "environment_backgrounds", "backgrounds", "research_periods",
	"credentials", "credential_keys", "signing_keys", "actions", "policy_versions",
	"identity_providers", "provider_logouts", "people", "person_addresses", "person_invitations", "person_passkeys", "person_roles", "console_sessions",
	"saved_filters", "teams", "team_members", "deputies", "chat_addresses", "notice_choices",
	"webhook_endpoints", "webhook_secrets",
}

// LocalTables are only on the server that statements are sent to, each for the reason given.
var LocalTables = map[string]string{
	"goose_db_version": "the version of the schema is that of the server that migrates",
	"master_keys":      "a few rows, read alone when a process starts",
	"deleted_tenants":  "a few rows, which commands read and write alone",
	"quotas":           "state of seconds, read and written alone",
	"write_probes":     "empty but for a moment: what a check of readiness writes",
	"outbox": "a queue over all environments that relays lock rows of, which is possible on one server only; a row is deleted when its work " +
		"has begun, so that the table does not grow",
}

// NumberedByServer are the columns of distributed tables whose values one server hands out, each with what leans on it.
var NumberedByServer = map[string]string{
	"events.seq": "the order in which the events that wait are sealed; the order of the log is that of the sealed chain",
}

// PlacementOf returns the placement of a table, or "" if the lists do not contain it.
func PlacementOf(table string) Placement {
	for placement, tables := range map[Placement][]string{PlacedByEnvironment: DistributedTables, PlacedEverywhere: ReferenceTables} {
		for _, t := range tables {
			if t == table {
				return placement
			}
		}
	}
	if LocalTables[table] != "" {
		return PlacedOnCoordinator
	}
	return ""
}

// DecisionParts are the tables whose rows are parts of a decision, by authorization_id. They are deleted with it.
var DecisionParts = []string{"challenges", "holds", "move_requests", "proofs", "shown_details", "kept_values"}
