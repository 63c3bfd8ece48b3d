package signing

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var signingKeys = pg.Declare[models.SigningKey](pg.Table{
	Name: "signing_keys", Key: []string{"kid"}, Placed: pg.Everywhere,
	Refers: []string{"environments"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"kid", "tenant_id", "environment_id", "status", "backend", "public_jwk", "created_at", "activated_at", "retiring_at", "retired_at",
	},
	Free:   pg.Reasons{"last_used_at": "changes with each use", "sealed": "sealed with the environment and the kid"},
	Sealed: []pg.Sealed{{Column: "sealed", While: "status <> 'retired'"}},
	Ends:   &pg.Ends{States: []string{"case when r.status <> 'retired' then r.kid || ' ' || r.status end"}},
})
