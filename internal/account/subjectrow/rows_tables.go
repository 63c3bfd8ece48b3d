package subjectrow

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var table = pg.Declare[models.Subject](pg.Table{
	Name: "subjects", Key: []string{"uid"}, Placed: pg.ByEnvironment,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment, Bridged: true,
	Fixed: []string{"uid", "tenant_id", "environment_id", "created_at"},
	Moves: []string{
		"external_id", "status", "revoked_at", "adaptation_frozen", "research_consent", "claim_cap_until", "challenge_until", "reinstated_at",
	},
	Added: []string{"recovery_id"},
	Free: pg.Reasons{
		"enrollment":          "follows from the templates",
		"enrollment_asked_at": "decides nothing",
		"timing_template":     "sealed by the master key with the id",
		"updated_at":          "changes with each use",
	},
	OwnEntries: true,
	Sealed:     []pg.Sealed{{Column: "timing_template"}},
	// A reinstatement and a recovery each open a state of its own: a copy from before a revocation stays revoked, and one from before a recovery knows
	// nothing of the cool-down. The name of a state is a digest, which remains after the subject was erased.
	Ends: &pg.Ends{States: []string{`case when r.status = 'active' then encode(sha256((r.uid || coalesce(' since ' || extract(epoch from r.reinstated_at), '')
		|| coalesce(' recovery ' || r.recovery_id, ''))::bytea), 'hex') end`}},
})

// summaryOfState is the reason why columns decide nothing that repeat a part of the sealed state.
const summaryOfState = "shown; decisions rest on the sealed state"

var _ = pg.Declare[models.Session](pg.Table{
	Name: "sessions", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"subjects"},
	Of:     pg.OfEnvironment, Bridged: true,
	Fixed: []string{"id", "tenant_id", "environment_id", "subject_uid", "device_class", "legacy", "started_at"},
	Moves: []string{"status"},
	Ends:  &pg.Ends{States: []string{"case when r.status = 'active' then r.id end"}, UselessAt: "r.started_at + interval '30 days'"}, // assurance.SessionLife
	Free: pg.Reasons{
		"state":    "sealed by the master key with the id of the record",
		"ended_at": summaryOfState, "last_activity_at": summaryOfState, "last_evidence_at": summaryOfState, "coverage": summaryOfState,
		"evidence_windows": summaryOfState, "active_seconds": summaryOfState, "modalities": summaryOfState, "enrollment_ready": summaryOfState,
		"trust_state": summaryOfState, "version": "an order of the database",
	},
	Unlogged: "observations: the decision has what it rests on",
	Sealed:   []pg.Sealed{{Column: "state", While: "status = 'active'"}},
	Subject:  &pg.OfSubject{Ends: []pg.Incident{pg.Recovery, pg.Revocation, pg.SessionsRevoked}, Stays: "deleted; without client tokens no evidence arrives", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id device_class status legacy @started_at @ended_at @last_activity_at @last_evidence_at coverage evidence_windows " +
			"active_seconds modalities enrollment_ready trust_state #state",
		Order: "started_at, id",
	},
	// The frames of a session are deleted with it.
	Retained: &pg.Retention{Class: "sessions", Where: "r.status <> 'active' and r.started_at < $1 and r.last_activity_at < $1"},
})
