package research

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.ResearchConsent](pg.Table{
	Name: "research_consents", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers:  []string{"subjects"},
	Free:    pg.Reasons{"*": "observations: the decision has what it rests on"},
	Subject: &pg.OfSubject{Stays: "a ledger", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id consented @recorded_at",
		Order:   "recorded_at, id",
	},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "research_links", Key: []string{"holder", "period_id"}, Placed: pg.ByEnvironment,
	Refers: []string{"research_periods"},
	Free:   pg.Reasons{"*": "observations: the decision has what it rests on"},
	Sealed: []pg.Sealed{{Column: "pseudonym"}},
})

var _ = pg.Declare[models.ResearchVector](pg.Table{
	Name: "research_vectors", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Free: pg.Reasons{"*": "observations: the decision has what it rests on"},
	Exported: &pg.Export{
		Columns: "id device_class #vector @created_at",
		From:    "research_vectors where environment_id = $2 and pseudonym = any($1)",
		Order:   "created_at, id",
	},
	Retained: &pg.Retention{Class: "research", Where: "r.created_at < $1"},
})

var _ = pg.Declare[models.ResearchPeriod](pg.Table{
	Name: "research_periods", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments"},
	Free:   pg.Reasons{"*": "observations: the decision has what it rests on"},
	Sealed: []pg.Sealed{{Column: "salt"}},
})
