package subject

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Erasure](pg.Table{
	Name: "erasures", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Logged:     []string{"id", "tenant_id", "environment_id", "status", "requested_by", "requested_at", "completed_at", "removed"},
	Free:       pg.Reasons{"subject": "empty when it is completed", "subject_uid": "empty when it is completed"},
	OwnEntries: true,
	Subject:    &pg.OfSubject{Stays: "the record of the erasure", Erased: pg.NotDeleted},
	Exported:   &pg.Export{Not: "the record of an erasure identifies no one, and no subject remains to export"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "erased_terms", Key: []string{"mac"}, Placed: pg.ByEnvironment,
	Refers: []string{"environments"},
	Free:   pg.Reasons{"*": "restrictions of an erased id, which no entry of the log may name"},
})
