package proof

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var proofs = pg.Declare[models.Proof](pg.Table{
	Name: "proofs", Key: []string{"jti"}, Placed: pg.ByEnvironment,
	Refers: []string{"authorizations"},
	Of:     pg.OfEnvironment, Bridged: true,
	Fixed:      []string{"jti", "tenant_id", "environment_id", "authorization_id", "subject_uid", "kid", "audience", "sealed", "issued_at", "expires_at"},
	Logged:     []string{"status", "consumed_at", "consumed_by", "revoked_at", "revoked_reason"},
	OwnEntries: true,
	Sealed:     []pg.Sealed{{Column: "sealed"}},
	Subject: &pg.OfSubject{
		Ends: append(pg.EveryIncident, pg.AccountAtRisk), Stays: "their actions were decided before the session ended", Erased: pg.DeletedBySubject,
		// Those of the authorizations that the same sweep deletes.
		By: "authorization_id in (select id from authorizations where environment_id = $2 and subject_uid = $1 limit $3)",
	},
	Exported: &pg.Export{
		Columns: "jti authorization_id kid audience status @issued_at @expires_at @consumed_at consumed_by @revoked_at revoked_reason",
		From:    "(select p.*, a.decided_at from authorizations a join proofs p on p.authorization_id = a.id and p.environment_id = a.environment_id where a.environment_id = $2 and a.subject_uid = $1) p",
		Order:   "decided_at, jti",
	},
	Ends: &pg.Ends{States: []string{"case when r.status = 'active' then r.jti end"}, UselessAt: "r.expires_at"},
})
