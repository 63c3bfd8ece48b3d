package recovery

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Recovery](pg.Table{
	Name: "recoveries", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"subjects"},
	Of:     pg.OfEnvironment, Bridged: true,
	Fixed: []string{
		"id", "tenant_id", "environment_id", "subject_uid", "anchor", "anchor_evidence_digest", "reference", "limitations", "created_at", "ready_at",
		"expires_at",
	},
	Moves:    []string{"status", "completed_at"},
	Unlogged: "work and state of hours",
	Ends:     &pg.Ends{States: []string{"case when r." + subject.UnfinishedRecovery + " then r.id end"}, UselessAt: "r.expires_at"},
	Subject:  &pg.OfSubject{Stays: "a second recovery is refused while one is open; a revoked subject cannot enroll", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id status anchor anchor_evidence_digest reference limitations @created_at @ready_at @expires_at @completed_at",
		Order:   "created_at, id",
	},
})
