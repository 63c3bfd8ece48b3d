package consolequery

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// Queues is how much waits in an environment, and for how long.
type Queues struct {
	Outbox     []store.Backlog
	Endpoints  map[string]store.EndpointBacklog // by endpoint
	Holds      store.HoldCounts
	Chain      store.Chain
	Challenges int64 // that can still be completed
	Now        time.Time
}

// Queues reads the queues that the environment's work passes through.
func (r *Reader) Queues(ctx context.Context, scope store.Scope) (Queues, error) {
	q := Queues{Now: r.Clock.Now()}
	err := r.Store.Read(ctx, func(tx *store.Q) (err error) {
		if q.Outbox, err = tx.Console().OutboxOf(ctx, scope); err != nil {
			return err
		}
		if q.Endpoints, err = tx.Console().EndpointBacklogs(ctx, scope); err != nil {
			return err
		}
		if q.Chain, err = tx.Console().AuditReach(ctx, scope); err != nil {
			return err
		}
		if q.Challenges, err = tx.Console().OpenChallenges(ctx, scope, q.Now); err != nil {
			return err
		}
		q.Holds, err = tx.Holds().Count(ctx, scope, "", "", q.Now)
		return err
	})
	return q, err
}
