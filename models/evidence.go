package models

import "slices"

// Evidence is a table whose columns audit verify compares with the sealed log. The tables of AttestedTables are compared by the columns that
// decide, with the entries records.changed, unless Unrecorded says why not.
type Evidence struct {
	Name string
	Row  any // the model
	// Made are the columns that never change. A digest in the entry that made the row covers them, in this order.
	Made []string
	// Moved are the other columns that entries say something of. Each is compared with the last such entry.
	Moved []string
	// Unmarked are the other columns but row_mac, each with the reason why it is not compared.
	Unmarked map[string]string
}

// EvidenceTables are the tables whose rows are compared with the entries that made and moved them.
var EvidenceTables = []Evidence{
	{
		Name: "authorizations", Row: Authorization{},
		Made: []string{
			"id", "tenant_id", "environment_id", "credential_id", "action_id", "action_key", "subject_uid", "session_id", "session_pinned", "parent_id",
			"actor", "resource_type", "resource_digest", "context_digest", "action_hash", "audience", "nonce", "idempotency_key", "request_hash",
			"requested_at", "decided_at", "latency_ms", "trace_id", "mode", "decision", "reason_codes", "policy_version", "policy_hash", "coverage",
			"insufficient", "operator_changed", "challenges_used", "challenge_completed", "hold_approved", "assurance", "explanation", "response",
		},
		Moved: []string{"outcome", "outcome_reported_at", "outcome_note_digest"},
	},
	{
		Name: "proofs", Row: Proof{},
		Made: []string{
			"jti", "tenant_id", "environment_id", "authorization_id", "subject_uid", "kid", "audience", "sealed", "issued_at", "expires_at",
		},
		Moved: []string{"status", "consumed_at", "consumed_by", "revoked_at", "revoked_reason"},
	},
	{
		Name: "challenges", Row: Challenge{},
		Made: []string{
			"id", "tenant_id", "environment_id", "authorization_id", "subject_uid", "methods", "display", "display_digest", "action_hash", "random",
			"created_at", "expires_at",
		},
		Moved:    []string{"status", "failures", "settled_at", "method_used", "strength", "child_authorization_id"},
		Unmarked: map[string]string{"completion_hash": "recognises a repeat of the request that completed the challenge"},
	},
	{
		Name: "holds", Row: Hold{},
		Made: []string{
			"authorization_id", "tenant_id", "environment_id", "action_id", "subject_uid", "risk_class", "approvals_required", "teams_required",
			"self_review_barred", "opened_at", "remind_at", "due_at",
		},
		Moved: []string{"status", "reminded_at", "resolved_at", "resolved_by", "child_authorization_id", "assigned_to", "assigned_at"},
	},
	{
		Name: "hold_teams", Row: HoldTeam{},
		Made: []string{
			"authorization_id", "tenant_id", "environment_id", "team", "approvals", "escalate_team", "escalate_at",
		},
		Moved: []string{"escalated_at"},
	},
	{
		Name: "evaluations", Row: Evaluation{},
		Made: []string{
			"id", "tenant_id", "environment_id", "name", "action_keys", "action_ids", "success_criteria", "starts_at", "ends_at", "created_at",
		},
		Moved: []string{"status", "closed_at", "report"},
	},
	{
		Name: "subjects", Row: Subject{},
		Moved: []string{
			"uid", "tenant_id", "environment_id", "external_id", "status", "created_at", "revoked_at", "adaptation_frozen", "research_consent",
			"claim_cap_until",
		},
		Unmarked: map[string]string{
			"enrollment": "follows from the templates", "updated_at": "changes with each use",
			"timing_template": "sealed by the master key with the id", "enrollment_asked_at": "decides nothing",
		},
	},
	{
		Name: "templates", Row: Template{},
		Moved: []string{"environment_id", "subject_uid", "status"},
		Unmarked: map[string]string{
			"id": "describes the content", "modality": "describes the content", "device_class": "describes the content", "version": "describes the content",
			"model_version": "describes the content", "provisional": "describes the content", "limitations": "describes the content",
			"data": "sealed by the master key with the id and the subject", "tenant_id": "decides nothing", "created_at": "decides nothing",
			"updated_at": "decides nothing", "origin": "decides nothing", "origin_ref": "decides nothing",
		},
	},
	{
		Name: "erasures", Row: Erasure{},
		Moved: []string{"id", "tenant_id", "environment_id", "status", "requested_by", "requested_at", "completed_at", "removed"},
		Unmarked: map[string]string{
			"subject_uid": "empty when it is completed", "subject": "empty when it is completed",
		},
	},
	{
		Name: "reviews", Row: Review{},
		Made: []string{"authorization_id", "environment_id", "reviewer", "resolution", "note_digest", "at"},
		Unmarked: map[string]string{
			"principal": "changes when accounts are linked; the row's MAC covers it", "receipt": "returned to repeats; the follow-up decision is a row of its own",
		},
	},
	{
		Name: "list_entries", Row: ListEntry{},
		Moved: []string{"id", "tenant_id", "environment_id", "list_id", "key", "expires_at", "salt"},
		Unmarked: map[string]string{
			"value": "shown; the key is looked up", "reason": "decides nothing", "added_at": "decides nothing", "added_by": "decides nothing",
		},
	},
}

// NoEvidence are the tables that are not compared with the log, each with its reason: those that record nothing, and those of which nothing
// follows.
var NoEvidence = []struct {
	Reason string
	Tables []string
}{
	{"the log itself, which its chain proves", []string{"events", "audit_chain", "audit_heads"}},
	{"observations: the decision has what it rests on", []string{
		"sessions", "frames", "frame_digests", "typed_passages", "enrollments", "aggregate_values", "aggregate_locks", "research_consents",
		"research_links", "research_vectors", "research_periods",
	}},
	{"models that the scorer compares people with: the decision names the version", []string{
		"backgrounds", "background_shares", "background_sums", "environment_backgrounds",
	}},
	{"sealed by the master key with the id of the record", []string{"shown_details", "kept_values", "review_notes", "webhook_secrets", "person_addresses"}},
	{"work and state of hours", []string{
		"outbox", "quotas", "write_probes", "idempotency_keys", "challenge_links", "provider_logouts", "hold_viewers", "notices",
		"webhook_deliveries", "webhook_attempts", "recoveries", "erased_terms",
	}},
	{"an approved change is in the row that it changes", []string{"changes"}},
	{"decides nothing", []string{
		"tenants", "deleted_tenants", "environment_brands", "saved_filters", "chat_addresses", "notice_choices", "webhook_endpoints", "goose_db_version",
	}},
	{"a key that opens nothing is refused", []string{"master_keys"}},
}

// Unrecorded are the tables of AttestedTables whose changes are no entries of their own, each with the reason.
var Unrecorded = map[string]string{ // #nosec G101 -- names of tables
	"reviews": "with the decision", "holds": "with the decision", "hold_teams": "with the decision", "list_entries": "with the list",
	"move_requests":       "lives for days: the move that it asks for is an entry",
	"client_tokens":       "lives for minutes",
	"registration_grants": "lives for minutes",
	"console_sessions":    "lives for hours",
	"given_reviews":       "waits for seconds: the review that it becomes is an entry",
}

// Recorded reports whether each change of a row of the table is an entry of the log.
func Recorded(table string) bool {
	_, not := Unrecorded[table]
	return !not && slices.ContainsFunc(AttestedTables, func(t AttestedTable) bool { return t.Name == table })
}

// EvidenceOf returns the declaration of a table; false if it is none of a decision.
func EvidenceOf(table string) (Evidence, bool) {
	i := slices.IndexFunc(EvidenceTables, func(e Evidence) bool { return e.Name == table })
	if i < 0 {
		return Evidence{}, false
	}
	return EvidenceTables[i], true
}
