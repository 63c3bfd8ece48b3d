package backgrounds

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Background](pg.Table{
	Name: "backgrounds", Key: []string{"version"}, Placed: pg.Everywhere,
	Free: pg.Reasons{"*": "models that the scorer compares people with: the decision names the version"},
})

var _ = pg.Declare[models.EnvironmentBackground](pg.Table{
	Name: "environment_backgrounds", Key: []string{"version"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "tenants"},
	Free:   pg.Reasons{"*": "models that the scorer compares people with: the decision names the version"},
	// The newest stays, because the next is numbered after it, and so does one that active templates were trained with.
	Retained: &pg.Retention{Class: "backgrounds", Where: `r.status <> 'active' and coalesce(r.retired_at, r.made_at) < $1
			and exists (select from environment_backgrounds n where n.environment_id = r.environment_id and n.modality = r.modality and n.number > r.number)
			and (r.environment_id, r.modality, r.version) not in (select t.environment_id, t.modality, t.model_version from templates t
				where t.status <> 'retired' and t.model_version in (select version from environment_backgrounds where status <> 'active') group by 1, 2, 3)`},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "background_shares", Key: []string{"subject_uid", "modality"}, Placed: pg.ByEnvironment,
	Refers:  []string{"environments", "subjects", "tenants"},
	Free:    pg.Reasons{"*": "models that the scorer compares people with: the decision names the version"},
	Subject: &pg.OfSubject{Stays: "recounted by each incident", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "modality #digest @counted_at",
		Order:   "modality",
	},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "background_sums", Key: []string{"modality"}, Placed: pg.ByEnvironment,
	Refers: []string{"environments", "tenants"},
	Free:   pg.Reasons{"*": "models that the scorer compares people with: the decision names the version"},
	Sealed: []pg.Sealed{{Column: "sums"}},
})
