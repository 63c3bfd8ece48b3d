package webhook

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.WebhookEndpoint](pg.Table{
	Name: "webhook_endpoints", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments"},
	Of:     pg.OfEnvironment, Bridged: true,
	Fixed: []string{"id", "tenant_id", "environment_id", "created_at"},
	Moves: []string{"url", "events", "status", "include_details", "updated_at", "deleted_at"},
	Free: pg.Reasons{
		"description": "decides nothing", "disabled_reason": "decides nothing", "disabled_at": "decides nothing", "failing_since": "changes with each use",
		"quiet_until": "changes with each use",
	},
	Unlogged: "each change is an entry with digests of the settings",
	// Each change of the settings opens a state of its own.
	Ends: &pg.Ends{States: []string{"case when r.status = 'enabled' and r.deleted_at is null then r.id || ' since ' || extract(epoch from r.updated_at) end"}},
})

var _ = pg.Declare[models.WebhookSecret](pg.Table{
	Name: "webhook_secrets", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"webhook_endpoints"},
	Free:   pg.Reasons{"*": "sealed by the master key with the id of the record"},
	Sealed: []pg.Sealed{{Column: "sealed"}},
})

var _ = pg.Declare[models.WebhookDelivery](pg.Table{
	Name: "webhook_deliveries", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"webhook_endpoints"},
	Free:   pg.Reasons{"*": "work and state of hours"},
})

var _ = pg.Declare[models.WebhookAttempt](pg.Table{
	Name: "webhook_attempts", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"webhook_deliveries"},
	Free:   pg.Reasons{"*": "work and state of hours"},
})
