package afterreview

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// The tables name no subject: what staff did stays when the subject is erased. ofSubject selects the rows about holds of a subject, as long as those
// are stored.
const ofSubject = " where environment_id = $2 and authorization_id in (select authorization_id from holds where environment_id = $2 and subject_uid = $1)"

var _ = pg.Declare[models.AfterReview](pg.Table{
	Name: "after_reviews", Key: []string{"authorization_id"}, Placed: pg.ByEnvironment,
	Of: pg.OfEnvironment,
	Fixed: []string{
		"authorization_id", "tenant_id", "environment_id", "action_id", "broken_by", "principal", "requested_by", "requester_person", "team", "reason_digest",
		"approvals", "opened_at", "due_at",
	},
	Moves: []string{"status", "overdue_at", "closed_at"},
	Exported: &pg.Export{
		Columns: "authorization_id action_id broken_by principal requested_by requester_person team reason_digest approvals @opened_at @due_at status @overdue_at @closed_at",
		From:    "after_reviews" + ofSubject, Order: "opened_at, authorization_id",
	},
})

var _ = pg.Declare[models.AfterVerdict](pg.Table{
	Name: "after_verdicts", Key: []string{"authorization_id", "reviewer"}, Placed: pg.ByEnvironment,
	Refers: []string{"after_reviews"},
	Of:     pg.OfEnvironment,
	Fixed:  []string{"authorization_id", "environment_id", "tenant_id", "reviewer", "principal", "verdict", "note_digest", "at"},
	Exported: &pg.Export{
		Columns: "authorization_id reviewer principal verdict note_digest @at",
		From:    "after_verdicts" + ofSubject, Order: "at, authorization_id, reviewer",
	},
})
