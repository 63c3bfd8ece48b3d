package audit

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Event](pg.Table{
	Name: "events", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Free:     pg.Reasons{"*": "the log itself, which its chain proves"},
	Numbered: pg.Reasons{"seq": "the order in which the events that wait are sealed; the order of the log is that of the sealed chain"},
	Subject:  &pg.OfSubject{Stays: "the audit chain", Erased: pg.NotDeleted},
	Exported: &pg.Export{
		Columns: "id type @at action authorization_id decision actor request_id workflow_id data",
		Order:   "seq",
	},
	// The entry stays, so that the chain can be verified; its personal part is removed, unless something that is stored is compared with it.
	Retained: &pg.Retention{Class: "events", Where: "r.at < $1 and r.erased_at is null and " + NoEvidence, Empties: "subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $3"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "audit_heads", Key: []string{"environment_id"}, Placed: pg.ByEnvironment,
	Free: pg.Reasons{"*": "the log itself, which its chain proves"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "audit_chain", Key: []string{"seq"}, Placed: pg.ByEnvironment,
	Free: pg.Reasons{"*": "the log itself, which its chain proves"},
})
