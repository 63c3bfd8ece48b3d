package outbox

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Outbox](pg.Table{
	Name: "outbox", Key: []string{"id"}, Placed: pg.OnCoordinator,
	Why:  "a queue over all environments that relays lock rows of, which is possible on one server only; a row is deleted when its work has begun, so that the table does not grow",
	Free: pg.Reasons{"*": "work and state of hours"},
})
