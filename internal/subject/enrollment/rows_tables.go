package enrollment

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Enrollment](pg.Table{
	Name: "enrollments", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers:  []string{"subjects"},
	Free:    pg.Reasons{"*": "observations: the decision has what it rests on"},
	Subject: &pg.OfSubject{Stays: "one that is pending trains on nothing of before a recovery, and fails; a revoked subject cannot enroll", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id session_id anchor status force windows_accepted limitations refused_sessions @created_at @completed_at",
		Order:   "created_at, id",
	},
})
