package pg

import (
	"context"
	"time"
)

// Erasures stores erasures and deletes what they erase.
type Erasures struct{ *Q }

// Erasures returns the queries of the aggregate.
func (q *Q) Erasures() Erasures { return Erasures{q} }

// EraseEvents removes the personal part of at most limit of the subject's events. The rows stay, so that the audit chain
// can still be verified.
func (q Erasures) EraseEvents(ctx context.Context, environment, uid string, at time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `update events set subject_uid = null, subject = null, request_id = null, data = null, salt = null, erased_at = $2
		where environment_id = $4 and id in (select id from events where environment_id = $4 and subject_uid = $1 limit $3)`, uid, at, limit, environment)
}
