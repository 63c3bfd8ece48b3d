package standing

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var table = pg.Declare[models.StandingApproval](pg.Table{
	Name: "standing_approvals", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Of: pg.OfEnvironment,
	Fixed: []string{
		"id", "tenant_id", "environment_id", "subject_uid", "action_id", "action_key", "policy_version", "policy_hash", "mode", "source", "audience",
		"resource_type", "terms", "max_uses", "max_amount", "currency", "ends_at", "created_at", "created_by",
	},
	Moves: []string{
		"status", "authorization_id", "passkey_id", "hold_id", "begun_at", "uses", "amount_used", "revision", "ended_at", "ended_by", "end_reason",
	},
	Sealed: []pg.Sealed{{Column: "terms"}},
	Subject: &pg.OfSubject{
		Ends: append(pg.EveryIncident, pg.AccountAtRisk, pg.SessionsRevoked), Erased: pg.DeletedBySubject,
	},
	Exported: &pg.Export{
		Columns: "id action_id action_key policy_version policy_hash mode source audience resource_type #terms max_uses max_amount currency @ends_at @created_at created_by " +
			"status authorization_id passkey_id hold_id @begun_at uses amount_used revision @ended_at ended_by end_reason",
		Order: "created_at, id",
	},
	// An active one leaves a state with each use: an earlier copy would allow what was used already.
	Ends: &pg.Ends{States: []string{"case when r.status = 'active' then r.id || ' ' || r.revision end"}, UselessAt: "r.ends_at"},
})

var _ = pg.Declare[models.StandingLink](pg.Table{
	Name: "standing_links", Key: []string{"mac"}, Placed: pg.ByEnvironment,
	Refers:   []string{"subjects"},
	Free:     pg.Reasons{"*": "lives for minutes, and opens only by MACs that cover whose it is"},
	Subject:  &pg.OfSubject{Stays: "shows and revokes only after a passkey of the subject", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{Not: "the MAC of a ticket that expires within minutes; its creation is in the audit log"},
})
