package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Console reads the figures of the console's health page and of the operator's commands.
type Console struct{ *Q }

// Console returns the queries of the aggregate.
func (q *Q) Console() Console { return Console{q} }

// ActionOf returns the action that an authorization of the environment was about, archived or not.
func (q Console) ActionOf(ctx context.Context, s Scope, authorization string) (models.Action, error) {
	var a models.Action
	return orNotFound(a, q.gorm(ctx).Raw(`select c.* from actions c join authorizations a on a.action_id = c.id
		where a.tenant_id = ? and a.environment_id = ? and a.id = ?`, s.Tenant, s.Environment, authorization).Take(&a).Error)
}

// OutboxBacklogs returns, for each topic, the number of outbox rows of the environment and since when the oldest waits. A row that has failed waits too, although it
// is not due until its next attempt.
func (q Console) OutboxBacklogs(ctx context.Context, s Scope, now time.Time) ([]Backlog, error) {
	var rows []Backlog
	err := q.gorm(ctx).Raw(`select o.topic, count(*) as waiting, min(o.created_at) as oldest from outbox o
		join environments e on e.id = o.environment_id where e.tenant_id = ? and e.id = ? and o.created_at <= ?
		group by o.topic order by o.topic`, s.Tenant, s.Environment, now).Find(&rows).Error
	return rows, err
}

// Late is a number of records and the time since which the oldest of them is late; nil if there is none.
type Late struct {
	Count int64
	Since *time.Time
}

// FailingEndpoints counts the enabled webhook endpoints of the environment whose last attempts failed, since the first failure.
func (q Console) FailingEndpoints(ctx context.Context, s Scope) (Late, error) {
	return q.late(ctx, `select count(*), min(failing_since) from webhook_endpoints where tenant_id = $1 and environment_id = $2
		and status = 'enabled' and deleted_at is null and failing_since is not null`, s.Tenant, s.Environment)
}

// DueDeliveries counts the pending deliveries of the environment whose next attempt is due.
func (q Console) DueDeliveries(ctx context.Context, s Scope, now time.Time) (Late, error) {
	return q.late(ctx, `select count(*), min(d.next_attempt_at) from webhook_deliveries d
		join webhook_endpoints e on e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
		where e.tenant_id = $1 and e.environment_id = $2 and d.environment_id = $2 and d.status = 'pending' and d.next_attempt_at <= $3`,
		s.Tenant, s.Environment, now)
}

// OverdueTimers counts the records of the environment that should have expired or closed: their timer did not fire.
func (q Console) OverdueTimers(ctx context.Context, s Scope, now time.Time) (Late, error) {
	return q.late(ctx, `select count(*), min(due) from (
		select expires_at as due from challenges where tenant_id = $1 and environment_id = $2 and status = 'open' and expires_at <= $3
		union all
		select due_at from holds where tenant_id = $1 and environment_id = $2 and status = 'pending' and due_at <= $3
		union all
		select expires_at from changes where tenant_id = $1 and environment_id = $2 and status = 'pending' and expires_at <= $3
		union all
		select ends_at from evaluations where tenant_id = $1 and environment_id = $2 and status = 'open' and ends_at <= $3) as overdue`,
		s.Tenant, s.Environment, now)
}

func (q Console) late(ctx context.Context, query string, args ...any) (Late, error) {
	var l Late
	err := q.queryRow(ctx, query, args...).Scan(&l.Count, &l.Since)
	return l, err
}

// EndpointBacklog is the number of pending deliveries of one webhook endpoint.
type EndpointBacklog struct {
	EndpointID string
	Waiting    int64
	Oldest     time.Time
}

// EndpointBacklogs counts the pending deliveries of the environment's webhook endpoints, by endpoint id.
func (q Console) EndpointBacklogs(ctx context.Context, s Scope) (map[string]EndpointBacklog, error) {
	var rows []EndpointBacklog
	err := q.gorm(ctx).Raw(`select d.endpoint_id, count(*) as waiting, min(d.created_at) as oldest from webhook_deliveries d
		join webhook_endpoints p on p.id = d.endpoint_id and p.environment_id = d.environment_id
		where p.tenant_id = ? and p.environment_id = ? and p.deleted_at is null and d.status = 'pending' group by d.endpoint_id`,
		s.Tenant, s.Environment).Find(&rows).Error
	out := make(map[string]EndpointBacklog, len(rows))
	for _, r := range rows {
		out[r.EndpointID] = r
	}
	return out, err
}

// AuditChainStatus is the length of an audit chain and the number of events that it does not contain yet.
type AuditChainStatus struct {
	Links    int64
	Unsealed int64      // events that wait to be sealed
	Oldest   *time.Time // time of the oldest unsealed event
}

// AuditChain returns the status of the environment's audit chain.
func (q Console) AuditChain(ctx context.Context, s Scope) (AuditChainStatus, error) {
	var c AuditChainStatus
	err := q.gorm(ctx).Raw(`select coalesce(max(h.seq), 0) as links, count(v.id) as unsealed, min(v.at) as oldest from environments e
		left join audit_heads h on h.environment_id = e.id
		left join events v on v.environment_id = e.id and v.seq > coalesce(h.settled, 0)
			and not exists (select 1 from audit_chain c where c.event_id = v.id and c.environment_id = v.environment_id)
		where e.tenant_id = ? and e.id = ?`, s.Tenant, s.Environment).Find(&c).Error
	return c, err
}

// OpenChallenges counts the challenges of the environment that are open and not due.
func (q Console) OpenChallenges(ctx context.Context, s Scope, now time.Time) (int64, error) {
	var n int64
	err := q.queryRow(ctx, `select count(*) from challenges where tenant_id = $1 and environment_id = $2 and status = 'open'
		and expires_at > $3`, s.Tenant, s.Environment, now).Scan(&n)
	return n, err
}

// Backlog is the number of rows that wait in one topic of the outbox.
type Backlog struct {
	Topic   string
	Waiting int64
	Oldest  time.Time
}

// Queue is the number of rows of one kind that wait, and how long the oldest has waited.
type Queue struct {
	Kind   string        // outbox, deliveries, endpoints_failing, challenges_overdue, holds, holds_overdue, changes_overdue, evaluations_overdue, signing_key
	Topic  string        // of the outbox; otherwise empty
	Count  int64         // rows
	Oldest time.Duration // time since the oldest was added, was due, was opened or, for a signing key, began to sign
}

// Queues measures every kind of waiting work over all environments, for the operator, who belongs to no tenant. A kind
// without rows is listed with zeros; a topic of the outbox without rows is not listed.
func (q Console) Queues(ctx context.Context, now time.Time) ([]Queue, error) {
	var rows []struct {
		Kind, Topic string
		Count       int64
		Seconds     float64
	}
	err := q.gorm(ctx).Raw(`
		select 'outbox' as kind, topic, count(*) as count, extract(epoch from @now - min(created_at)) as seconds
		from outbox where created_at <= @now group by topic
		union all
		select 'deliveries', '', count(*), coalesce(extract(epoch from @now - min(next_attempt_at)), 0)
		from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
		where d.status = 'pending' and d.next_attempt_at <= @now
		union all
		select 'endpoints_failing', '', count(*), coalesce(extract(epoch from @now - min(failing_since)), 0)
		from webhook_endpoints where status = 'enabled' and deleted_at is null and failing_since is not null
		union all
		select 'changes_overdue', '', count(*), coalesce(extract(epoch from @now - min(expires_at)), 0)
		from changes where status = 'pending' and expires_at <= @now
		union all
		select 'evaluations_overdue', '', count(*), coalesce(extract(epoch from @now - min(ends_at)), 0)
		from evaluations where status = 'open' and ends_at <= @now
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
		from signing_keys where status = 'active'`, map[string]any{"now": now}).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	queues := make([]Queue, len(rows))
	for i, r := range rows {
		queues[i] = Queue{Kind: r.Kind, Topic: r.Topic, Count: r.Count, Oldest: time.Duration(max(r.Seconds, 0) * float64(time.Second))}
	}
	return queues, nil
}
