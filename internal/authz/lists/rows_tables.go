package lists

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.List](pg.Table{
	Name: "lists", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment,
	Moves:  []string{"id", "tenant_id", "environment_id", "name", "kind", "personal", "version", "entries", "entries_sum", "created_at", "created_by"},
	Free:   pg.Reasons{"description": "decides nothing", "secret": "sealed with the id"},
	Sealed: []pg.Sealed{{Column: "secret", While: "secret is not null"}},
})

var _ = pg.Declare[models.ListEntry](pg.Table{
	Name: "list_entries", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"lists"},
	Of:     pg.OfEnvironment,
	Moves:  []string{"id", "tenant_id", "environment_id", "list_id", "key", "expires_at", "salt"},
	Free: pg.Reasons{
		"added_at": "decides nothing",
		"added_by": "decides nothing",
		"reason":   "decides nothing",
		"value":    "shown; the key is looked up",
	},
	OwnEntries: true,
	Exported: &pg.Export{
		Columns: "id list_id name reason @expires_at @added_at added_by",
		From:    "(select l.name, e.* from lists l join list_entries e on e.environment_id = l.environment_id and e.list_id = l.id and e.key = any($1) where l.environment_id = $2) e",
		Order:   "name, id",
	},
})
