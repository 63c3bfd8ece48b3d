package idempotency

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.IdempotencyKey](pg.Table{
	Name: "idempotency_keys", Key: []string{"credential_id", "key"}, Placed: pg.ByEnvironment,
	Free: pg.Reasons{"*": "work and state of hours"},
})
