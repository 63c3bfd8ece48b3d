package settle

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.MoveRequest](pg.Table{
	Name: "move_requests", Key: []string{"target", "digest"}, Placed: pg.ByEnvironment,
	Refers: []string{"authorizations"},
	Of:     "environment_id = @environment",
	Moves: []string{
		"target", "digest", "environment_id", "authorization_id", "move", "actor", "request_id", "method", "passkey_id", "sign_count",
		"backup_state", "note_digest", "requested_at",
	},
	Added:    []string{"step"},
	Unlogged: "lives for days: the move that it asks for is an entry",
	Subject:  &pg.OfSubject{Stays: "moves only a challenge or a hold that is open", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{
		Section: "requests", Columns: "target authorization_id step move actor method passkey_id note_digest @requested_at",
		From:  "move_requests where environment_id = $2 and authorization_id in (select id from authorizations where environment_id = $2 and subject_uid = $1)",
		Order: "requested_at, target, digest",
	},
})
