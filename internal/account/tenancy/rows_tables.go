package tenancy

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Tenant](pg.Table{
	Name: "tenants", Key: []string{"id"}, Placed: pg.Everywhere,
	Free: pg.Reasons{"*": "decides nothing"},
})

var _ = pg.Declare[models.DeletedTenant](pg.Table{
	Name: "deleted_tenants", Key: []string{"id"}, Placed: pg.OnCoordinator,
	Why:  "a few rows, which commands read and write alone",
	Free: pg.Reasons{"*": "decides nothing"},
})

// added are the settings that were added after version 1.0.
var added = []string{"resource_reservation_seconds", "working_zone", "working_hours", "holidays"}

func isAdded(column string) bool { return slices.Contains(added, column) }

var _ = pg.Declare[models.Environment](pg.Table{
	Name: "environments", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"tenants"},
	Of:     "tenant_id = @tenant and id = @environment",
	Moves:  append([]string{"id", "tenant_id", "kind", "rp_id", "research_enabled", "rate_limit", "rate_limit_ceiling"}, slices.DeleteFunc(models.SettingColumns(), isAdded)...),
	Added:  added,
	Free:   pg.Reasons{"created_at": "decides nothing"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "environment_brands", Key: []string{"environment_id"}, Placed: pg.Everywhere,
	Refers: []string{"environments"},
	Free:   pg.Reasons{"*": "decides nothing"},
})

var _ = pg.Declare[models.EnvironmentPasskeys](pg.Table{
	Name: "environment_passkeys", Key: []string{"environment_id"}, Placed: pg.Everywhere,
	Refers: []string{"environments"},
	Of:     pg.OfEnvironment,
	Moves:  []string{"environment_id", "tenant_id", "rp_ids", "related_origins", "attestation", "attestation_roots", "aaguids"},
})

var _ = pg.Declare[models.RPID](pg.Table{
	Name: "rp_ids", Key: []string{"rp_id"}, Placed: pg.Everywhere,
	Refers: []string{"tenants"},
	Of:     pg.OfTenant,
	Moves:  []string{"rp_id", "tenant_id"},
})
