package models

// Unsampled lists columns by which no statement selects, joins or sorts, of the tables that grow with every decision. ANALYZE samples 30,000
// rows and sorts the values of each column: of a young database that makes a thousand decisions a second, that was a second of CPU
// every minute, in one burst.
var Unsampled = map[string][]string{
	"authorizations": {
		"credential_id", "actor", "resource_type", "resource_digest", "context_digest", "action_hash", "audience", "request_hash", "latency_ms",
		"trace_id", "reason_codes", "policy_hash", "insufficient", "operator_changed", "challenges_used", "challenge_completed", "hold_approved",
		"assurance", "explanation", "response", "outcome_note_digest", "session_pinned", "record", "digests",
	},
	"proofs":           {"audience", "compact", "consumed_by", "revoked_reason", "sealed"},
	"events":           {"request_id", "workflow_id", "data", "salt", "digest", "packed"},
	"audit_chain":      {"previous", "hash"},
	"webhook_attempts": {"status_code", "latency_ms", "response_digest", "error"},
}
