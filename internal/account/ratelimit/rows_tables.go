package ratelimit

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

var _ = pg.DeclareSQL(pg.Table{
	Name: "quotas", Key: []string{"bucket"}, Placed: pg.OnCoordinator,
	Why:  "state of seconds, read and written alone",
	Free: pg.Reasons{"*": "work and state of hours"},
})
