package destination

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.ExportDestination](pg.Table{
	Name: "export_destinations", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"id", "tenant_id", "environment_id", "name", "kind", "url", "encoding", "header", "ca", "since", "created_at", "updated_at",
	},
	Free: pg.Reasons{
		"credentials": "sealed with the id", "position": "the receiver sees a gap in the numbers", "reserved_by": "work and state of hours",
		"reserved_until": "work and state of hours", "next_attempt_at": "work and state of hours", "failures": "decides nothing",
		"failing_since": "decides nothing", "sent_at": "decides nothing", "last_error": "decides nothing",
	},
	Sealed: []pg.Sealed{{Column: "credentials", While: "credentials is not null"}},
})
