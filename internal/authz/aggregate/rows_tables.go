package aggregate

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.AggregateValue](pg.Table{
	Name: "aggregate_values", Key: []string{"request_id", "field", "decision"}, Placed: pg.ByEnvironment,
	Free:    pg.Reasons{"*": "observations: the decision has what it rests on"},
	Subject: &pg.OfSubject{Stays: "counts what was decided; what is revoked or ends is given back", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "request_id resource_digest field action_key decision first currency amount #digest @decided_at reserved @reserved_at @resource_until",
		Order:   "decided_at, request_id, field, decision",
	},
	// No rule looks back further. What is open counts for as long as it is.
	Retained: &pg.Retention{Class: "aggregates", Where: "r.reserved_at < $1 and r.reserved <> 'open'"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "aggregate_locks", Key: []string{"subject_uid", "resource_digest", "field"}, Placed: pg.ByEnvironment,
	Free:     pg.Reasons{"*": "observations: the decision has what it rests on"},
	Subject:  &pg.OfSubject{Stays: "says nothing", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{Not: "the fields that a cap adds up; what was added up is in aggregate_values"},
})
