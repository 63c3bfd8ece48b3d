package consolequery

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Queues is the backlog of an environment, for the console's health page.
type Queues struct {
	Outbox     []Backlog
	Endpoints  map[string]EndpointBacklog // by endpoint id
	Failing    Late                       // enabled endpoints whose last attempts failed
	Due        Late                       // deliveries whose next attempt is due
	Overdue    Late                       // records whose timer did not fire
	Exports    Late                       // entries that a destination of the log has not confirmed
	After      Late                       // reviews of break-glasses: how many are open, and since when one is overdue
	Holds      hold.QueueCounts
	Chain      AuditChainStatus       // extent of the sealed audit log
	Challenges int64                  // open and not expired
	Quotas     []ratelimit.NearlyUsed // those that are nearly used up
	Now        time.Time              // the time that ages are relative to
}

// EndpointBacklogs returns how many deliveries wait for each endpoint of the environment, by endpoint id.
func (r *Reader) EndpointBacklogs(ctx context.Context, scope pg.Scope) (map[string]EndpointBacklog, error) {
	return endpointBacklogs(ctx, r.store.Q, scope)
}

// AuditEntries returns a page of the sealed log in the order of its numbers, newest first, the extent of its chain and the cursor of the next page.
func (r *Reader) AuditEntries(ctx context.Context, scope pg.Scope, f audit.Filter, p pg.Page) (links []audit.Link, reach AuditChainStatus, next string, err error) {
	if links, next, err = audit.NumberedEntries(ctx, r.store.Q, scope, f, p); err != nil {
		return nil, reach, "", err
	}
	reach, err = auditChain(ctx, r.store.Q, scope)
	return links, reach, next, err
}

// EarlierOfType returns the newest sealed entries of the type of an entry that precede it.
func (r *Reader) EarlierOfType(ctx context.Context, scope pg.Scope, l audit.Link) ([]audit.Link, error) {
	links, _, err := audit.EntriesOf(ctx, r.store.Q, scope, audit.Filter{Types: []string{l.Event.Type}, Until: &l.Event.At}, pg.Page{Limit: 20})
	return links, err
}

// Queues reads the environment's backlog.
func (r *Reader) Queues(ctx context.Context, scope pg.Scope) (Queues, error) {
	return ReadQueues(ctx, r.store, scope, r.clock.Now())
}

// ReadQueues reads the environment's backlog at a time in one read transaction, so that the figures are consistent with each other.
func ReadQueues(ctx context.Context, st *pg.Store, scope pg.Scope, now time.Time) (Queues, error) {
	q := Queues{Now: now}
	err := st.Read(ctx, func(tx *pg.Q) (err error) {
		if q.Outbox, err = outboxBacklogs(ctx, tx, scope, q.Now); err != nil {
			return err
		}
		if q.Failing, err = failingEndpoints(ctx, tx, scope); err != nil {
			return err
		}
		if q.Due, err = dueDeliveries(ctx, tx, scope, q.Now); err != nil {
			return err
		}
		if q.Overdue, err = overdueTimers(ctx, tx, scope, q.Now); err != nil {
			return err
		}
		if q.Exports, err = unexported(ctx, tx, scope); err != nil {
			return err
		}
		if q.After, err = openAfterReviews(ctx, tx, scope, q.Now); err != nil {
			return err
		}
		if q.Endpoints, err = endpointBacklogs(ctx, tx, scope); err != nil {
			return err
		}
		if q.Chain, err = auditChain(ctx, tx, scope); err != nil {
			return err
		}
		if q.Challenges, err = openChallenges(ctx, tx, scope, q.Now); err != nil {
			return err
		}
		if q.Quotas, err = ratelimit.NearlyUsedQuotas(ctx, tx, identity.QuotaPrefix(scope.Environment), q.Now); err != nil {
			return err
		}
		q.Holds, err = hold.CountHolds(ctx, tx, scope, "", "", q.Now)
		return err
	})
	return q, err
}

// alteredFor is how long a refused record is named, even if it was repaired: large tables are not searched for altered records.
const alteredFor = 24 * time.Hour

// Altered names the records that decide in the scope and were changed outside of the service.
func (r *Reader) Altered(ctx context.Context, scope pg.Scope) ([]string, error) {
	return AlteredRecords(ctx, r.store.Q, scope, r.clock.Now())
}

// CountingHours returns the keys of the actions in the scope whose policy in force counts working hours.
func (r *Reader) CountingHours(ctx context.Context, scope pg.Scope) ([]string, error) {
	return countingHours(ctx, r.store.Q, scope)
}

// AlteredRecords is Reader.Altered: the records of small tables that are altered now, and those of any table that were refused in the last 24 hours.
func AlteredRecords(ctx context.Context, q *pg.Q, scope pg.Scope, now time.Time) ([]string, error) {
	names, err := refusedRecords(ctx, q, scope, now.Add(-alteredFor))
	if err != nil {
		return nil, err
	}
	rows, err := pg.AlteredIn(ctx, q, scope)
	for _, a := range rows {
		names = append(names, a.Table+" "+a.ID)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
