package consolequery

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

// Queues is the backlog of an environment, for the console's health page.
type Queues struct {
	Outbox     []store.Backlog
	Endpoints  map[string]store.EndpointBacklog // by endpoint id
	Failing    store.Late                       // enabled endpoints whose last attempts failed
	Due        store.Late                       // deliveries whose next attempt is due
	Overdue    store.Late                       // records whose timer did not fire
	Holds      store.HoldCounts
	Chain      store.AuditChainStatus // extent of the sealed audit log
	Challenges int64                  // open and not expired
	Quotas     []store.NearlyUsed     // those that are nearly used up
	Now        time.Time              // the time that ages are relative to
}

// EndpointBacklogs returns how many deliveries wait for each endpoint of the environment, by endpoint id.
func (r *Reader) EndpointBacklogs(ctx context.Context, scope store.Scope) (map[string]store.EndpointBacklog, error) {
	return r.store.Console().EndpointBacklogs(ctx, scope)
}

// AuditEntries returns a page of the sealed log in the order of its numbers, newest first, the extent of its chain and the cursor of the next page.
func (r *Reader) AuditEntries(ctx context.Context, scope store.Scope, f store.AuditFilter, p store.Page) (links []store.AuditLink, reach store.AuditChainStatus, next string, err error) {
	if links, next, err = r.store.Audit().Numbered(ctx, scope, f, p); err != nil {
		return nil, reach, "", err
	}
	reach, err = r.store.Console().AuditChain(ctx, scope)
	return links, reach, next, err
}

// Queues reads the environment's backlog in one read transaction, so that the figures are consistent with each other.
func (r *Reader) Queues(ctx context.Context, scope store.Scope) (Queues, error) {
	q := Queues{Now: r.clock.Now()}
	err := r.store.Read(ctx, func(tx *store.Q) (err error) {
		if q.Outbox, err = tx.Console().OutboxBacklogs(ctx, scope, q.Now); err != nil {
			return err
		}
		if q.Failing, err = tx.Console().FailingEndpoints(ctx, scope); err != nil {
			return err
		}
		if q.Due, err = tx.Console().DueDeliveries(ctx, scope, q.Now); err != nil {
			return err
		}
		if q.Overdue, err = tx.Console().OverdueTimers(ctx, scope, q.Now); err != nil {
			return err
		}
		if q.Endpoints, err = tx.Console().EndpointBacklogs(ctx, scope); err != nil {
			return err
		}
		if q.Chain, err = tx.Console().AuditChain(ctx, scope); err != nil {
			return err
		}
		if q.Challenges, err = tx.Console().OpenChallenges(ctx, scope, q.Now); err != nil {
			return err
		}
		if q.Quotas, err = tx.Quotas().NearlyUsed(ctx, identity.QuotaPrefix(scope.Environment), q.Now); err != nil {
			return err
		}
		q.Holds, err = tx.Holds().Count(ctx, scope, "", "", q.Now)
		return err
	})
	return q, err
}
