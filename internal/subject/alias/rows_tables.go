package alias

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.SubjectAlias](pg.Table{
	Name: "subject_aliases", Key: []string{"mac"}, Placed: pg.ByEnvironment,
	Refers:   []string{"subjects"},
	Free:     pg.Reasons{"*": "selects whom a security event restricts; nothing is allowed by it"},
	Subject:  &pg.OfSubject{Ends: []pg.Incident{pg.Erasure}, Stays: "names of the account, which outlive what was open for it", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{Columns: "format @created_at", Order: "created_at, format, mac"},
})
