package session

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Frame](pg.Table{
	Name: "frames", Key: []string{"session_id", "frame_id"}, Placed: pg.ByEnvironment,
	Refers:  []string{"sessions", "subjects"},
	Free:    pg.Reasons{"*": "observations: the decision has what it rests on"},
	Subject: &pg.OfSubject{Stays: "nothing that arrived before a recovery is ready is learned from", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "session_id frame_id purpose status reason_codes @received_at @at duration_ms #digest #vector keys",
		Order:   "received_at, session_id, frame_id",
	},
	Retained: &pg.Retention{Class: "frames", Where: "r.received_at < $1"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "frame_digests", Key: []string{"digest"}, Placed: pg.ByEnvironment,
	Refers:  []string{"subjects"},
	Free:    pg.Reasons{"*": "observations: the decision has what it rests on"},
	Subject: &pg.OfSubject{Stays: "recognises a replay", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "session_id #digest @seen_at",
		Order:   "seen_at, digest",
	},
	Retained: &pg.Retention{Class: "digests", Where: "r.seen_at < $1"},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "typed_passages", Key: []string{"subject_uid", "device_class", "block"}, Placed: pg.ByEnvironment,
	Refers:  []string{"subjects"},
	Free:    pg.Reasons{"*": "observations: the decision has what it rests on"},
	Sealed:  []pg.Sealed{{Column: "passages"}},
	Subject: &pg.OfSubject{Stays: "recognises a replay", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "device_class block #passages @updated_at",
		Order:   "device_class, block",
	},
})
