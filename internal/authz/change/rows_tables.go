package change

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Change](pg.Table{
	Name: "changes", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment, Bridged: true,
	Fixed: []string{"id", "tenant_id", "environment_id", "kind", "action", "proposed_by", "created_at", "expires_at"},
	Moves: []string{
		"status", "target", "proposed", "base", "differences", "digest", "principal", "reason", "resolved_at", "resolved_by", "resolved_for",
	},
	Unlogged: "an approved change is in the row that it changes",
	Ends:     &pg.Ends{States: []string{"case when r.status = 'pending' then r.id end"}, UselessAt: "r.expires_at"},
})
