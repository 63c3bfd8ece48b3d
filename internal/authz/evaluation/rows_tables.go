package evaluation

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Evaluation](pg.Table{
	Name: "evaluations", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Fixed: []string{
		"id", "tenant_id", "environment_id", "name", "action_keys", "action_ids", "success_criteria", "starts_at", "ends_at", "created_at",
	},
	Logged:     []string{"status", "closed_at", "report"},
	OwnEntries: true,
})
