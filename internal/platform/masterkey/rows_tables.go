package masterkey

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.MasterKey](pg.Table{
	Name: "master_keys", Key: []string{"id"}, Placed: pg.OnCoordinator,
	Why:  "a few rows, read alone when a process starts",
	Free: pg.Reasons{"*": "a key that opens nothing is refused"},
})
