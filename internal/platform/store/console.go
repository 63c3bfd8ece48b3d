package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Console reads what the health and decision pages of the console show.
type Console struct{ *Q }

// Console returns the queries of the aggregate.
func (q *Q) Console() Console { return Console{q} }

// ActionOf is the action that an authorization of the environment was about, archived or not.
func (q Console) ActionOf(ctx context.Context, s Scope, authorization string) (models.Action, error) {
	var a models.Action
	return one(a, q.gorm(ctx).Raw(`select c.* from actions c join authorizations a on a.action_id = c.id
		where a.tenant_id = ? and a.environment_id = ? and a.id = ?`, s.Tenant, s.Environment, authorization).Take(&a).Error)
}

// OutboxOf counts the rows of each topic that wait for the environment and tells the age of the oldest.
func (q Console) OutboxOf(ctx context.Context, s Scope) ([]Backlog, error) {
	var rows []Backlog
	err := q.gorm(ctx).Raw(`select o.topic, count(*) as waiting, min(o.created_at) as oldest from outbox o
		join environments e on e.id = o.environment_id where e.tenant_id = ? and e.id = ? group by o.topic order by o.topic`,
		s.Tenant, s.Environment).Scan(&rows).Error
	return rows, err
}

// EndpointBacklog is what one webhook endpoint is still owed.
type EndpointBacklog struct {
	EndpointID string
	Waiting    int64
	Oldest     time.Time
}

// EndpointBacklogs counts what each webhook endpoint of the environment is still owed.
func (q Console) EndpointBacklogs(ctx context.Context, s Scope) (map[string]EndpointBacklog, error) {
	var rows []EndpointBacklog
	err := q.gorm(ctx).Raw(`select d.endpoint_id, count(*) as waiting, min(d.created_at) as oldest from webhook_deliveries d
		join webhook_endpoints p on p.id = d.endpoint_id
		where p.tenant_id = ? and p.environment_id = ? and p.deleted_at is null and d.status = 'pending' group by d.endpoint_id`,
		s.Tenant, s.Environment).Scan(&rows).Error
	out := make(map[string]EndpointBacklog, len(rows))
	for _, r := range rows {
		out[r.EndpointID] = r
	}
	return out, err
}

// Chain is how far the environment's audit chain reaches.
type Chain struct {
	Links    int64
	Unsealed int64      // entries of the log behind the head
	Oldest   *time.Time // of those
}

// AuditReach reads how far the environment's audit chain reaches.
func (q Console) AuditReach(ctx context.Context, s Scope) (Chain, error) {
	var c Chain
	err := q.gorm(ctx).Raw(`select coalesce(max(h.seq), 0) as links, count(v.id) as unsealed, min(v.at) as oldest from environments e
		left join audit_heads h on h.environment_id = e.id
		left join events v on v.environment_id = e.id and (v.txid, v.seq) > (coalesce(h.txid, '0'::xid8), coalesce(h.event_seq, 0))
		where e.tenant_id = ? and e.id = ?`, s.Tenant, s.Environment).Scan(&c).Error
	return c, err
}

// OpenChallenges counts the environment's challenges that can still be completed.
func (q Console) OpenChallenges(ctx context.Context, s Scope, now time.Time) (int64, error) {
	var n int64
	err := q.queryRow(ctx, `select count(*) from challenges where tenant_id = $1 and environment_id = $2 and status = 'open'
		and expires_at > $3`, s.Tenant, s.Environment, now).Scan(&n)
	return n, err
}

// Backlog is what waits in one topic.
type Backlog struct {
	Topic   string
	Waiting int64
	Oldest  time.Time
}

// Queue is how much of one kind of work waits, and how long the oldest of it has.
type Queue struct {
	Kind   string        // outbox, deliveries, challenges_overdue, holds, holds_overdue, signing_key
	Topic  string        // of the outbox; else empty
	Count  int64         // rows
	Oldest time.Duration // since the oldest was due, opened or, for a signing key, began to sign
}

// Queues measures every kind over all environments: it is for the operator, who belongs to no tenant. A kind of which
// nothing waits is there with zeros, but for topics of the outbox.
func (q Console) Queues(ctx context.Context, now time.Time) ([]Queue, error) {
	var rows []struct {
		Kind, Topic string
		Count       int64
		Seconds     float64
	}
	err := q.gorm(ctx).Raw(`
		select 'outbox' as kind, topic, count(*) as count, extract(epoch from @now - min(available_at)) as seconds
		from outbox where available_at <= @now group by topic
		union all
		select 'deliveries', '', count(*), coalesce(extract(epoch from @now - min(next_attempt_at)), 0)
		from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
		where d.status = 'pending' and d.next_attempt_at <= @now
		union all
		select 'challenges_overdue', '', count(*), coalesce(extract(epoch from @now - min(expires_at)), 0)
		from challenges where status = 'open' and expires_at <= @now
		union all
		select 'holds', '', count(*), coalesce(extract(epoch from @now - min(opened_at)), 0) from holds where status = 'pending'
		union all
		select 'holds_overdue', '', count(*), coalesce(extract(epoch from @now - min(due_at)), 0)
		from holds where status = 'pending' and due_at <= @now
		union all
		select 'signing_key', '', count(*), coalesce(extract(epoch from @now - min(activated_at)), 0)
		from signing_keys where status = 'active'`, map[string]any{"now": now}).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	queues := make([]Queue, len(rows))
	for i, r := range rows {
		queues[i] = Queue{Kind: r.Kind, Topic: r.Topic, Count: r.Count, Oldest: time.Duration(max(r.Seconds, 0) * float64(time.Second))}
	}
	return queues, nil
}
