package template

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Template](pg.Table{
	Name: "templates", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"subjects"},
	Logged: []string{"environment_id", "subject_uid", "status"},
	Free: pg.Reasons{
		"created_at":    "decides nothing",
		"data":          "sealed by the master key with the id and the subject",
		"device_class":  "describes the content",
		"id":            "describes the content",
		"limitations":   "describes the content",
		"modality":      "describes the content",
		"model_version": "describes the content",
		"origin":        "decides nothing",
		"origin_ref":    "decides nothing",
		"provisional":   "describes the content",
		"tenant_id":     "decides nothing",
		"updated_at":    "decides nothing",
		"version":       "describes the content",
	},
	OwnEntries: true,
	Sealed:     []pg.Sealed{{Column: "data"}},
	Subject:    &pg.OfSubject{Stays: "a recovery retires them; of a revoked subject every decision is deny", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id modality device_class version status origin origin_ref model_version provisional limitations @created_at @updated_at #data",
		Order:   "created_at, id",
	},
	// An active version is never deleted, however long it has been active.
	Retained: &pg.Retention{Class: "templates", Where: "r.status <> 'active' and r.updated_at < $1"},
})
