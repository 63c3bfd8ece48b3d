package authorization

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Authorization](pg.Table{
	Name: "authorizations", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Of: pg.OfEnvironment, Bridged: true,
	Fixed: []string{
		"id", "tenant_id", "environment_id", "credential_id", "action_id", "action_key", "subject_uid", "session_id", "session_pinned",
		"parent_id", "actor", "resource_type", "resource_digest", "context_digest", "action_hash", "audience", "nonce", "idempotency_key",
		"request_hash", "requested_at", "decided_at", "latency_ms", "trace_id", "mode", "decision", "reason_codes", "policy_version",
		"policy_hash", "coverage", "insufficient", "operator_changed", "challenges_used", "challenge_completed", "hold_approved", "assurance",
		"explanation", "response",
	},
	Added:      []string{"break_glass", "standing_id", "standing_amount", "opens_standing"},
	Logged:     []string{"outcome", "outcome_reported_at", "outcome_note_digest"},
	OwnEntries: true,
	Subject:    &pg.OfSubject{Stays: "a record; what is open of one is in the tables above", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id credential_id action_id action_key session_id session_pinned parent_id actor resource_type resource_digest context_digest " +
			"action_hash audience nonce @requested_at @decided_at latency_ms trace_id mode decision reason_codes policy_version " +
			"policy_hash coverage insufficient operator_changed challenges_used challenge_completed hold_approved break_glass standing_id standing_amount opens_standing assurance explanation " +
			"outcome @outcome_reported_at outcome_note_digest",
		Order: "decided_at, id",
	},
	// A decision stays while its challenge or hold is open, while a standing approval rests on its hold, and while one that follows it stays. What belongs to it
	// is deleted with it.
	Retained: &pg.Retention{Class: "authorizations", Where: `r.decided_at < $1
			and not exists (select from challenges c where c.authorization_id = r.id and c.environment_id = r.environment_id and c.status = 'open')
			and not exists (select from holds h where h.authorization_id = r.id and h.environment_id = r.environment_id and h.status = 'pending')
			and not exists (select from standing_approvals s where s.hold_id = r.id and s.environment_id = r.environment_id and s.status = 'active')
			and not exists (select from authorizations c where c.parent_id = r.id and c.environment_id = r.environment_id and c.decided_at >= $1)`},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "kept_values", Key: []string{"authorization_id"}, Placed: pg.ByEnvironment,
	Refers:  []string{"authorizations"},
	Free:    pg.Reasons{"*": "sealed by the master key with the id of the record"},
	Sealed:  []pg.Sealed{{Column: "kept"}},
	Subject: &pg.OfSubject{Stays: "a record", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "authorization_id #kept @decided_at",
		Order:   "decided_at, authorization_id",
	},
	Retained: &pg.Retention{Class: "kept", Where: "r.decided_at < $1"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "shown_details", Key: []string{"authorization_id"}, Placed: pg.ByEnvironment,
	Refers:  []string{"authorizations"},
	Free:    pg.Reasons{"*": "sealed by the master key with the id of the record"},
	Sealed:  []pg.Sealed{{Column: "details"}},
	Subject: &pg.OfSubject{Stays: "a record", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "authorization_id #details @decided_at",
		Order:   "decided_at, authorization_id",
	},
	// The details of a request stay while its challenge or hold is open.
	Retained: &pg.Retention{Class: "details", Where: `r.decided_at < $1
			and not exists (select from challenges c where c.authorization_id = r.authorization_id and c.environment_id = r.environment_id and c.status = 'open')
			and not exists (select from holds h where h.authorization_id = r.authorization_id and h.environment_id = r.environment_id and h.status = 'pending')`},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "collected_decisions", Key: []string{"authorization_id"}, Placed: pg.ByEnvironment,
	Refers:   []string{"authorizations"},
	Free:     pg.Reasons{"*": "work and state of hours"},
	Subject:  &pg.OfSubject{Stays: "says nothing", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{Not: "which follow-up decisions were returned to the relying party"},
})
