package signal

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.SignalStream](pg.Table{
	Name: "signal_streams", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"id", "tenant_id", "environment_id", "name", "issuer", "audience", "keys_url", "keys", "poll_url", "effects", "created_at", "updated_at", "push_mac",
	},
	Free: pg.Reasons{
		"poll_token": "sealed with the id", "polled_at": "decides nothing", "received_at": "decides nothing", "status": "decides nothing",
		"last_error": "decides nothing",
	},
	Sealed: []pg.Sealed{{Column: "poll_token", While: "poll_token is not null"}},
	// Each change of the settings opens a state of its own.
	Ends: &pg.Ends{States: []string{"r.id || ' since ' || extract(epoch from r.updated_at)"}},
})

var _ = pg.Declare[models.Signal](pg.Table{
	Name: "signals", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers:   []string{"subjects"},
	Free:     pg.Reasons{"*": "facts from outside: each that names a subject is an entry"},
	Subject:  &pg.OfSubject{Stays: "says what happened elsewhere", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{Columns: "id stream_id type eased @at @received_at effects", Order: "received_at, id"},
	Retained: &pg.Retention{Class: "signals", Where: "r.received_at < $1"},
})
