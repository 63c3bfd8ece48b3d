package legacy

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// setTimingTemplate stores the template that /enrol learned of a subject.
func setTimingTemplate(ctx context.Context, q *pg.Q, s pg.Scope, uid string, sealed []byte, at time.Time) error {
	_, err := q.Exec(ctx, `update subjects set timing_template = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3`, s.Tenant, s.Environment, uid, sealed, at)
	return err
}
